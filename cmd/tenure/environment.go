package main

import (
	"io"
	"time"
)

// Defaults of the flags that all commands share.
const (
	endpointDefault = "127.0.0.1:7400"
	timeoutDefault  = 10 * time.Second
	outputText      = "text"
	outputJSON      = "json"
)

// environment is what every command shares: its streams, the process environment and the global flags, connections by them, and how answers are
// printed. Each command is a function of its own. Flags are set when a command's RunE is called.
type environment struct {
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	getenv  func(name string) (value string, set bool)
	version string

	// configFile is the file that gives what neither flag nor environment does; empty for none.
	configFile string
	// endpoints are the members a client command tries, as host:port.
	endpoints []string
	// security says whether client commands use TLS.
	security security
	// tokenFile is the file with the text of the token that says who calls; empty for none.
	tokenFile string
	// output is outputText or outputJSON.
	output string
	// timeout bounds one call of a client command.
	timeout time.Duration
	// firstAnswerMin is the least time for which what is followed may say nothing at its beginning; zero is timeoutDefault.
	firstAnswerMin time.Duration

	// started tells that a command's own code ran, so that an error is not one of usage.
	started bool
}

// validate checks the global flags, and replaces the endpoints by the addresses that they mean.
func (e *environment) validate() error {
	if e.output != outputText && e.output != outputJSON {
		return usageError("--output is %q; it must be text or json", e.output)
	}
	if e.timeout <= 0 {
		return usageError("--timeout is %v; it must be more than zero", e.timeout)
	}
	if len(e.endpoints) == 0 {
		return usageError("--endpoints is empty; give at least one host:port")
	}
	endpoints, err := e.security.memberEndpoints(e.endpoints)
	if err != nil {
		return err
	}
	e.endpoints = endpoints
	return e.security.validate()
}
