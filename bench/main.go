package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the program without its process: the report goes to stdout, progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 2 && args[0] == echoCommand {
		return serveEcho(ctx, args[1])
	}
	if len(args) == 3 && args[0] == quietCommand {
		return putQuietly(ctx, args[1], args[2])
	}
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	begin := time.Now()
	b := &bench{options: o, progress: stderr}
	if err = b.run(ctx); err != nil {
		return err
	}
	report := b.results.report(begin, o)
	if err = report.print(stdout); err != nil || o.output == "" {
		return err
	}
	return report.writeJSON(o.output)
}
