package catalog

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// registerFlags are the flags of `tenure catalog register`.
type registerFlags struct {
	node    tenurev1.Node
	service tenurev1.Service
	check   tenurev1.Check
	status  string
	meta    []string
}

// newCatalogRegisterCommand returns `tenure catalog register`.
func newCatalogRegisterCommand(env *cli.Environment) *cobra.Command {
	f := &registerFlags{}
	cmd := &cobra.Command{
		Use:   "register NODE",
		Short: "Register a node, and a service and a check on it",
		Long: `Register a node. With --service, also register an instance of that service on it; with --check, a check of
that instance, or without --service one of the node. What is registered already is replaced. If the node
exists and no flag describes it, it stays as it is. A new check without --status is critical until it is
reported otherwise with "tenure catalog check".`,
		Example: `  tenure catalog register web1 --address 10.0.0.1
  tenure catalog register web1 --service web --port 8080 --check web-up --status passing`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := f.request(cmd, args[0])
			if err != nil {
				return err
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return registerNode(ctx, env, c, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.node.Address, "address", "", "host name or IP address of the node")
	flags.StringVar(&f.node.NodeId, "id", "", "id of the machine, a UUID (default: a random one)")
	flags.StringVar(&f.node.Zone, "zone", "", "failure domain of the node")
	flags.StringArrayVar(&f.meta, "meta", nil, "fact about the node, NAME=VALUE; repeatable")
	flags.StringVar(&f.service.Name, "service", "", "name of the service")
	flags.StringVar(&f.service.ServiceId, "service-id", "", "id of the instance (default: the name of the service)")
	flags.Uint32Var(&f.service.Port, "port", 0, "port of the instance")
	flags.StringArrayVar(&f.service.Tags, "tag", nil, "tag of the instance; repeatable")
	flags.StringVar(&f.check.CheckId, "check", "", "id of the check")
	flags.StringVar(&f.status, "status", "", "status of the check: passing, warning or critical")
	flags.StringVar(&f.check.Output, "output-text", "", "output of the check")
	flags.StringVar(&f.check.Notes, "notes", "", "notes about the check")
	return cmd
}

// request returns what to register.
func (f *registerFlags) request(cmd *cobra.Command, name string) (*tenurev1.RegisterNodeRequest, error) {
	r := &tenurev1.RegisterNodeRequest{Node: &f.node}
	f.node.Name = name
	var err error
	if f.node.Meta, err = cli.PairsOf("meta", f.meta); err != nil {
		return nil, err
	}
	described := false
	for _, flag := range []string{"address", "id", "zone", "meta"} {
		described = described || cmd.Flags().Changed(flag)
	}
	r.SkipNodeUpdate = !described
	if f.service.GetName() == "" && (f.service.GetServiceId() != "" || f.service.GetPort() != 0 || len(f.service.GetTags()) > 0) {
		return nil, cli.UsageError("--service-id, --port and --tag need --service")
	}
	if f.service.GetName() != "" {
		r.Services = []*tenurev1.Service{&f.service}
		f.check.ServiceId = f.service.GetServiceId()
		if f.check.GetServiceId() == "" {
			f.check.ServiceId = f.service.GetName()
		}
	}
	if f.check.GetCheckId() == "" {
		if f.status != "" || f.check.GetOutput() != "" || f.check.GetNotes() != "" {
			return nil, cli.UsageError("--status, --output-text and --notes need --check")
		}
		return r, nil
	}
	if f.status != "" {
		if f.check.Status, err = StatusOf(f.status); err != nil {
			return nil, err
		}
	}
	r.Checks = []*tenurev1.Check{&f.check}
	return r, nil
}

// registerNode registers a node and prints its id.
func registerNode(ctx context.Context, e *cli.Environment, c *tenure.Client, r *tenurev1.RegisterNodeRequest) error {
	var answer *tenurev1.RegisterNodeResponse
	err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
		r.Options = once
		answer, err = tenurev1.NewCatalogServiceClient(member).RegisterNode(ctx, r)
		return err
	})
	switch {
	case err != nil:
		return err
	case e.JSON():
		return e.PrintDocument(answer)
	}
	return e.Printf("Success! Node registered: %s (%s)\n", r.GetNode().GetName(), answer.GetNodeId())
}

// newCatalogCheckCommand returns `tenure catalog check`.
func newCatalogCheckCommand(env *cli.Environment) *cobra.Command {
	r := &tenurev1.UpdateCheckRequest{}
	cmd := &cobra.Command{
		Use:   "check NODE CHECK passing|warning|critical",
		Short: "Report the status of a check",
		Long: `Report the status of a check. If it is critical, the sessions that are bound to the check end in the same
step; their locks are lost, and after the lock-delay the next waiters get them.`,
		Example: `  tenure catalog check web1 web-up passing
  tenure catalog check web1 web-up critical --output-text "connection refused"`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			r.Node, r.CheckId = args[0], args[1]
			if r.Status, err = StatusOf(args[2]); err != nil {
				return err
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				var answer *tenurev1.UpdateCheckResponse
				err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
					r.Options = once
					answer, err = tenurev1.NewCatalogServiceClient(member).UpdateCheck(ctx, r)
					return err
				})
				return toldChange(env, answer, err, "Check updated: "+args[1]+endedText(answer.GetSessionsEnded()))
			})
		},
	}
	cmd.Flags().StringVar(&r.Output, "output-text", "", "what to show of it")
	return cmd
}

// endedText tells how many sessions a change ended.
func endedText(n uint32) string {
	if n == 0 {
		return ""
	}
	return " (" + cli.Counted(n, "session") + " ended)"
}

// toldChange prints what came of a change.
func toldChange(e *cli.Environment, answer proto.Message, err error, text string) error {
	switch {
	case err != nil:
		return err
	case e.JSON():
		return e.PrintDocument(answer)
	}
	return e.Printf("Success! %s\n", cli.Printable(text))
}

// newCatalogDeregisterCommand returns `tenure catalog deregister`.
func newCatalogDeregisterCommand(env *cli.Environment) *cobra.Command {
	var service, check, id string
	cmd := &cobra.Command{
		Use:   "deregister NODE",
		Short: "Deregister a node, a service or a check",
		Long: `Deregister a node with all its services and checks; with --service or --check, only that instance of a
service with its checks, or that check. Sessions that are bound to what goes end in the same step.`,
		Example: `  tenure catalog deregister web1
  tenure catalog deregister web1 --check web-up`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if service != "" && check != "" {
				return cli.UsageError("want --service or --check, not both")
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				var answer deregistered
				err := c.Change(ctx, func(ctx context.Context, member grpc.ClientConnInterface, once *tenurev1.CallOptions) (err error) {
					answer, err = deregister(ctx, tenurev1.NewCatalogServiceClient(member), entryName{args[0], service, check, id}, once)
					return err
				})
				if err != nil {
					return err
				}
				if !answer.GetDeregistered() && !env.JSON() {
					return cli.RefusedError("Not registered: %s", cli.Printable(strings.Trim(args[0]+" "+service+check, " ")))
				}
				return toldChange(env, answer, nil, "Deregistered: "+strings.Trim(args[0]+" "+service+check, " ")+endedText(answer.GetSessionsEnded()))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&service, "service", "", "only this instance of a service, by its id")
	flags.StringVar(&check, "check", "", "only this check")
	flags.StringVar(&id, "if-id", "", "only if the node has this id")
	return cmd
}

// entryName names an entry of the catalog, and the machine that its node must be.
type entryName struct{ node, service, check, id string }

// deregistered is the answer to a deregistration.
type deregistered interface {
	proto.Message
	GetDeregistered() bool
	GetSessionsEnded() uint32
}

// deregister deletes an entry.
func deregister(
	ctx context.Context, c tenurev1.CatalogServiceClient, n entryName, once *tenurev1.CallOptions,
) (deregistered, error) {
	switch {
	case n.service != "":
		return c.DeregisterService(ctx, &tenurev1.DeregisterServiceRequest{
			Node: n.node, ServiceId: n.service, IfNodeId: n.id, Options: once,
		})
	case n.check != "":
		return c.DeregisterCheck(ctx, &tenurev1.DeregisterCheckRequest{Node: n.node, CheckId: n.check, IfNodeId: n.id, Options: once})
	default:
		return c.DeregisterNode(ctx, &tenurev1.DeregisterNodeRequest{Node: n.node, IfNodeId: n.id, Options: once})
	}
}
