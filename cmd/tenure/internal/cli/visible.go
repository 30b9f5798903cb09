package cli

import "github.com/spf13/pflag"

// VisibleOnlyFlag declares the flag that has a list show what its caller may see of it, where it would be refused else.
func VisibleOnlyFlag(flags *pflag.FlagSet, visible *bool) {
	flags.BoolVar(visible, "visible-only", false, "leave out what your policies do not cover, in place of an error")
}
