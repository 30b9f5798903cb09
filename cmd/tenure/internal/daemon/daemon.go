package daemon

import (
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/consulhttp"
	"github.com/tenure-io/tenure/internal/logline"
	"github.com/tenure-io/tenure/server/certs"
)

// AgentDefault is where an agent serves commands.
const AgentDefault = "127.0.0.1:7404"

// NewLogger returns the logger that the flags ask for.
func NewLogger(env *cli.Environment, format, level string) (*zap.Logger, error) {
	var encoder zapcore.Encoder
	switch format {
	case cli.LogConsole:
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		c.CallerKey = zapcore.OmitKey
		encoder = zapcore.NewConsoleEncoder(c)
	case cli.LogJSON:
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime = zapcore.RFC3339NanoTimeEncoder
		c.EncodeDuration = zapcore.StringDurationEncoder
		encoder = zapcore.NewJSONEncoder(c)
	default:
		return nil, cli.UsageError("--log-format is %q; it must be console or json", format)
	}
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, cli.UsageError("--log-level is %q; it must be debug, info, warn or error", level)
	}
	return zap.New(logline.Bounded(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(env.Stderr)), least))), nil
}

// RegisterClientAuth declares the flags that say whose certificates clients show.
func RegisterClientAuth(flags *pflag.FlagSet, caFile *string, auth *certs.ClientAuth) {
	flags.StringVar(caFile, "client-ca-file", "", "CAs that client certificates are verified with, PEM")
	flags.StringVar((*string)(auth), "client-auth", "", "client certificates: none (not asked for), verify (one that is sent must be valid), require; verify if --client-ca-file is set")
}

// RegisterConsul declares the flags of what serves clients of Consul.
func RegisterConsul(flags *pflag.FlagSet, o *consulhttp.Options) {
	flags.StringVar(&o.Datacenter, "consul-datacenter", "dc1", "name of the datacenter for clients of Consul")
	flags.DurationVar(&o.SessionTTLMin, "consul-session-ttl-min", 10*time.Second, "shortest TTL that clients of Consul may ask for")
	flags.Float64Var(&o.TTLFactor, "consul-ttl-factor", 2, "TTL that a client of Consul gets, as a multiple of the one it asks for: 1 to 2; Consul doubles it")
}
