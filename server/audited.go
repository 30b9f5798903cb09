package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/leader"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/storage"
)

// Audit says what is written down of calls, and where. Its zero value writes nothing.
type Audit struct {
	// Path is the file; "-" is Stdout; empty writes nothing.
	Path string
	// Classes are what is written: denied, admin, changes, reads; nil is the first three.
	Classes []string
	// Full says what happens when a line cannot be written: drop or refuse; empty is drop.
	Full string
	// Stdout takes the lines for "-".
	Stdout io.Writer
	// Reload has something when the file is to be closed and opened again; nil has nothing.
	Reload <-chan os.Signal
}

// check returns what is wrong with the settings. The file is opened when the member starts.
func (a Audit) check() error {
	var problems []error
	if _, err := audit.ParseClasses(a.Classes); err != nil {
		problems = append(problems, fmt.Errorf("%w: --audit %w", ErrConfig, err))
	}
	switch audit.Full(a.Full) {
	case "", audit.Drop, audit.Refuse:
	default:
		problems = append(problems, fmt.Errorf("%w: --audit-full is %q; it must be drop or refuse", ErrConfig, a.Full))
	}
	return errors.Join(problems...)
}

// auditPart writes down what calls do, and knows what an operator should look at.
type auditPart struct{ *running }

// open opens the audit log, which is written until everything else has stopped.
func (r auditPart) open(ctx context.Context) error {
	a := r.config.Audit
	classes, err := audit.ParseClasses(a.Classes)
	if err != nil {
		return err
	}
	r.audit, err = audit.Open(audit.Options{
		Path: a.Path, Classes: classes, Full: audit.Full(a.Full), Stdout: a.Stdout, Reopen: a.Reload,
		Member: r.config.Name, Logger: r.log, Registerer: r.config.Registry,
	})
	if err != nil {
		return err
	}
	r.background(context.WithoutCancel(ctx), r.audit.Run)
	return nil
}

// events writes down what happened without a call, while this member leads.
func (r auditPart) events(o storage.Outcome) {
	if s := r.node.Status(); s.Leader == s.MemberID {
		r.audit.Events(o.Events)
	}
}

// handshakeFailed returns what writes down the handshakes that fail on a listener.
func (r auditPart) handshakeFailed(listener string) func(net.Addr, string) {
	via := listener
	if listener == "http" {
		via = gate.ViaREST
	}
	return func(address net.Addr, cause string) { r.audit.Handshake(address.String(), via, cause) }
}

// peerRefused writes down a call on the port for members that was refused because of who made it.
func (r auditPart) peerRefused(address net.Addr, reason string) {
	r.audit.Refused(address.String(), "peer", reason)
}

// authorise makes what decides who may do what, and what knows which tokens end soon and which keys are old.
func (r auditPart) authorise(stopping context.Context) (err error) {
	r.keys, err = provider.New(provider.Options{Store: r.node.Store, Registerer: r.config.Registry, Logger: r.log})
	if err != nil {
		return err
	}
	r.background(stopping, r.keys.Run)
	r.authority, err = access.New(access.Options{
		Node: r.node, Registerer: r.config.Registry, StaleMax: r.config.AuthStaleMax, Keys: r.keys, Noted: r.audit.On(),
	})
	if err != nil {
		return err
	}
	r.background(stopping, r.authority.Run)
	if r.ends, err = auth.NewEnds(auth.EndsOptions{Store: r.node.Store, Registerer: r.config.Registry}); err != nil {
		return err
	}
	return r.config.Registry.Register(r.listenerMetric())
}

// uses returns what notes which tokens are used. That is the member's own doing: it needs nobody's rights.
func (r auditPart) uses(relay *leader.Relay) *auth.Uses {
	return auth.NewUses(auth.UsesOptions{
		Store: r.node.Store, Used: r.authority.Used, Logger: r.log, Every: r.config.TokensUsedEvery,
		Order: func(ctx context.Context, c *storev1.Command) (*storev1.Result, error) {
			return relay.Order(ctx, c, nil)
		},
	})
}

// alarms returns what an operator should know that the store does not.
func (r auditPart) alarms() []raftnode.Alarm {
	alarms := slices.Concat(r.certificateAlarms(), r.listenerAlarms(), r.peers.Alarms())
	if problem := r.audit.Problem(); problem != "" {
		alarms = append(alarms, raftnode.Alarm{Name: "audit-dropped", Member: r.node.Status().MemberID, Message: problem})
	}
	if problem := r.keys.Problem(); problem != "" {
		alarms = append(alarms, raftnode.Alarm{Name: provider.ProblemStale, Member: r.node.Status().MemberID, Message: problem})
	}
	ends, err := r.ends.Problems()
	if err != nil {
		r.log.Error("tokens cannot be looked at", zap.Error(err))
	}
	for _, p := range ends {
		alarms = append(alarms, raftnode.Alarm{Name: p.Name, Member: r.node.Status().MemberID, Message: p.Message})
	}
	return alarms
}
