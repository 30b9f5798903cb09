package tenure

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/tenure-io/tenure/clients/go/internal/clock"
	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/secure"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// agentDefault is where the agent of a machine listens.
const agentDefault = "127.0.0.1:7404"

// Agent is the agent of a machine, which times the checks of what is registered there: see OpenAgent.
type Agent struct{ client *Client }

// OpenAgent returns a client of the agent of this machine. The address is host:port, or tenures://host:port for an agent with TLS; the default is
// that of the environment variable TENURE_AGENT, or 127.0.0.1:7404. WithTLS and the options for files of TLS ask for TLS, too. What they leave open the
// environment says (TENURE_CA_FILE and so on), if there is TLS: without, these variables are about members. The agent is called without
// a token. Beside those, only WithDialOptions, WithDialer, WithUserAgent and WithClock may be given. OpenAgent does not wait for the agent; the
// first call does.
func OpenAgent(address string, options ...Option) (*Agent, error) {
	address = cmp.Or(address, os.Getenv("TENURE_AGENT"), agentDefault)
	o := clientOptions{clock: clock.New(), userAgent: "tenure-go", fixed: true, alone: true}
	for _, option := range options {
		option(&o)
	}
	scheme, host := "", address
	for _, known := range []string{schemeClear, schemeTLS} {
		if rest, found := strings.CutPrefix(address, known+"://"); found {
			scheme, host = known, rest
		}
	}
	if strings.ContainsAny(host, "/?,") {
		return nil, invalid("%q is not the address of an agent, host:port or tenures://host:port", address)
	}
	t, err := parseTarget(cmp.Or(scheme, schemeClear) + "://" + host)
	if err != nil {
		return nil, err
	}
	if o.secured.tokens() > 0 || o.secured.clear {
		return nil, invalid("an agent is called without a token")
	}
	if scheme != schemeTLS && o.tls == nil && o.secured.files == (secure.Files{}) {
		return &Agent{newClient(t, &o, plain())}, nil
	}
	secured, _, err := newTransport(scheme, o.tls, o.secured, securedBy{files: fromEnvironment().files})
	if err != nil {
		return nil, err
	}
	return &Agent{newClient(t, &o, secured)}, nil
}

// Register registers an instance of a service at the agent, with a check that the library keeps passing until it is told otherwise. The
// agent turns the check critical if it gets no report within Service.TTL: when the process died, is stopped, or hangs in
// Service.Health. Both go when the registration or the Agent is closed. The agent keeps the registration on its disk, and what it
// has lost the library registers again. Register waits up to 5 s for the catalog to have it, and succeeds also if the agent cannot
// reach the cluster.
func (a *Agent) Register(ctx context.Context, service Service) (*Registration, error) {
	var answer *tenurev1.GetAgentResponse
	err := a.client.read(ctx, func(ctx context.Context, l *conn.Link) (err error) {
		answer, err = tenurev1.NewAgentServiceClient(l).GetAgent(ctx, &tenurev1.GetAgentRequest{})
		return err
	})
	if err != nil {
		return nil, err
	}
	if service.Node != "" && !strings.EqualFold(service.Node, answer.GetNode()) {
		return nil, invalid("the agent is that of node %s, not of %s", answer.GetNode(), service.Node)
	}
	service.Node = answer.GetNode()
	return register(ctx, a.client, service, agentRegistrar{a.client})
}

// Close closes the registrations, which deregisters their services, and the connection.
func (a *Agent) Close() error { return a.client.Close() }
