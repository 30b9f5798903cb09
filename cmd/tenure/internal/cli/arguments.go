package cli

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// GroupCommand returns a command that only holds others.
func GroupCommand(use, short, example string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Example: example,
		Args:    groupArguments,
		RunE:    groupHelp,
	}
	cmd.AddCommand(children...)
	return cmd
}

// groupArguments refuses arguments of a command that only holds others: each is the name of one that it does not hold.
func groupArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return UnknownCommand(cmd, args[0])
}

// groupHelp runs a command that only holds others.
func groupHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// KeyArgument returns the key that an argument means: one leading slash is not part of it.
func (e *Environment) KeyArgument(argument string) (string, error) {
	key := e.PrefixArgument(argument)
	switch {
	case key == "":
		return "", UsageError("the key is empty")
	case !utf8.ValidString(key):
		return "", UsageError("the key %s is not valid UTF-8", Quoted(key))
	}
	return key, nil
}

// PrefixArgument is KeyArgument for a prefix, which may be empty.
func (e *Environment) PrefixArgument(argument string) string {
	key, dropped := strings.CutPrefix(argument, "/")
	if dropped {
		e.Notef("Note: the leading slash of %s is not part of the key.", Quoted(argument))
	}
	return key
}

// SplitCommand splits arguments into those before "--" and the command after it.
func SplitCommand(cmd *cobra.Command, args []string) (own, command []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}

// PairsOf reads the values of a flag that are NAME=VALUE.
func PairsOf(flag string, values []string) (map[string]string, error) {
	var pairs map[string]string
	for _, pair := range values {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, UsageError("--%s is %s; it must be NAME=VALUE", flag, Quoted(pair))
		}
		if pairs == nil {
			pairs = map[string]string{}
		}
		pairs[name] = value
	}
	return pairs, nil
}

// NotZero refuses flags that were given as zero, which stands for a flag that was not given.
func NotZero(flags *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if flags.Changed(name) && flags.Lookup(name).Value.String() == "0" {
			return UsageError("--%s is 0; it must be at least 1", name)
		}
	}
	return nil
}

// Present returns the values of a flag without empty ones.
func Present(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}
