package cli

import (
	"io"
	"time"
)

// Defaults of the flags that all commands share.
const (
	EndpointDefault = "127.0.0.1:7400"
	TimeoutDefault  = 10 * time.Second
	OutputText      = "text"
	OutputJSON      = "json"
)

// Environment is what every command shares: its streams, the process environment and the global flags, connections by them, and how answers are
// printed. Each command is a function of its own. Flags are set when a command's RunE is called.
type Environment struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(name string) (value string, set bool)
	Version string

	// ConfigFile is the file that gives what neither flag nor environment does; empty for none.
	ConfigFile string
	// Endpoints are the members a client command tries, as host:port.
	Endpoints []string
	// Security says whether client commands use TLS.
	Security security
	// TokenFile is the file with the text of the token that says who calls; empty for none.
	TokenFile string
	// Output is OutputText or OutputJSON.
	Output string
	// Timeout bounds one call of a client command.
	Timeout time.Duration
	// FirstAnswerMin is the least time for which what is followed may say nothing at its beginning; zero is TimeoutDefault.
	FirstAnswerMin time.Duration

	// Started tells that a command's own code ran, so that an error is not one of usage.
	Started bool
}

// Validate checks the global flags, and replaces the endpoints by the addresses that they mean.
func (e *Environment) Validate() error {
	if e.Output != OutputText && e.Output != OutputJSON {
		return UsageError("--output is %q; it must be text or json", e.Output)
	}
	if e.Timeout <= 0 {
		return UsageError("--timeout is %v; it must be more than zero", e.Timeout)
	}
	if len(e.Endpoints) == 0 {
		return UsageError("--endpoints is empty; give at least one host:port")
	}
	endpoints, err := e.Security.memberEndpoints(e.Endpoints)
	if err != nil {
		return err
	}
	e.Endpoints = endpoints
	return e.Security.validate()
}
