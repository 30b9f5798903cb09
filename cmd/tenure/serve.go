package main

import (
	"github.com/spf13/cobra"
)

// newServeCommand returns `tenure serve`.
func newServeCommand(_ *environment) *cobra.Command {
	return &cobra.Command{
		Use:   serveCommandName,
		Short: "Run one member",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return refusedError("not built yet")
		},
	}
}
