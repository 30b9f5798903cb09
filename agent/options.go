package agent

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/certs"
)

// Exec says which checks of kind exec an agent runs.
type Exec string

// The values of Exec.
const (
	// ExecOff runs none.
	ExecOff Exec = ""
	// ExecFile runs those that files register.
	ExecFile Exec = "file"
	// ExecAPI also runs those that calls register: whoever can call the agent can then run programs as the agent.
	ExecAPI Exec = "api"
)

// nodeNameBytesMax is how long the name of a node may be, and nodeNameRunes what it consists of. The cluster has the same.
const (
	nodeNameBytesMax = 253
	nodeNameRunes    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)

// Conditions of options.
var (
	ErrInsecure = errors.New("anyone who can reach this address can change what the agent registers; listen on a loopback address, give `tenure agent` " +
		"TLS with --listen-cert-file and --listen-key-file and --client-auth require, or accept it with --insecure")
	// ErrAnybody is about an address that has TLS, which alone says nothing of who calls.
	ErrAnybody = errors.New("anyone who can reach this address can change what the agent registers; demand certificates of clients with " +
		"--client-ca-file and --client-auth require, listen on a loopback address, or accept it with --insecure")
	// ErrInsecureExec is about an address that has TLS, or that a member has accepted already.
	ErrInsecureExec = errors.New("the agent runs programs that clients of this address register; listen on a loopback address, let only files register programs (file instead of api), or accept it with --insecure")
	errExec         = errors.New("must be file or api")
)

// Options say what an Agent needs.
type Options struct {
	// Node is what the agent says about its machine: name, address, zone and facts. Its id is on disk, unless it is given: inside a
	// member, the machine is the member's.
	Node *tenurev1.Node
	// DataDir is the agent's directory; it is created if it is missing.
	DataDir string
	// Services is the file or the directory with services and checks; empty: there is none.
	Services string
	Exec     Exec
	// Listen is where AgentService is served, host:port.
	Listen string
	// HTTP is where metrics and health are served, host:port; empty: nowhere.
	HTTP string
	// Consul is where Consul's HTTP is served, host:port; empty: nowhere. NewConsul makes its handler; required with it.
	Consul    string
	NewConsul func(*Local) (http.Handler, error)
	// Decide has a member decide about what clients of Consul ask of the agent; required with Consul.
	Decide Decide
	// MemberConsul is where the member that the agent runs in serves Consul's HTTP, for clients of this agent, too; empty: nowhere, or there is
	// no such member. The member has checked the address itself, and asks its clients for rights.
	MemberConsul string
	// TLS says how clients of Listen, HTTP and Consul and the agent are sure of each other.
	TLS certs.Clients
	// Insecure allows addresses that other machines can reach without a certificate of theirs, and those where calls register programs that the
	// agent runs.
	Insecure bool
	// Gossip says how the agent takes part in gossip.
	Gossip Gossip
	// Catalog calls the cluster.
	Catalog tenurev1.CatalogServiceClient
	// Pool calls any member; required for gossip.
	Pool    Pool
	Version string
	Logger  *zap.Logger
	// Registry takes the agent's metrics.
	Registry *prometheus.Registry
	// StopGrace is how long calls under way may take when the agent stops.
	StopGrace time.Duration
}

// validate refuses options that cannot be used.
func (o *Options) validate() error {
	if o.DataDir == "" {
		return errors.New("--data-dir is missing")
	}
	if name := o.Node.GetName(); name == "" || len(name) > nodeNameBytesMax || strings.Trim(name, nodeNameRunes) != "" {
		return fmt.Errorf("--node is %q; a name has 1 to %d letters, digits, dots, hyphens and underscores", name, nodeNameBytesMax)
	}
	if err := o.Exec.Check("--enable-exec", o.MemberConsul, o.Insecure); err != nil {
		return err
	}
	if mistakes := o.TLS.Check(); len(mistakes) > 0 {
		return errors.Join(mistakes...)
	}
	if err := o.checkAddresses(); err != nil {
		return err
	}
	return o.Gossip.check(o.Insecure)
}

// Check returns an error if the value of the flag is none of those that there are. It also refuses ExecAPI where other machines can reach the address
// for clients of Consul of the member around the agent, unless insecure accepts that. An empty address is none.
func (e Exec) Check(flag, memberConsul string, insecure bool) error {
	switch e {
	case ExecOff, ExecFile:
		return nil
	case ExecAPI:
		if memberConsul == "" {
			return nil
		}
		return reachable("--consul-http", memberConsul, insecure, ErrInsecureExec)
	default:
		return fmt.Errorf("%s is %q; it %w", flag, e, errExec)
	}
}

// checkAddresses refuses addresses that others can reach and may not.
func (o *Options) checkAddresses() error {
	why := ErrInsecure
	switch {
	case o.TLS.On() && o.Exec == ExecAPI:
		why = ErrInsecureExec
	case o.TLS.On() && o.TLS.Asked() != certs.AuthRequire:
		why = ErrAnybody
	case o.TLS.On():
		why = nil
	}
	for _, of := range []struct{ flag, address string }{{"--listen", o.Listen}, {"--http", o.HTTP}, {"--consul-http", o.Consul}} {
		if of.flag != "--listen" && of.address == "" {
			continue
		}
		if err := reachable(of.flag, of.address, o.Insecure, why); err != nil {
			return err
		}
	}
	return nil
}

// reachable refuses, for a reason, an address that other machines can reach, unless that is allowed or there is no reason.
func reachable(flag, address string, insecure bool, why error) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("%s is %q; it must be host:port", flag, address)
	}
	if why != nil && !insecure && !loopback(address) {
		return fmt.Errorf("%s %s: %w", flag, address, why)
	}
	return nil
}

// loopback reports whether an address is of this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback())
}
