package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server"
)

// Formats of the log.
const (
	logConsole = "console"
	logJSON    = "json"
)

// serveFlags are the flags of `tenure serve`.
type serveFlags struct {
	dev       bool
	logFormat string
	logLevel  string
	config    server.Config
}

// newServeCommand returns `tenure serve`.
func newServeCommand(env *environment) *cobra.Command {
	flags := &serveFlags{}
	cmd := &cobra.Command{
		Use:   serveCommandName,
		Short: "Run one member",
		Long: `Run one member until SIGINT or SIGTERM.

When it serves it prints one line with the addresses it bound, "tenure: serving grpc=... http=...
peer=...", and writes them to DATA_DIR/addresses.json. Port 0 takes any free port. Logs go to stderr.

A member that joins a cluster needs a join token, which "tenure member add NAME" prints: in a file (--join-token-file) or in
the variable TENURE_JOIN_TOKEN. Without one it waits, and says what to run; the file may come meanwhile.`,
		Example: `  tenure serve --dev
  tenure serve --data-dir /var/lib/tenure
  tenure serve --data-dir /var/lib/tenure --listen 10.0.0.5:7400 --http 10.0.0.5:7401 --insecure
  TENURE_DATA_DIR=/var/lib/tenure tenure serve --log-format json

  # three members that begin a cluster together, each with its own --name
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
	flags.BoolVar(&f.dev, "dev", false, "keep everything in a temporary directory, removed at exit, and print what to try")
	flags.StringVar(&c.DataDir, "data-dir", "", "directory of the member; made when missing")
	flags.StringVar(&c.ListenAddr, "listen", "127.0.0.1:7400", "where gRPC clients connect, host:port")
	flags.StringVar(&c.HTTPAddr, "http", "127.0.0.1:7401", "where REST, metrics and health are served, host:port")
	flags.StringVar(&c.PeerAddr, "peer", "127.0.0.1:7402", "where other members connect, host:port")
	flags.StringVar(&c.DebugAddr, "debug-http", "", "where profiles of this process are served, host:port on a loopback address; empty: nowhere")
	flags.StringVar(&c.AdvertiseAddr, "advertise", "", "what clients are told instead of --listen, host:port")
	flags.StringVar(&c.AdvertisePeerAddr, "advertise-peer", "", "what other members are told instead of --peer, host:port")
	flags.StringVar(&c.AdvertiseHTTPAddr, "advertise-http", "", "what clients are told instead of --http, host:port")
	flags.StringSliceVar(&c.InitialCluster, "initial-cluster", nil, "members that begin a new cluster together, name=host:port each with its peer address; the same for all, without effect later")
	flags.StringSliceVar(&c.Join, "join", nil, "peer addresses, host:port, of a running cluster to join with a new data directory")
	flags.StringVar(&c.JoinTokenFile, "join-token-file", "", "file with the join token that \"tenure member add\" printed; it is read when the member joins")
	flags.BoolVar(&c.StayLearner, "learner", false, "do not vote after joining")
	flags.BoolVar(&c.ManualPromotion, "manual-promotion", false, "let learners vote only when \"tenure member promote\" says so, while this member leads")
	flags.Uint64Var(&c.DiskFreeMinBytes, "disk-free-min-bytes", 512<<20, "free space of the disk below which nothing is taken that makes the state grow")
	flags.StringVar(&c.Zone, "zone", "", "where the member runs, for people: a rack, a data center")
	flags.StringVar(&c.Name, "name", "tenure-1", "name of the member, unique in the cluster")
	flags.DurationVar(&c.Tick, "tick", 50*time.Millisecond, "unit of time between members; a leader says every tick that it lives")
	flags.IntVar(&c.ElectionTicks, "election-ticks", 20, "after how many ticks without a leader a member asks for votes; twice that is the shortest TTL")
	flags.BoolVar(&c.Insecure, "insecure", false, "allow addresses that other machines can reach, without TLS")
	flags.StringSliceVar(&c.AllowedOrigins, "http-allowed-origin", nil, "pages of browsers that may use HTTP, such as https://console.example")
	flags.StringSliceVar(&c.AllowedHosts, "http-allowed-host", nil, "more names that --http and --debug-http are asked for by, beside addresses, localhost and the advertised ones")
	flags.StringSliceVar(&c.ExemptCallers, "exempt-callers", nil, "addresses or prefixes, such as 10.1.0.0/16, of load balancers and others that call for many: they get whatever is free, others a share")
	flags.DurationVar(&c.StopGrace, "stop-grace", 5*time.Second, "how long calls may go on after a signal to stop")
	flags.StringVar(&f.logFormat, "log-format", logConsole, "how to log: console, for people, or json")
	flags.StringVar(&f.logLevel, "log-level", "info", "what to log: debug, info, warn or error")
}

// serve runs a member until ctx ends.
func serve(ctx context.Context, env *environment, f *serveFlags) (err error) {
	log, err := newLogger(env, f.logFormat, f.logLevel)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }() // Not every stderr can be synced.
	config := f.config
	config.Logger, config.Version = log, env.version
	// There is no flag for it: other users of the machine can read command lines.
	config.JoinToken, _ = env.getenv("TENURE_JOIN_TOKEN")
	if f.dev && config.DataDir == "" {
		if config.DataDir, err = os.MkdirTemp("", "tenure-dev-"); err != nil {
			return refusedError("make a temporary directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(config.DataDir)) }()
	}
	s, err := server.New(config)
	if err != nil {
		return usageError("%w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case err := <-ended:
		return explainServe(config, err)
	case <-s.Ready():
	}
	announce(env, s.Addresses(), f.dev)
	return explainServe(config, <-ended)
}

// newLogger returns the logger that the flags ask for.
func newLogger(env *environment, format, level string) (*zap.Logger, error) {
	var encoder zapcore.Encoder
	switch format {
	case logConsole:
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		c.CallerKey = zapcore.OmitKey
		encoder = zapcore.NewConsoleEncoder(c)
	case logJSON:
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		c.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewJSONEncoder(c)
	default:
		return nil, usageError("--log-format is %q; it must be console or json", format)
	}
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, usageError("--log-level is %q; it must be debug, info, warn or error", level)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(env.stderr)), least)), nil
}

// announce tells where the member listens, in one line that programs can read, and to a newcomer what to try.
func announce(env *environment, at server.Addresses, dev bool) {
	_, _ = fmt.Fprintf(env.stdout, "tenure: serving grpc=%s http=%s peer=%s\n", at.GRPC, at.HTTP, at.Peer)
	if !dev {
		return
	}
	tenure := "tenure"
	if at.GRPC != endpointDefault {
		tenure = "TENURE_ENDPOINTS=" + at.GRPC + " tenure"
	}
	lines := []string{
		"",
		"Everything is lost when this ends. Try, in other terminals:",
		"",
		"  " + tenure + " status",
		"  " + tenure + " lock jobs/nightly -- sleep 60        # take a lock around a command,",
		"  " + tenure + " lock jobs/nightly -- date            # wait for it,",
		"  " + tenure + " lock info jobs/nightly               # and see who holds it",
		"  " + tenure + " watch --prefix ''",
		"  " + tenure + " kv put greeting hello",
		"  curl http://" + at.HTTP + "/v1/kv/greeting",
		"  grpcurl -plaintext " + at.GRPC + " list",
		"",
	}
	_, _ = fmt.Fprintln(env.stdout, strings.Join(lines, "\n"))
}

// explainServe says what to do about an error of the member.
func explainServe(config server.Config, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EADDRINUSE):
		return refusedError("%w; another program uses that port: give --listen, --http or --peer another, or port 0 for any", err)
	case errors.Is(err, raftnode.ErrLocked):
		return refusedError("%w; another member runs on %s: stop it, or give another --data-dir", err, config.DataDir)
	case errors.Is(err, raftnode.ErrWrongCluster):
		return refusedError("%w; if a \"tenure recover\" of %s was interrupted, run it again", err, config.DataDir)
	case errors.Is(err, os.ErrPermission):
		return refusedError("%w; the user who runs this needs to read and write %s", err, config.DataDir)
	default:
		return refusedError("%w", err)
	}
}
