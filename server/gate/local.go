package gate

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// Local makes a call that something else in this process serves, such as the agent of the machine, if its client may make it. What the
// client shows is in the outgoing metadata of ctx, as in calls of HTTP to the services of this process. An error of serve is
// returned as it is.
func (g *Gate) Local(ctx context.Context, of authz.Local, serve func() error) error {
	ctx, audited := g.audit.Begin(ctx, of.Method, func(ctx context.Context) audit.From {
		said, _ := metadata.FromOutgoingContext(ctx)
		return audit.From{Address: first(said, MetadataRemoteAddress), Via: viaConsul}
	})
	why, err := g.local(ctx, of, serve, audited)
	audited.End(why, err)
	return err
}

// local decides about such a call, in mode off only whether its line can be written, and makes it.
func (g *Gate) local(ctx context.Context, of authz.Local, serve func() error, audited *audit.Call) (tenurev1.ErrorReason, error) {
	err := audited.Needs(of.Needs)
	if err == nil && g.authority != nil && g.authority.Asks(of.Method) {
		said, _ := metadata.FromOutgoingContext(ctx)
		err = g.authority.Local(ctx, g.localCaller(said), of)
	}
	if err != nil {
		return g.refuse(of.Method, err)
	}
	switch err = g.served(of.Method, serve); {
	case err == nil:
		return tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED, nil
	case errors.Is(err, reason.ErrPanic):
		return g.refuse(of.Method, err)
	default:
		return cmp.Or(errorinfo.Reason(err), tenurev1.ErrorReason_ERROR_REASON_INTERNAL), err
	}
}

// served makes a call, of which a panic is an error.
func (g *Gate) served(method string, serve func() error) (err error) {
	defer Recovered(g.log, method, &err)
	return serve()
}

// localCaller returns who makes a call inside this process, as its outgoing metadata says.
func (g *Gate) localCaller(said metadata.MD) *identity.Client {
	var certificate *x509.Certificate
	if leaf, err := x509.ParseCertificate([]byte(first(said, MetadataCertificate))); err == nil {
		certificate = leaf
	}
	return &identity.Client{Caller: identity.Of(said[identity.Metadata], certificate, g.certificates)}
}

// first returns the first value of a name; empty: there is none.
func first(said metadata.MD, name string) string {
	if values := said[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
