package consul

import (
	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// NewCommand returns `tenure consul`.
func NewCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("consul", "Move from Consul to Tenure",
		`  tenure consul import http://127.0.0.1:8500
  consul kv export | tenure consul import -`,
		newConsulImportCommand(env))
}
