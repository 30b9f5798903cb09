package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/agent"
	"github.com/tenure-io/tenure/agent/keep"
	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/daemon"
	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// agentFlags are the flags of `tenure agent`.
type agentFlags struct {
	node      tenurev1.Node
	meta      []string
	exec      string
	logFormat string
	logLevel  string
	options   agent.Options
	consul    consulhttp.Options
}

// NewCommand returns `tenure agent`.
func NewCommand(env *cli.Environment) *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of this machine, which registers its services and runs their checks",
		Long: `Run the agent of this machine until SIGINT or SIGTERM. It registers the machine as a node of the catalog,
with the services and checks that files (--services) and calls ("tenure service register") name. It runs the
checks and keeps the catalog up to date. When it stops, all that it registered stays in the catalog.

--services names a YAML or JSON file, or a directory with such files, which are read in the order of their
names. SIGHUP and "tenure agent reload" read them again. If there is a mistake in one, nothing changes.

--cert-file and --key-file are what the agent shows to members. With --listen-cert-file and --listen-key-file,
its own clients reach it with TLS. With --client-ca-file and --client-auth require as well, it may listen on
addresses that other machines can reach. These files are read again when they have changed, and on SIGHUP.

When the agent is ready, it prints one line, "tenure: agent node=... grpc=... http=...". Port 0 uses any free
port. Logs go to standard error.`,
		Example: `  tenure agent --data-dir /var/lib/tenure-agent --services /etc/tenure/services.d
  tenure agent --data-dir ./agent --node web1 --endpoints 10.0.0.5:7400,10.0.0.6:7400
  tenure agent --data-dir ./agent --listen 10.0.0.9:7404 --listen-cert-file web1.crt --listen-key-file web1.key \
    --client-ca-file ca.crt --client-auth require
  tenure agent info
  tenure agent maintenance on --reason "new disk"

  # /etc/tenure/services.d/web.yaml
  services:
    - {name: web, port: 8080, checks: [{id: web-up, http: "http://127.0.0.1:8080/health", interval: 10s}]}`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.UnknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd.Context(), env, f) },
	}
	f.register(cmd.Flags())
	cmd.AddCommand(newAgentInfoCommand(env), newAgentReloadCommand(env), newAgentMaintenanceCommand(env), newAgentLeaveCommand(env))
	return cmd
}

// register declares the flags.
func (f *agentFlags) register(flags *pflag.FlagSet) {
	o := &f.options
	flags.StringVar(&o.DataDir, "data-dir", "", "directory of the agent, with the id of its node; created if missing")
	flags.StringVar(&o.Services, "services", "", "YAML or JSON file with services and checks, or a directory of such files")
	flags.StringVar(&f.node.Name, "node", "", "name of the node (default: the host name)")
	flags.StringVar(&f.node.Address, "address", "", "host name or IP address of the node (default: the one from which it reaches the first of --endpoints)")
	flags.StringVar(&f.node.Zone, "zone", "", "failure domain of the node, such as a rack or a data center")
	flags.StringArrayVar(&f.meta, "meta", nil, "fact about the node, NAME=VALUE; repeatable")
	flags.StringVar(&o.Listen, "listen", daemon.AgentDefault, "address for commands and other gRPC clients, host:port")
	flags.StringVar(&o.HTTP, "http", "127.0.0.1:7405", "address for REST, metrics and health checks, host:port; empty: none")
	flags.StringVar(&o.Consul, "consul-http", "", "address for clients of Consul, host:port, such as 127.0.0.1:8500; empty: none")
	o.TLS.CertFlag, o.TLS.KeyFlag = "--listen-cert-file", "--listen-key-file"
	flags.StringVar(&o.TLS.CertFile, "listen-cert-file", "", "certificate of this agent for its clients, PEM; with --listen-key-file, --listen, --http and --consul-http speak TLS")
	flags.StringVar(&o.TLS.KeyFile, "listen-key-file", "", "private key of --listen-cert-file, PEM")
	daemon.RegisterClientAuth(flags, &o.TLS.CAFile, &o.TLS.Auth)
	daemon.RegisterConsul(flags, &f.consul)
	flags.StringVar(&f.exec, "enable-exec", "", "run checks of kind exec: file (those in --services) or api (also those that calls register)")
	flags.StringVar(&o.Gossip.Addr, "gossip", gossipAuto, "address for gossip, over TCP and UDP, IP address and port; off: none; auto: a free port on the address from which it reaches the first of --endpoints")
	flags.StringVar(&o.Gossip.Advertise, "advertise-gossip", "", "address that others are given instead of --gossip, IP address and port")
	flags.StringVar(&o.Gossip.KeyFile, "gossip-key", "", "file with keys of the pool, from \"tenure pool keygen\"; SIGHUP reads it again")
	flags.BoolVar(&o.Gossip.LeaveOnStop, "leave-on-stop", false, "leave the pool on a signal to stop, so that the node goes from the catalog unless a session is bound to it")
	flags.BoolVar(&o.Insecure, "insecure", false, "allow addresses that other machines can reach: --listen, --http and --consul-http without --client-auth require, or with --enable-exec=api, and --gossip without key")
	flags.DurationVar(&o.StopGrace, "stop-grace", 5*time.Second, "time that running calls get to finish after a signal to stop")
	flags.StringVar(&f.logFormat, "log-format", cli.LogConsole, "log format: console (text) or json")
	flags.StringVar(&f.logLevel, "log-level", "info", "lowest level to log: debug, info, warn or error")
}

// runAgent runs an agent until ctx ends.
func runAgent(ctx context.Context, env *cli.Environment, f *agentFlags) error {
	log, err := daemon.NewLogger(env, f.logFormat, f.logLevel)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // Not every stderr can be synced.
	if err = f.describeNode(env, log); err != nil {
		return err
	}
	which, err := f.whichMembers(env)
	if err != nil {
		return err
	}
	cluster, err := env.Connected(which, func(*tenure.Client) error { return nil })
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }() // It has no session, so there is nothing to tell.
	options := f.options
	options.Node, options.Exec, options.Version, options.Logger = &f.node, agent.Exec(f.exec), env.Version, log
	options.Catalog, options.Registry = tenurev1.NewCatalogServiceClient(clusterConn{cluster}), prometheus.NewRegistry()
	if err = f.consul.Validate(); err != nil {
		return cli.UsageError("%w", err)
	}
	if mistakes := options.TLS.Check(); len(mistakes) > 0 {
		return cli.UsageError("%w", errors.Join(mistakes...))
	}
	options.NewConsul = func(local *agent.Local) (http.Handler, error) {
		o := f.consul
		o.Conn, o.Agent, o.Version, o.Registerer, o.Log = clusterConn{cluster}, local, env.Version, options.Registry, log
		return consulhttp.New(o)
	}
	if member := env.InClear(); member != "" && options.Consul != "" {
		log.Warn("clients of Consul that show a token will be refused, as it is not sent to members without TLS; give --ca-file, or tenures:// in --endpoints",
			zap.String("member", member))
	}
	options.Decide = newDecider(clusterConn{cluster}).decide
	options.Pool = tenurev1.NewPoolServiceClient(clusterConn{cluster})
	if options.Gossip.Addr == gossipAuto {
		options.Gossip.Addr = gossipAddress(env, options, log)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	a, err := agent.New(options)
	if err != nil {
		return explainAgent(f, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	ready := a.Ready()
	for {
		select {
		case err := <-ended:
			return explainAgent(f, err)
		case <-ready:
			ready = nil
			at := a.Addresses()
			consul := ""
			if at.Consul != "" {
				consul = " consul=" + at.Consul
			}
			if err := env.Printf("tenure: agent node=%s grpc=%s http=%s%s\n", f.node.GetName(), at.GRPC, daemon.OrOff(at.HTTP), consul); err != nil {
				log.Warn("the addresses could not be printed", zap.Error(err))
			}
		case <-hangups:
			reload(a, log)
		}
	}
}

// whichMembers returns what says which members an agent calls. Without TLS, tokens are sent to this machine alone. So one that has a token, or is handed
// those of clients of Consul, stays with members of this machine if it was given no others: where they tell clients to connect may be another machine.
func (f *agentFlags) whichMembers(env *cli.Environment) ([]tenure.Option, error) {
	if !env.OnlyHere() {
		return nil, nil
	}
	token, err := env.Token()
	if err != nil || token == nil && f.options.Consul == "" {
		return nil, err
	}
	return []tenure.Option{tenure.WithFixedMembers()}, nil
}

// gossipAuto is the address for gossip that an agent chooses itself.
const gossipAuto = "auto"

// gossipAddress chooses where an agent takes part in gossip.
func gossipAddress(env *cli.Environment, o agent.Options, log *zap.Logger) string {
	host, err := localAddress(env.Endpoints[0])
	switch ip := net.ParseIP(host); {
	case err != nil:
		log.Warn("the agent takes no part in gossip: it does not know its address; give --gossip", zap.Error(err))
	case o.Gossip.KeyFile == "" && !o.Insecure && !ip.IsLoopback():
		log.Warn("the agent takes no part in gossip: others can reach it, and there is no --gossip-key", zap.String("address", host))
	default:
		return net.JoinHostPort(host, "0")
	}
	return "off"
}

// reload reads an agent's files again.
func reload(a *agent.Agent, log *zap.Logger) {
	a.RenewCertificates()
	if err := a.RenewKeys(); err != nil {
		log.Error("the keys of the pool were not read again; all stays as it was", zap.Error(err))
	}
	content, err := a.Reload()
	if err != nil {
		log.Error("the files were not read again; all stays as it was", zap.Error(err))
		return
	}
	log.Info("read the files again", zap.Int("services", len(content.Services)), zap.Int("checks", len(content.Checks)))
}

// describeNode fills in what no flag says about the node.
func (f *agentFlags) describeNode(env *cli.Environment, log *zap.Logger) error {
	var err error
	if f.node.Meta, err = cli.PairsOf("meta", f.meta); err != nil {
		return err
	}
	if f.node.GetName() == "" {
		name, err := os.Hostname()
		if err != nil {
			return cli.UsageError("the host name cannot be read (%w); give --node", err)
		}
		f.node.Name = name
	}
	if f.node.GetAddress() == "" {
		address, err := localAddress(env.Endpoints[0])
		if err != nil {
			log.Warn("the node gets no address; give --address", zap.Error(err))
		}
		f.node.Address = address
	}
	return nil
}

// localAddress returns the address of this machine from which another is reached. It sends nothing.
func localAddress(remote string) (string, error) {
	conn, err := net.Dial("udp", remote) //nolint:noctx // It only looks the way up.
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, errors.Join(err, conn.Close())
}

// explainAgent says what to do about an error of an agent.
func explainAgent(f *agentFlags, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return daemon.AddressTaken(err, "agent", []daemon.AddressFlag{
			{Name: "listen", Address: f.options.Listen},
			{Name: "http", Address: f.options.HTTP},
			{Name: "consul-http", Address: f.options.Consul},
		})
	case errors.Is(err, keep.ErrLocked):
		return cli.RefusedError("%w; stop the agent that uses %s, or choose another --data-dir", err, f.options.DataDir)
	case f.options.DataDir == "":
		return cli.UsageError("%w", err)
	default:
		return cli.RefusedError("%w", err)
	}
}
