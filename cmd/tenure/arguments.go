package main

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// groupCommand returns a command that only holds others.
func groupCommand(use, short, example string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

// keyArgument returns the key that an argument means: one leading slash is not part of it.
func (e *environment) keyArgument(argument string) (string, error) {
	key := e.prefixArgument(argument)
	switch {
	case key == "":
		return "", usageError("the key is empty")
	case !utf8.ValidString(key):
		return "", usageError("the key %s is not valid UTF-8", quoted(key))
	}
	return key, nil
}

// prefixArgument is keyArgument for a prefix, which may be empty.
func (e *environment) prefixArgument(argument string) string {
	key, dropped := strings.CutPrefix(argument, "/")
	if dropped {
		e.notef("Note: the leading slash of %s is not part of the key.", quoted(argument))
	}
	return key
}

// splitCommand splits arguments into those before "--" and the command after it.
func splitCommand(cmd *cobra.Command, args []string) (own, command []string) {
	at := cmd.ArgsLenAtDash()
	if at < 0 {
		return args, nil
	}
	return args[:at], args[at:]
}

// pairsOf reads the values of a flag that are NAME=VALUE.
func pairsOf(flag string, values []string) (map[string]string, error) {
	var pairs map[string]string
	for _, pair := range values {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, usageError("--%s is %s; it must be NAME=VALUE", flag, quoted(pair))
		}
		if pairs == nil {
			pairs = map[string]string{}
		}
		pairs[name] = value
	}
	return pairs, nil
}
