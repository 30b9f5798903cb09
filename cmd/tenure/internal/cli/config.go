package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

// variablePrefix begins the name of every environment variable.
const variablePrefix = "TENURE_"

// ServeCommandName is the command whose flags need no command name in their variables, and may stand in the file.
const ServeCommandName = "serve"

// ApplySettings gives every flag of cmd that the command line did not set its value from the environment, or else from
// the configuration file.
func ApplySettings(env *Environment, cmd *cobra.Command) error {
	if flag := cmd.Flags().Lookup("config"); flag != nil && !flag.Changed {
		if value, set := env.Getenv(variableName(cmd, "config", true)); set {
			if err := flag.Value.Set(value); err != nil {
				return UsageError("%s: %w", variableName(cmd, "config", true), err)
			}
		}
	}
	file, err := readSettings(env.ConfigFile)
	if err != nil {
		return err
	}
	if err := checkSettings(cmd.Root(), env.ConfigFile, file); err != nil {
		return err
	}
	var failed error
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if failed == nil && !flag.Changed {
			failed = applySetting(env, cmd, flag, file)
		}
	})
	return failed
}

// applySetting sets one flag from the environment, or else from the file.
func applySetting(env *Environment, cmd *cobra.Command, flag *pflag.Flag, file map[string]string) error {
	name := variableName(cmd, flag.Name, global(cmd, flag.Name))
	if value, set := env.Getenv(name); set && settable(flag.Name) {
		if err := cmd.Flags().Set(flag.Name, value); err != nil {
			return settingMistake("environment variable "+name, err)
		}
		return nil
	}
	if !fromFile(cmd, flag.Name) {
		return nil
	}
	if value, set := file[flag.Name]; set {
		if err := cmd.Flags().Set(flag.Name, value); err != nil {
			return settingMistake(fmt.Sprintf("%s: setting %q", env.ConfigFile, flag.Name), err)
		}
	}
	return nil
}

// settingMistake says what is wrong with the value that a flag has from elsewhere.
func settingMistake(where string, err error) error {
	if invalid, want := valueWanted(err); want != "" {
		return UsageError("%s is %s; %s", where, Quoted(invalid.GetValue()), want)
	}
	return UsageError("%s: %w", where, err)
}

// variableName returns the environment variable of a flag: TENURE_DATA_DIR for a global flag or one of serve,
// TENURE_SESSION_CREATE_TTL for one of `tenure session create`.
func variableName(cmd *cobra.Command, flag string, bare bool) string {
	name := flag
	if !bare {
		path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
		name = strings.TrimSpace(path) + " " + flag
	}
	return variablePrefix + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(name))
}

// global tells whether a flag's variable is named without the command.
func global(cmd *cobra.Command, flag string) bool {
	return cmd.Name() == ServeCommandName || cmd.Root().PersistentFlags().Lookup(flag) != nil
}

// fromFile tells whether a flag of cmd may come from the configuration file.
func fromFile(cmd *cobra.Command, flag string) bool {
	return global(cmd, flag) && settable(flag) && flag != "config"
}

// settable tells whether a flag is a setting at all: asking for help or the version is not.
func settable(flag string) bool { return flag != "help" && flag != "version" }

// DescribeVariables adds to the help of each of cmd's own flags the environment variable that sets it.
func DescribeVariables(cmd *cobra.Command) {
	describe := func(flag *pflag.Flag) {
		if settable(flag.Name) && !strings.Contains(flag.Usage, variablePrefix) {
			flag.Usage += " [" + variableName(cmd, flag.Name, global(cmd, flag.Name)) + "]"
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(describe)
	cmd.PersistentFlags().VisitAll(describe)
}

// readSettings reads a configuration file: a flat YAML map from flag to value, or to a list of values.
func readSettings(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, UsageError("--config: %w", err)
	}
	var raw map[string]yaml.Node
	if err := yaml.Unmarshal(data, &raw); err != nil {
		return nil, UsageError("%s: %w", path, err)
	}
	settings := make(map[string]string, len(raw))
	for name, node := range raw {
		value, err := settingText(&node)
		if err != nil {
			return nil, UsageError("%s: setting %q: %w", path, name, err)
		}
		settings[name] = value
	}
	return settings, nil
}

// settingText returns a YAML value as a flag would be written.
func settingText(node *yaml.Node) (string, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Value, nil
	case yaml.SequenceNode:
		parts := make([]string, 0, len(node.Content))
		for _, child := range node.Content {
			if child.Kind != yaml.ScalarNode {
				return "", fmt.Errorf("line %d: a list must hold plain values", child.Line)
			}
			parts = append(parts, child.Value)
		}
		return strings.Join(parts, ","), nil
	default:
		return "", fmt.Errorf("line %d: must be a value or a list of values", node.Line)
	}
}

// checkSettings refuses settings that no command knows, so that a misspelt one is not silently without effect.
func checkSettings(root *cobra.Command, path string, settings map[string]string) error {
	serve, _, err := root.Find([]string{ServeCommandName})
	if err != nil {
		return err
	}
	for name := range settings {
		known := root.PersistentFlags().Lookup(name) != nil || serve.Flags().Lookup(name) != nil
		if !known || !settable(name) || name == "config" {
			return UsageError("%s: unknown setting %q", path, name)
		}
	}
	return nil
}
