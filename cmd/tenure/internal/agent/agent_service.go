package agent

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/cmd/tenure/internal/catalog"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewServiceCommand returns `tenure service`.
func NewServiceCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("service", "Register services of this machine at its agent", `  tenure service register web --port 8080 --check-http http://127.0.0.1:8080/health
  tenure service register worker --check-ttl 30s
  tenure service list`,
		newServiceRegisterCommand(env), newServiceDeregisterCommand(env), newServiceListCommand(env))
}

// checkFlags are the flags that describe one check.
type checkFlags struct {
	id       string
	http     string
	tcp      string
	grpc     string
	ttl      time.Duration
	interval time.Duration
	timeout  time.Duration
	after    time.Duration
}

// register declares the flags with a prefix, all but that of the id. That of the time-out has a name of its own: without a
// prefix it would be that of calls.
func (f *checkFlags) register(flags *pflag.FlagSet, prefix, timeout string) {
	flags.StringVar(&f.http, prefix+"http", "", "check by asking this URL")
	flags.StringVar(&f.tcp, prefix+"tcp", "", "check by connecting to this address, host:port")
	flags.StringVar(&f.grpc, prefix+"grpc", "", "check by asking the gRPC health service at this address, host:port")
	flags.DurationVar(&f.ttl, prefix+"ttl", 0, "check that becomes critical after this time without a report (\"tenure check pass\")")
	flags.DurationVar(&f.interval, prefix+"interval", 0, "time between two runs of the check (default 10s)")
	flags.DurationVar(&f.timeout, timeout, 0, "longest time of a run (default 10s)")
	flags.DurationVar(&f.after, prefix+"deregister-after", 0, "deregister the service once the check has been critical for this time; at least 1m (default: never)")
}

// message returns the check; nil if no flag describes one.
func (f *checkFlags) message(prefix string) (*tenurev1.Check, error) {
	d := &tenurev1.CheckDefinition{
		Interval: durationOrNone(f.interval), Timeout: durationOrNone(f.timeout), DeregisterCriticalAfter: durationOrNone(f.after),
	}
	kinds := 0
	if f.http != "" {
		d.Kind, kinds = &tenurev1.CheckDefinition_Http{Http: &tenurev1.HttpCheck{Url: f.http}}, kinds+1
	}
	if f.tcp != "" {
		d.Kind, kinds = &tenurev1.CheckDefinition_Tcp{Tcp: &tenurev1.TcpCheck{Address: f.tcp}}, kinds+1
	}
	if f.grpc != "" {
		d.Kind, kinds = &tenurev1.CheckDefinition_Grpc{Grpc: &tenurev1.GrpcCheck{Address: f.grpc}}, kinds+1
	}
	if f.ttl != 0 {
		d.Kind, kinds = &tenurev1.CheckDefinition_Ttl{Ttl: &tenurev1.TtlCheck{Ttl: durationpb.New(f.ttl)}}, kinds+1
	}
	switch {
	case kinds > 1:
		return nil, cli.UsageError("give only one of --%shttp, --%stcp, --%sgrpc and --%sttl", prefix, prefix, prefix, prefix)
	case kinds == 1:
		return &tenurev1.Check{CheckId: f.id, Definition: d}, nil
	case f.id != "" || f.interval != 0 || f.timeout != 0 || f.after != 0:
		return nil, cli.UsageError("the check has no kind: give one of --%shttp, --%stcp, --%sgrpc and --%sttl", prefix, prefix, prefix, prefix)
	default:
		return nil, nil //nolint:nilnil // No flag asks for a check.
	}
}

func durationOrNone(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// newServiceRegisterCommand returns `tenure service register`.
func newServiceRegisterCommand(env *cli.Environment) *cobra.Command {
	at, checks := &agentFlag{}, &checkFlags{}
	s := &tenurev1.Service{}
	var meta []string
	cmd := &cobra.Command{
		Use:   "register SERVICE",
		Short: "Register an instance of a service, with a check",
		Long: `Register an instance of a service at the agent of this machine, with one check if a flag describes it. An
instance with the same id is replaced. The agent registers it again after a restart, until it is deregistered.`,
		Example: `  tenure service register web --port 8080 --tag blue --check-http http://127.0.0.1:8080/health
  tenure service register web --id web-2 --port 8081 --check-tcp 127.0.0.1:8081 --check-interval 5s
  tenure service register worker --check-id worker-alive --check-ttl 30s`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Name = args[0]
			var err error
			if s.Meta, err = cli.PairsOf("meta", meta); err != nil {
				return err
			}
			r := &tenurev1.AddAgentServiceRequest{Service: s}
			check, err := checks.message("check-")
			if err != nil {
				return err
			}
			if check != nil {
				if check.GetCheckId() == "" {
					check.CheckId = "service:" + s.GetServiceId()
					if s.GetServiceId() == "" {
						check.CheckId += s.GetName()
					}
				}
				r.Checks = []*tenurev1.Check{check}
			}
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.AddAgentService(ctx, r)
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				return env.Printf("Success! Service registered: %s\n", cli.Printable(answer.GetServiceId()))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.ServiceId, "id", "", "id of the instance (default: the name of the service)")
	flags.StringVar(&s.Address, "address", "", "host name or IP address of the instance (default: that of the node)")
	flags.Uint32Var(&s.Port, "port", 0, "port of the instance")
	flags.StringArrayVar(&s.Tags, "tag", nil, "tag of the instance; repeatable")
	flags.StringArrayVar(&meta, "meta", nil, "fact about the instance, NAME=VALUE; repeatable")
	flags.StringVar(&checks.id, "check-id", "", "id of the check (default: service: and the id of the instance)")
	checks.register(flags, "check-", "check-timeout")
	at.add(flags)
	return cmd
}

// newServiceDeregisterCommand returns `tenure service deregister`.
func newServiceDeregisterCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	cmd := &cobra.Command{
		Use:     "deregister INSTANCE",
		Short:   "Deregister an instance of a service and its checks",
		Long:    "Deregister an instance of a service, by its id, and its checks. One from a file is refused: change the file.",
		Example: "  tenure service deregister web-2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.RemoveAgentService(ctx, &tenurev1.RemoveAgentServiceRequest{ServiceId: args[0]})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				case !answer.GetRemoved():
					return cli.RefusedError("the agent has no service %s; `tenure service list` shows all", cli.Quoted(args[0]))
				}
				return env.Printf("Success! Service deregistered: %s\n", cli.Printable(args[0]))
			})
		},
	}
	at.add(cmd.Flags())
	return cmd
}

// newServiceListCommand returns `tenure service list`.
func newServiceListCommand(env *cli.Environment) *cobra.Command {
	at := &agentFlag{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the services of this machine",
		Long: `List the services that the agent of this machine registers: id, name, port, status, where it is from, and
whether the catalog is as the agent has it. "tenure catalog services" lists those of all machines.`,
		Example: "  tenure service list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return at.call(cmd.Context(), env, func(ctx context.Context, c tenurev1.AgentServiceClient) error {
				answer, err := c.ListAgentServices(ctx, &tenurev1.ListAgentServicesRequest{})
				switch {
				case err != nil:
					return err
				case env.JSON():
					return env.PrintDocument(answer)
				}
				rows := [][]string{{"ID", "SERVICE", "PORT", "STATUS", "FROM", "IN SYNC"}}
				for _, i := range answer.GetServices() {
					s := i.GetService()
					rows = append(rows, []string{
						cli.Printable(s.GetServiceId()), cli.Printable(s.GetName()), strconv.Itoa(int(s.GetPort())), catalog.StatusWord(i.GetStatus()),
						cli.Words(i.GetSource().String(), "AGENT_SOURCE_"), strconv.FormatBool(i.GetInSync()),
					})
				}
				return env.PrintTable(rows)
			})
		},
	}
	at.add(cmd.Flags())
	return cmd
}
