package serve

import (
	"context"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/tenure-io/tenure/agent"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/daemon"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// agentDirectory is where, in the directory of a member, the agent inside it keeps what it must not lose.
const agentDirectory = "agent"

// insideFlags are the flags of the agent inside a member.
type insideFlags struct {
	listen, http, services, exec string
}

// register declares the flags. Their names begin as no others, as do the variables for them: TENURE_AGENT and TENURE_AGENT_HTTP are of other commands.
func (f *insideFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "with-agent", "", "address, such as "+daemon.AgentDefault+", at which the agent of this machine runs inside the member, for commands and gRPC clients; empty: none")
	flags.StringVar(&f.http, "with-agent-http", "", "address for REST, metrics and health checks of the agent, host:port; empty: none")
	flags.StringVar(&f.services, "with-agent-services", "", "YAML or JSON file with services and checks for the agent, or a directory of such files")
	flags.StringVar(&f.exec, "with-agent-enable-exec", "", "run checks of kind exec: file (those in --with-agent-services) or api (also those that calls register)")
}

// insideAgent is the agent inside a member, once the member has made it.
type insideAgent struct {
	agent *agent.Agent
	local *agent.Local
}

// inside has a member make an agent, if the flags ask for one. What it would refuse of them is refused before the member begins; the member
// itself looks at the addresses.
func (f *insideFlags) inside(env *cli.Environment, config *server.Config, log *zap.Logger) (*insideAgent, error) {
	made := &insideAgent{}
	if f.listen == "" {
		return made, nil
	}
	if err := agent.Exec(f.exec).Check("--with-agent-enable-exec", config.ConsulAddr, config.Insecure); err != nil {
		return nil, err
	}
	config.AgentAddr, config.AgentHTTPAddr = f.listen, f.http
	config.Inside = func(in server.Inside) (func(context.Context) error, error) {
		token, err := env.Token()
		if err != nil {
			return nil, err
		}
		conn := tokenConn{in.Conn, token}
		made.agent, err = agent.New(agent.Options{
			Node: in.Node, DataDir: filepath.Join(config.DataDir, agentDirectory), Services: f.services, Exec: agent.Exec(f.exec),
			Listen: f.listen, HTTP: f.http, Insecure: config.Insecure, Version: env.Version, Logger: log, StopGrace: config.StopGrace,
			Catalog: tenurev1.NewCatalogServiceClient(conn), Pool: tenurev1.NewPoolServiceClient(conn), Registry: prometheus.NewRegistry(),
			MemberConsul: config.ConsulAddr,
		})
		if err != nil {
			return nil, err
		}
		made.local = made.agent.LocalFor(in.Decide)
		return made.agent.Run, nil
	}
	return made, nil
}

// announce says where the agent serves.
func (a *insideAgent) announce(ctx context.Context, env *cli.Environment) {
	if a.agent == nil {
		return
	}
	select {
	case <-a.agent.Ready():
		at := a.agent.Addresses()
		_ = env.Printf("tenure: agent grpc=%s http=%s\n", at.GRPC, daemon.OrOff(at.HTTP)) // Whoever reads it may have gone.
	case <-ctx.Done():
	}
}

// tokenConn sends a token with each call, if there is one.
type tokenConn struct {
	grpc.ClientConnInterface
	token credentials.PerRPCCredentials
}

// Invoke makes a call.
func (c tokenConn) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if c.token != nil {
		options = append(options, grpc.PerRPCCredentials(c.token))
	}
	return c.ClientConnInterface.Invoke(ctx, method, request, response, options...)
}
