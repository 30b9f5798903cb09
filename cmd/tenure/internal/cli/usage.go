package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// typoMax is how many letters may differ between what was written and what was probably meant.
const typoMax = 2

// PrefixFlag is a flag of which people often do not remember whether it takes the prefix, or only says that there is one.
const PrefixFlag = "prefix"

// offerChoices has shells complete the values of flags that take one of a few. Other flags take no names of files, unless
// they are about files.
func offerChoices(cmd *cobra.Command) {
	choices := map[string][]string{
		"output": {OutputText, OutputJSON}, "behavior": {"release", "delete"},
		"log-format": {LogConsole, LogJSON}, "log-level": {"debug", "info", "warn", "error"},
	}
	offer := func(flag *pflag.Flag) {
		switch {
		case flag.Name == "config" || strings.HasSuffix(flag.Name, "-dir"):
		default:
			// It fails only for a flag that is not there, or has completions already.
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(choices[flag.Name], cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(offer)
	cmd.PersistentFlags().VisitAll(offer)
}

// ExplainUsage makes a command, and those below it, say what was probably meant by a wrong use.
func ExplainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(flagMistake)
	offerChoices(cmd)
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if exit := new(ExitError); err == nil || errors.As(err, &exit) {
				return err
			}
			return argumentMistake(cmd, args)
		}
	}
	for _, child := range cmd.Commands() {
		ExplainUsage(child)
	}
}

// ExplainBuiltIns makes the commands that cobra adds, help and completion, refuse what they do not know.
func ExplainBuiltIns(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				switch {
				case err != nil:
					return UsageError("%w", err)
				case len(rest) > 0:
					return UnknownCommand(found, rest[0])
				}
				return nil
			}
		case "completion":
			cmd.Args, cmd.RunE = groupArguments, groupHelp
		}
	}
}

// UnknownCommand says that a command has no such command below it.
func UnknownCommand(cmd *cobra.Command, name string) error {
	return UsageError("unknown command %s for %q%s", Quoted(name), cmd.CommandPath(), CommandMeant(cmd, name))
}

// argumentMistake says what arguments a command wants, or which command below it was probably meant.
func argumentMistake(cmd *cobra.Command, args []string) error {
	want := "want " + strings.TrimSuffix(cmd.UseLine(), " [flags]")
	switch len(args) {
	case 0:
		return UsageError("%s", want)
	case 1:
		want += "; 1 argument was given"
	default:
		want += fmt.Sprintf("; %d arguments were given", len(args))
	}
	switch {
	case !cmd.HasAvailableSubCommands():
		return UsageError("%s", want)
	case !strings.Contains(cmd.Use, " "): // It takes no arguments of its own.
		return UnknownCommand(cmd, args[0])
	default:
		return UsageError("%s%s", want, CommandMeant(cmd, args[0]))
	}
}

// flagMistake says what is wrong with a flag in the words of this program.
func flagMistake(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return UsageError("%w%s", err, flagMeant(cmd, unknown))
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && missing.GetSpecifiedName() == PrefixFlag {
		return UsageError("%w; want %s --prefix PREFIX", err, cmd.CommandPath())
	}
	invalid, want := valueWanted(err)
	switch {
	case invalid != nil && invalid.GetFlag().Hidden && invalid.GetFlag().Name == PrefixFlag:
		return UsageError("want %s", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	case want == "":
		return UsageError("%w", err)
	}
	return UsageError("--%s is %s; %s", invalid.GetFlag().Name, Quoted(invalid.GetValue()), want)
}

// durationForm is how a duration is written, however long.
var durationForm = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`)

// groupMistakes are the errors of cobra for flags that do not go together, with the group, and those that were set or are missing.
var (
	groupBoth    = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
	groupMissing = regexp.MustCompile(`^if any flags in the group \[(.*)\] are set they must all be set; missing \[(.*)\]$`)
)

// CheckGroups refuses flags that do not go together.
func CheckGroups(cmd *cobra.Command) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	if both := groupBoth.FindStringSubmatch(err.Error()); both != nil {
		flags := strings.Fields(both[1])
		if len(flags) == 2 {
			return UsageError("give --%s or --%s, not both", flags[0], flags[1])
		}
		return UsageError("give only one of --%s", strings.Join(flags, ", --"))
	}
	if found := groupMissing.FindStringSubmatch(err.Error()); found != nil {
		missing := strings.Fields(found[2])
		given := slices.DeleteFunc(strings.Fields(found[1]), func(flag string) bool { return slices.Contains(missing, flag) })
		return UsageError("--%s needs --%s", strings.Join(given, " and --"), strings.Join(missing, " and --"))
	}
	return UsageError("%w", err)
}

// valueWanted returns the error of a flag's value, and what the value must be; nothing if the error says that itself.
func valueWanted(err error) (invalid *pflag.InvalidValueError, want string) {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return nil, ""
	}
	switch kind := invalid.GetFlag().Value.Type(); {
	case errors.Is(err, strconv.ErrRange):
		want = "it is too large"
	case kind == "duration" && durationForm.MatchString(invalid.GetValue()):
		want = "it is too large"
	case kind == sessionIDType:
		want = sessionIDWanted
	case kind == "duration":
		want = "it must be a duration such as 500ms, 15s, 10m or 1h30m"
	case strings.HasPrefix(kind, "uint"):
		want = "it must be a whole number, zero or more"
	case strings.HasPrefix(kind, "int"):
		want = "it must be a whole number"
	case kind == "bool":
		want = "it must be true or false"
	}
	return invalid, want
}

// flagMeant returns which flag of a command was probably meant, or that it was none, after a semicolon, or nothing.
func flagMeant(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		if !strings.Contains(cmd.Use, " ") || strings.Contains(cmd.Use, " -- ") { // It has no arguments, or they are a command's.
			return ""
		}
		return "; put \"--\" before a value that starts with \"-\""
	}
	nearest, distance := "", typoMax+1
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if d := lettersApart(name, flag.Name); !flag.Hidden && d < distance && d < len(flag.Name) {
			nearest, distance = flag.Name, d
		}
	})
	if nearest == "" {
		return ""
	}
	return "; did you mean --" + nearest + "?"
}

// Formats of the log.
const (
	LogConsole = "console"
	LogJSON    = "json"
)
