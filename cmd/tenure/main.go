// Command tenure is the whole of Tenure in one binary: `tenure serve` runs a member, every other command is a client.
//
// Its exit codes are part of its contract: 0 is success, 1 means refused or not found, 2 a wrong use of the command line,
// 3 that no member answered. Commands that run another program end with that program's code, or with one of their own.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
)

// version is what `tenure version` prints; the build sets it.
var version = "dev"

func main() {
	if os.Args[0] == process.GuardianName {
		os.Exit(process.RunGuardian())
	}
	os.Exit(run())
}

// run keeps os.Exit away from deferred calls.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	env := &cli.Environment{
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Getenv:  os.LookupEnv,
		Version: version,
	}
	return execute(ctx, env, os.Args[1:])
}
