package gate

import (
	"cmp"
	"context"
	"crypto/x509"

	"google.golang.org/grpc/metadata"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/audit"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
)

// Local makes a call that something else in this process serves, such as the agent of the machine, if its client may make it. What the
// client shows is in the outgoing metadata of ctx, as in calls of HTTP to the services of this process. An error of serve is
// returned as it is.
func (g *Gate) Local(ctx context.Context, of authz.Local, serve func() error) error {
	if g.authority == nil || !g.authority.Asks(of.Method) {
		return serve()
	}
	said, _ := metadata.FromOutgoingContext(ctx)
	ctx, audited := g.audit.Begin(ctx, of.Method, func(context.Context) audit.From {
		return audit.From{Address: first(said, MetadataRemoteAddress), Via: viaConsul}
	})
	why := tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED
	err := audited.Needs(of.Needs)
	if err == nil {
		err = g.authority.Local(ctx, g.localCaller(said), of)
	}
	if err != nil {
		why, err = g.refuse(of.Method, err)
	} else if err = serve(); err != nil {
		why = cmp.Or(errorinfo.Reason(err), tenurev1.ErrorReason_ERROR_REASON_INTERNAL)
	}
	audited.End(why, err)
	return err
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
