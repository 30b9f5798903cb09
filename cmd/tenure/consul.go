package main

import (
	"github.com/spf13/cobra"
)

// newConsulCommand returns `tenure consul`.
func newConsulCommand(env *environment) *cobra.Command {
	return groupCommand("consul", "Move from Consul to Tenure",
		`  tenure consul import http://127.0.0.1:8500
  consul kv export | tenure consul import -`,
		newConsulImportCommand(env))
}
