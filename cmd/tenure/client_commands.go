package main

import "github.com/spf13/cobra"

// clientCommands returns the commands that talk to a member.
func clientCommands(_ *environment) []*cobra.Command {
	return nil
}
