package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"
	"syscall"
)

// options say what is measured, and on what.
type options struct {
	only    *regexp.Regexp // of kind and name of a case
	runs    int
	scale   int // all numbers of objects are divided by it
	keys    int // that the store has beside those of the case
	dir     string
	profile string // where a profile of the applying is written; empty: none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

// run is the program without its process: the table goes to stdout, progress to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "tenure-costs-")
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	o.dir = dir
	rows, err := measureAll(ctx, o, stderr)
	if removeErr := os.RemoveAll(dir); err == nil && removeErr != nil {
		err = fmt.Errorf("directory: %w", removeErr)
	}
	if err != nil {
		return err
	}
	return printTable(stdout, rows)
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("costs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "measure only cases whose kind and name match this expression")
	flags.IntVar(&o.runs, "runs", 5, "how often each command is applied, each time to a copy of the same store")
	flags.IntVar(&o.scale, "scale", 1, "divides all numbers of objects; 1 measures what the limits allow")
	flags.IntVar(&o.keys, "keys", 200_000, "keys of 256 bytes that the store has besides")
	flags.StringVar(&o.dir, "dir", "", "where the stores are made; the default is the directory for temporary files")
	flags.StringVar(&o.profile, "profile", "", "write a CPU profile of each applying to this file, with the number of the run behind its name")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("flags: %w", err)
	}
	if o.runs < 1 || o.scale < 1 || o.keys < 0 || flags.NArg() > 0 {
		return o, errors.New("-runs and -scale are 1 or more, -keys is not negative, and there are no arguments")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	return o, nil
}

// measureAll measures the cases that the options ask for.
func measureAll(ctx context.Context, o options, progress io.Writer) (rows []row, err error) {
	base, err := newBase(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := base.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("base: %w", closeErr)
		}
	}()
	for i, c := range cases() {
		if !o.only.MatchString(c.kind + " " + c.name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("interrupted: %w", err)
		}
		r, err := measure(o, base, c, filepath.Join(o.dir, fmt.Sprint(i)))
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.kind, c.name, err)
		}
		_, _ = fmt.Fprintf(progress, "%8.1f ms  %s: %s\n", ms(r.usual()), c.kind, c.name)
		rows = append(rows, r)
	}
	return rows, nil
}

// profiled runs do under the CPU profile, if one is wanted.
func profiled(path string, number int, do func() error) (err error) {
	if path == "" {
		return do()
	}
	f, err := os.Create(fmt.Sprintf("%s.%d", path, number))
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	if err = pprof.StartCPUProfile(f); err != nil {
		return errors.Join(fmt.Errorf("profile: %w", err), f.Close())
	}
	err = do()
	pprof.StopCPUProfile()
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("profile: %w", closeErr)
	}
	return err
}

// printTable prints a line for each case, the slowest first, and names the slowest.
func printTable(w io.Writer, rows []row) error {
	sortRows(rows)
	var b strings.Builder
	b.WriteString("| command | what makes it dear | rows written | MiB | MiB read | events | CPU ms | ms, median | ms, most | bound |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for _, r := range rows {
		verdict := "met"
		if r.over() {
			verdict = "missed"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %.1f | %.1f | %d | %.1f | %.1f | %.1f | %.0f ms: %s |\n", r.kind, r.name, r.rows, float64(r.bytes)/(1<<20),
			float64(r.read)/(1<<20), r.events, ms(r.usual()), ms(r.wall[len(r.wall)/2]), ms(r.wall[len(r.wall)-1]), ms(r.bound), verdict)
	}
	if len(rows) > 0 {
		fmt.Fprintf(&b, "\nThe slowest command is %s: %s.\n", rows[0].kind, rows[0].name)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return nil
}
