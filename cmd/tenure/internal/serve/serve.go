package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/daemon"
	"github.com/tenure-io/tenure/consulhttp"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/certs"
)

// serveFlags are the flags of `tenure serve`.
type serveFlags struct {
	dev       bool
	logFormat string
	logLevel  string
	config    server.Config
	consul    consulhttp.Options
	agent     insideFlags
}

// NewCommand returns `tenure serve`.
func NewCommand(env *cli.Environment) *cobra.Command {
	flags := &serveFlags{}
	cmd := &cobra.Command{
		Use:   cli.ServeCommandName,
		Short: "Run one member",
		Long: `Run one member until SIGINT or SIGTERM.

When the member is ready, it prints one line with its addresses,
"tenure: serving grpc=... http=... peer=...", and more of them if it serves more, and writes them to
DATA_DIR/addresses.json. Port 0 uses any free port. Logs go to standard error.

A member that joins a cluster needs a join token, which "tenure member add NAME" prints: in a file
(--join-token-file) or in the variable TENURE_JOIN_TOKEN. Without one it waits, and its log says which
command to run. You can create the file while it waits.`,
		Example: `  tenure serve --dev
  tenure serve --data-dir /var/lib/tenure
  tenure serve --data-dir /var/lib/tenure --listen 10.0.0.5:7400 --http 10.0.0.5:7401 --insecure
  TENURE_DATA_DIR=/var/lib/tenure tenure serve --log-format json

  # three members that start a cluster together, each with its own --name
  tenure serve --name a --initial-cluster a=10.0.0.5:7402,b=10.0.0.6:7402,c=10.0.0.7:7402 \
    --data-dir /var/lib/tenure --listen 10.0.0.5:7400 --http 10.0.0.5:7401 --peer 10.0.0.5:7402 --insecure
  # a fourth that joins it, with a token that one of the others makes
  tenure member add d --endpoints 10.0.0.5:7400 > token
  tenure serve --name d --join 10.0.0.5:7402,10.0.0.6:7402 --join-token-file token \
    --data-dir /var/lib/tenure --listen 10.0.0.8:7400 --http 10.0.0.8:7401 --peer 10.0.0.8:7402 --insecure`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), env, flags)
		},
	}
	flags.register(cmd.Flags())
	return cmd
}

// register declares the flags.
func (f *serveFlags) register(flags *pflag.FlagSet) {
	c := &f.config
	flags.BoolVar(&f.dev, "dev", false, "print commands to try, and without --data-dir keep everything in a temporary directory, removed at exit")
	flags.StringVar(&c.DataDir, "data-dir", "", "directory of the member; created if missing")
	flags.StringVar(&c.ListenAddr, "listen", "127.0.0.1:7400", "address for gRPC clients, host:port")
	flags.StringVar(&c.HTTPAddr, "http", "127.0.0.1:7401", "address for REST, metrics and health checks, host:port")
	flags.StringVar(&c.PeerAddr, "peer", "127.0.0.1:7402", "address for other members, host:port; off: none, for a member that is alone")
	flags.StringVar(&c.DebugAddr, "debug-http", "", "address for profiles of this process, host:port on loopback; empty: none")
	flags.StringVar(&c.AdvertiseAddr, "advertise", "", "address that clients are given instead of --listen, host:port")
	flags.StringVar(&c.AdvertisePeerAddr, "advertise-peer", "", "address that other members are given instead of --peer, host:port")
	flags.StringVar(&c.AdvertiseHTTPAddr, "advertise-http", "", "address that clients are given instead of --http, host:port")
	flags.StringSliceVar(&c.InitialCluster, "initial-cluster", nil, "members that start a new cluster together, each as name=host:port with its peer address; the same list for all; ignored once the cluster has started")
	flags.StringSliceVar(&c.Join, "join", nil, "peer addresses, host:port, of members of the cluster to join; with an empty data directory")
	flags.StringVar(&c.JoinTokenFile, "join-token-file", "", "file with the join token that \"tenure member add\" printed; read when the member joins")
	flags.BoolVar(&c.StayLearner, "learner", false, "do not vote after joining")
	flags.BoolVar(&c.ManualPromotion, "manual-promotion", false, "while this member leads, make learners voters only on \"tenure member promote\"")
	flags.Uint64Var(&c.DiskFreeMinBytes, "disk-free-min-bytes", 512<<20, "free disk space below which changes that make the state grow are refused")
	flags.Uint64Var(&c.LogBytesMax, "log-bytes-max", 512<<20, "how much of the log is kept for members that lag; one that lags further gets a snapshot; at least 16777216")
	flags.StringVar(&c.Gossip.Addr, "gossip", server.GossipAuto, "address for gossip, over TCP and UDP, host:port; off: none; auto: the host of --peer, with port 7403 or a free one")
	flags.StringVar(&c.Gossip.Advertise, "advertise-gossip", "", "address that others are given instead of --gossip, host:port")
	flags.StringVar(&c.Gossip.KeyFile, "gossip-key", "", "file with keys of the pool, from \"tenure pool keygen\"; SIGHUP reads it again")
	flags.StringVar(&c.Gossip.NodeName, "node", "", "name of this machine in the catalog (default: --name)")
	flags.StringVar(&c.Zone, "zone", "", "location of the member, such as a rack or a data center; informational only")
	flags.StringVar(&c.Name, "name", "tenure-1", "name of the member, unique in the cluster")
	flags.DurationVar(&c.Tick, "tick", 50*time.Millisecond, "heartbeat interval of the leader")
	flags.IntVar(&c.ElectionTicks, "election-ticks", 20, "number of ticks without a leader after which a member asks for votes; the shortest TTL is twice that time")
	flags.BoolVar(&c.Insecure, "insecure", false, "allow addresses that other machines can reach, without TLS; not where there are tokens")
	flags.StringVar(&c.TLS.CertFile, "cert-file", "", "certificate of this member, PEM; with --key-file, --listen, --http and --consul-http speak TLS")
	flags.StringVar(&c.TLS.KeyFile, "key-file", "", "private key of --cert-file, PEM")
	daemon.RegisterClientAuth(flags, &c.TLS.ClientCAFile, &c.TLS.ClientAuth)
	flags.StringVar(&c.TLS.CertIdentity, "cert-identity", "uri", "what of a client certificate names its client to policies: uri, cn (common name) or none")
	flags.StringVar(&c.TLS.PeerCertFile, "peer-cert-file", "", "certificate of this member for other members, PEM; --peer then speaks TLS, and both sides show a certificate")
	flags.StringVar(&c.TLS.PeerKeyFile, "peer-key-file", "", "private key of --peer-cert-file, PEM")
	flags.StringVar(&c.TLS.PeerCAFile, "peer-ca-file", "", "CAs that other members' certificates are verified with, PEM")
	flags.StringVar(&c.TLS.TrustDomain, "trust-domain", certs.TrustDomainDefault, "name of the cluster in certificates of members; must differ between clusters that share a CA")
	flags.StringVar(&c.TLS.Cleartext, "cleartext", "", "accept: also let clients and members in without TLS, while a cluster is switching to TLS; not where rules are enforced")
	flags.DurationVar(&c.AuthStaleMax, "auth-stale-max", 10*time.Second, "in the modes warn and enforce: a member that could not check for this long whether rights were taken away refuses stale reads, new streams and lists of the pool")
	flags.StringVar(&c.Audit.Path, "audit-log", "", "file for the audit log, one JSON line for each call; -: standard output; empty: none; SIGHUP opens it again")
	flags.StringSliceVar(&c.Audit.Classes, "audit", []string{"denied", "admin", "changes"}, "calls in the audit log: denied, admin, changes, reads")
	flags.StringVar(&c.Audit.Full, "audit-full", "drop", "if the audit log cannot be written: drop (lines are lost and counted) or refuse (changes are refused)")
	flags.StringSliceVar(&c.AllowedOrigins, "http-allowed-origin", nil, "web origins that may use HTTP, such as https://console.example")
	flags.StringSliceVar(&c.AllowedHosts, "http-allowed-host", nil, "more host names that requests to --http, --consul-http and --debug-http may use, besides addresses, localhost and the advertised names")
	flags.StringSliceVar(&c.ExemptCallers, "exempt-callers", nil, "addresses or prefixes, such as 10.1.0.0/16, of load balancers and other proxies for many clients: they get whatever is free instead of a share")
	flags.DurationVar(&c.StopGrace, "stop-grace", 5*time.Second, "time that running calls get to finish after a signal to stop")
	flags.StringVar(&c.ConsulAddr, "consul-http", "", "address for clients of Consul, host:port, such as 127.0.0.1:8500; empty: none")
	f.agent.register(flags)
	daemon.RegisterConsul(flags, &f.consul)
	flags.StringVar(&f.consul.NodeID, "consul-node-id", "", "id of this member as a node for clients of Consul, a UUID; empty: made of the member's id")
	flags.StringVar(&f.logFormat, "log-format", cli.LogConsole, "log format: console (text) or json")
	flags.StringVar(&f.logLevel, "log-level", "info", "lowest level to log: debug, info, warn or error")
}

// serve runs a member until ctx ends.
func serve(ctx context.Context, env *cli.Environment, f *serveFlags) (err error) {
	log, err := daemon.NewLogger(env, f.logFormat, f.logLevel)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // Not every stderr can be synced.
	config := f.config
	config.Logger, config.Version = log, env.Version
	// There is no flag for it: other users of the machine can read command lines.
	config.JoinToken, _ = env.Getenv("TENURE_JOIN_TOKEN")
	if f.dev && config.DataDir == "" {
		if config.DataDir, err = os.MkdirTemp("", "tenure-dev-"); err != nil {
			return cli.RefusedError("make a temporary directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(config.DataDir)) }()
	}
	config.Audit.Stdout = env.Stdout
	// Without anything to read again a member ends when its terminal is closed, as other programs do.
	for _, reload := range []struct {
		wanted bool
		signal *<-chan os.Signal
	}{
		{config.TLS.CertFile != "" || config.TLS.PeerCertFile != "", &config.TLS.Reload},
		{config.Gossip.KeyFile != "", &config.Gossip.Reload},
		{config.Audit.Path != "", &config.Audit.Reload},
	} {
		if reload.wanted {
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			defer signal.Stop(hangups)
			*reload.signal = hangups
		}
	}
	if err = f.consul.Validate(); err != nil {
		return cli.UsageError("%w", err)
	}
	config.Registry = prometheus.NewRegistry()
	inside, err := f.agent.inside(env, &config, log)
	if err != nil {
		return cli.UsageError("%w", err)
	}
	config.Consul = func(conn grpc.ClientConnInterface) (http.Handler, error) {
		o := f.consul
		callers, invalid := share.ParseExempt(config.ExemptCallers)
		if invalid != nil {
			return nil, invalid
		}
		o.Callers = callers
		o.Member = config.Name
		if inside.local != nil {
			o.Agent = inside.local
		}
		o.Conn, o.Version, o.Registerer, o.Log = conn, env.Version, config.Registry, log
		return consulhttp.New(o)
	}
	s, err := server.New(config)
	if err != nil {
		return cli.UsageError("%w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case err := <-ended:
		return explainServe(config, err)
	case <-s.Ready():
	}
	announce(env, s.Addresses(), f)
	inside.announce(ctx, env)
	return explainServe(config, <-ended)
}

// announce tells where the member listens, in one line that programs can read, and to a newcomer what to try. It is written at once, so that
// the log does not come between.
func announce(env *cli.Environment, at server.Addresses, f *serveFlags) {
	consul := ""
	if at.Consul != "" {
		consul = " consul=" + at.Consul
	}
	gossip := ""
	if at.Gossip != "" {
		gossip = " gossip=" + at.Gossip
	}
	text := fmt.Sprintf("tenure: serving grpc=%s http=%s peer=%s%s%s\n", at.GRPC, at.HTTP, daemon.OrOff(at.Peer), consul, gossip)
	if f.dev {
		text += suggestions(at, f)
	}
	_, _ = io.WriteString(env.Stdout, text)
}

// suggestions returns what a newcomer may try.
func suggestions(at server.Addresses, f *serveFlags) string {
	tenure, curl, grpcurl := "tenure", "curl 'http://", "grpcurl -plaintext "
	if f.config.TLS.CertFile != "" {
		ca := caBeside(f.config.TLS.CertFile)
		tenure, curl, grpcurl = "tenure --ca-file "+ca, "curl --cacert "+ca+" 'https://", "grpcurl -cacert "+ca+" "
	}
	if at.GRPC != cli.EndpointDefault {
		tenure = "TENURE_ENDPOINTS=" + at.GRPC + " " + tenure
	}
	lost := "All data is lost when this member stops. "
	if f.config.DataDir != "" {
		lost = ""
	}
	lines := []string{"", lost + "Try in other terminals:", ""}
	if self, err := os.Executable(); err == nil && !onPath(self) {
		lines = append(lines, "  export PATH="+filepath.Dir(self)+":$PATH")
	}
	lines = append(
		lines,
		"  "+tenure+" status",
		"  "+tenure+" lock jobs/nightly -- sleep 60        # hold a lock while a command runs,",
		"  "+tenure+" lock jobs/nightly -- date            # queue for it,",
		"  "+tenure+" lock info jobs/nightly               # and see who holds it",
		"  "+tenure+" watch --prefix ''                     # print each change from now on; Ctrl-C ends it",
		"  "+tenure+" kv put greeting hello",
		"  "+curl+at.HTTP+"/v1/kv/greeting?raw'",
		"  "+grpcurl+at.GRPC+" list    # if you have grpcurl",
		"\n",
	)
	return strings.Join(lines, "\n")
}

// onPath returns whether a shell that is given "tenure" runs this program.
func onPath(self string) bool {
	found, err := exec.LookPath("tenure")
	if err != nil {
		return false
	}
	x, err := os.Stat(self)
	if err != nil {
		return false
	}
	y, err := os.Stat(found)
	return err == nil && os.SameFile(x, y)
}

// explainServe says what to do about an error of the member.
func explainServe(config server.Config, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return daemon.AddressTaken(err, "member", []daemon.AddressFlag{
			{Name: "listen", Address: config.ListenAddr},
			{Name: "http", Address: config.HTTPAddr},
			{Name: "peer", Address: config.PeerAddr},
			{Name: "gossip", Address: config.Gossip.Addr},
			{Name: "consul-http", Address: config.ConsulAddr},
			{Name: "debug-http", Address: config.DebugAddr},
		})
	case errors.Is(err, raftnode.ErrLocked):
		return cli.RefusedError("%w; another member is using %s: stop it, or choose another --data-dir", err, config.DataDir)
	case errors.Is(err, raftnode.ErrNotDataDir):
		return cli.RefusedError("%w: give --data-dir an empty or missing directory, or that of an earlier member", err)
	case errors.Is(err, syscall.ENOTDIR):
		return cli.RefusedError("--data-dir %s is not a directory", config.DataDir)
	case errors.Is(err, os.ErrPermission):
		return cli.RefusedError("%w; the user running this must be able to read and write %s", err, config.DataDir)
	default:
		return cli.RefusedError("%w", err)
	}
}

// caBeside returns where a certificate's CA most likely is: in the same directory, as `tenure cert` writes it.
func caBeside(certFile string) string {
	path := filepath.Join(filepath.Dir(certFile), cli.CAName+".crt")
	if _, err := os.Stat(path); err != nil {
		return cli.CAName + ".crt"
	}
	return path
}
