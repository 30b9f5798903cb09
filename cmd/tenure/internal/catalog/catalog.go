package catalog

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewCommand returns `tenure catalog`.
func NewCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("catalog", "Register and list nodes, services and checks", `  tenure catalog register web1 --service web --port 8080 --check web-up --status passing
  tenure catalog check web1 web-up critical --output-text "connection refused"
  tenure catalog services`,
		newCatalogRegisterCommand(env),
		newCatalogCheckCommand(env),
		newCatalogDeregisterCommand(env),
		newCatalogNodesCommand(env),
		newCatalogServicesCommand(env),
		newCatalogChecksCommand(env),
	)
}

// StatusOf reads the status of a check.
func StatusOf(text string) (tenurev1.CheckStatus, error) {
	switch text {
	case "passing":
		return tenurev1.CheckStatus_CHECK_STATUS_PASSING, nil
	case "warning":
		return tenurev1.CheckStatus_CHECK_STATUS_WARNING, nil
	case "critical":
		return tenurev1.CheckStatus_CHECK_STATUS_CRITICAL, nil
	default:
		return 0, cli.UsageError("the status is %s; it must be passing, warning or critical", cli.Quoted(text))
	}
}

// StatusWord returns a status in a word.
func StatusWord(s tenurev1.CheckStatus) string { return cli.Words(s.String(), "CHECK_STATUS_") }

// OutputLine returns the first line of a check's output, behind what goes before.
func OutputLine(output string) string {
	line, _, _ := strings.Cut(output, "\n")
	if line == "" {
		return ""
	}
	return ": " + cli.Printable(line)
}

// newCatalogNodesCommand returns `tenure catalog nodes`.
func newCatalogNodesCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.ListNodesRequest{}
	cmd := &cobra.Command{
		Use:     "nodes",
		Short:   "List nodes",
		Long:    "List the nodes of the catalog: name, address, zone, origin and id.",
		Example: "  tenure catalog nodes\n  tenure catalog nodes --zone eu-1 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listNodes(ctx, env, c, request)
			})
		},
	}
	cmd.Flags().StringVar(&request.Zone, "zone", "", "only nodes in this zone")
	cmd.Flags().StringVar(&request.NamePrefix, "name", "", "only nodes whose name has this prefix")
	cli.VisibleOnlyFlag(cmd.Flags(), &request.VisibleOnly)
	return cmd
}

// listNodes prints all pages of a list.
func listNodes(ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.ListNodesRequest) error {
	all := &tenurev1.ListNodesResponse{}
	err := cli.EachPage(ctx, c, tenurev1.NewCatalogServiceClient, tenurev1.CatalogServiceClient.ListNodes, request, &request.PageToken, func(page *tenurev1.ListNodesResponse) {
		all.Header, all.Nodes = page.GetHeader(), append(all.GetNodes(), page.GetNodes()...)
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(all)
	}
	rows := [][]string{{"NAME", "ADDRESS", "ZONE", "ORIGIN", "ID"}}
	for _, n := range all.GetNodes() {
		rows = append(rows, []string{
			n.GetName(), cli.OrDash(n.GetAddress()), cli.OrDash(n.GetZone()), cli.Words(n.GetOrigin().String(), "CATALOG_ORIGIN_"), n.GetNodeId(),
		})
	}
	return e.PrintTable(rows)
}

// newCatalogServicesCommand returns `tenure catalog services`.
func newCatalogServicesCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.ListInstancesRequest{}
	cmd := &cobra.Command{
		Use:   "services [SERVICE]",
		Short: "List services, or the instances of one",
		Long: `List the names of all services with the number of their instances and their tags. With SERVICE or --node,
list instances: node, id, address and port, status and tags. The status is the worst of the instance's own
checks and those of its node.`,
		Example: "  tenure catalog services\n  tenure catalog services web --passing\n  tenure catalog services --node web1",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				request.Service = args[0]
			}
			filtered := request.GetPassing() || request.GetTag() != "" || request.GetZone() != ""
			if filtered && request.GetService() == "" && request.GetNode() == "" {
				return cli.UsageError("--passing, --tag and --zone need a SERVICE or --node")
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				if request.GetService() == "" && request.GetNode() == "" {
					return listServices(ctx, env, c, request.GetVisibleOnly())
				}
				return listInstances(ctx, env, c, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Node, "node", "", "only instances on this node")
	flags.BoolVar(&request.Passing, "passing", false, "only instances that pass")
	flags.StringVar(&request.Tag, "tag", "", "only instances with this tag")
	flags.StringVar(&request.Zone, "zone", "", "only instances on nodes in this zone")
	cli.VisibleOnlyFlag(flags, &request.VisibleOnly)
	return cmd
}

// listServices prints the names of all services.
func listServices(ctx context.Context, e *cli.Environment, c *tenure.Client, visibleOnly bool) error {
	request, all := &tenurev1.ListServicesRequest{VisibleOnly: visibleOnly}, &tenurev1.ListServicesResponse{}
	err := cli.EachPage(ctx, c, tenurev1.NewCatalogServiceClient, tenurev1.CatalogServiceClient.ListServices, request, &request.PageToken, func(page *tenurev1.ListServicesResponse) {
		all.Header, all.Services = page.GetHeader(), append(all.GetServices(), page.GetServices()...)
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(all)
	}
	rows := [][]string{{"SERVICE", "INSTANCES", "TAGS"}}
	for _, s := range all.GetServices() {
		rows = append(rows, []string{
			cli.Printable(s.GetName()), strconv.Itoa(int(s.GetInstances())), cli.OrDash(strings.Join(s.GetTags(), ",")),
		})
	}
	return e.PrintTable(rows)
}

// listInstances prints the instances of a service, or of a node.
func listInstances(ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.ListInstancesRequest) error {
	all := &tenurev1.ListInstancesResponse{}
	err := cli.EachPage(ctx, c, tenurev1.NewCatalogServiceClient, tenurev1.CatalogServiceClient.ListInstances, request, &request.PageToken, func(page *tenurev1.ListInstancesResponse) {
		all.Header, all.Instances = page.GetHeader(), append(all.GetInstances(), page.GetInstances()...)
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(all)
	}
	return e.PrintTable(instanceRows(all.GetInstances()))
}

// instanceRows returns instances as rows of a table.
func instanceRows(instances []*tenurev1.ServiceInstance) [][]string {
	rows := [][]string{{"NODE", "ID", "SERVICE", "ADDRESS", "STATUS", "TAGS"}}
	for _, i := range instances {
		s := i.GetService()
		address := s.GetAddress()
		if address == "" {
			address = i.GetNode().GetAddress()
		}
		if s.GetPort() != 0 {
			address += ":" + strconv.Itoa(int(s.GetPort()))
		}
		rows = append(rows, []string{
			s.GetNode(), cli.Printable(s.GetServiceId()), cli.Printable(s.GetName()), cli.OrDash(address), StatusWord(i.GetStatus()),
			cli.OrDash(strings.Join(s.GetTags(), ",")),
		})
	}
	return rows
}

// newCatalogChecksCommand returns `tenure catalog checks`.
func newCatalogChecksCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.ListChecksRequest{}
	var status string
	cmd := &cobra.Command{
		Use:     "checks",
		Short:   "List checks",
		Long:    "List checks: node, id, service, status, and the first line of the last output.",
		Example: "  tenure catalog checks --status critical\n  tenure catalog checks --node web1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if status != "" {
				if request.Status, err = StatusOf(status); err != nil {
					return err
				}
			}
			return env.WithClient(cmd.Context(), func(ctx context.Context, c *tenure.Client) error {
				return listChecks(ctx, env, c, request)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&status, "status", "", "only checks with this status: passing, warning or critical")
	flags.StringVar(&request.Node, "node", "", "only checks of this node")
	flags.StringVar(&request.Service, "service", "", "only checks of instances of this service")
	cli.VisibleOnlyFlag(flags, &request.VisibleOnly)
	return cmd
}

// listChecks prints all pages of a list.
func listChecks(ctx context.Context, e *cli.Environment, c *tenure.Client, request *tenurev1.ListChecksRequest) error {
	all := &tenurev1.ListChecksResponse{}
	err := cli.EachPage(ctx, c, tenurev1.NewCatalogServiceClient, tenurev1.CatalogServiceClient.ListChecks, request, &request.PageToken, func(page *tenurev1.ListChecksResponse) {
		all.Header, all.Checks = page.GetHeader(), append(all.GetChecks(), page.GetChecks()...)
	})
	if err != nil {
		return err
	}
	if e.JSON() {
		return e.PrintDocument(all)
	}
	rows := [][]string{{"NODE", "CHECK", "SERVICE", "STATUS", "OUTPUT"}}
	for _, k := range all.GetChecks() {
		rows = append(rows, []string{
			k.GetNode(), cli.Printable(k.GetCheckId()), cli.OrDash(k.GetServiceName()), StatusWord(k.GetStatus()),
			cli.OrDash(strings.TrimPrefix(OutputLine(k.GetOutput()), ": ")),
		})
	}
	return e.PrintTable(rows)
}
