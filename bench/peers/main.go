package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = `Usage: peers [flags]

Measures Tenure beside etcd and ZooKeeper, and prints tables in Markdown.

Examples:
  peers -tenure bin/tenure -etcd .bin/etcd -zookeeper "$(cat .build/zookeeper.classpath)"
  peers -tenure bin/tenure -etcd .bin/etcd -work put,lock -callers 64 -rounds 5

A system whose flag is empty is left out.

Flags:
`

// options say what is measured.
type options struct {
	tenure, etcd string   // programs
	zookeeper    string   // class path
	work         []string // workloads, without life
	life         bool     // whether clusters without a caller are measured, too
	members      []int    // members of a cluster
	callers      []int    // callers at the same time
	rounds       int      // how often each cell is measured
	duration     time.Duration
	warmup       time.Duration
	idle         time.Duration // in which nothing happens
	foreignMax   float64       // part of the machine that others may take
	tries        int           // how often a cell is measured until they took less
	dir          string        // where data directories are made; decides the disk
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:gocritic // stop only restores signals.
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	b := &bench{options: o, systems: o.systems(ctx), progress: progress, samples: make(map[key][]sample), lives: make(map[key][]life)}
	if len(b.systems) == 0 {
		return errors.New("no system to measure: give -tenure, -etcd or -zookeeper")
	}
	begin := time.Now()
	if err = b.measureAll(ctx); err != nil && len(b.samples)+len(b.lives) == 0 {
		return err
	}
	return errors.Join(err, b.report(out, begin))
}

func parseOptions(args []string, output io.Writer) (options, error) {
	o := options{work: workNames(), members: []int{1, 3}, callers: []int{1, 16, 64, 256}}
	f := flag.NewFlagSet("peers", flag.ContinueOnError)
	f.SetOutput(output)
	f.Usage = func() {
		_, _ = io.WriteString(output, usage)
		f.PrintDefaults()
	}
	f.StringVar(&o.tenure, "tenure", "", "the tenure program")
	f.StringVar(&o.etcd, "etcd", "", "the etcd program")
	f.StringVar(&o.zookeeper, "zookeeper", "", "the class path of ZooKeeper")
	f.Func("work", "workloads (default "+strings.Join(o.work, ",")+")", func(text string) error {
		o.work = strings.Split(text, ",")
		for _, w := range o.work {
			if !slices.Contains(workNames(), w) {
				return fmt.Errorf("%q is none of %s", w, strings.Join(workNames(), ", "))
			}
		}
		return nil
	})
	f.Func("members", "members of a cluster (default 1,3)", numbers(&o.members))
	f.Func("callers", "callers at the same time (default 1,16,64,256)", numbers(&o.callers))
	f.IntVar(&o.rounds, "rounds", 3, "how often each cell is measured")
	f.DurationVar(&o.duration, "duration", 5*time.Second, "measured time of a cell")
	f.DurationVar(&o.warmup, "warmup", time.Second, "time before it that does not count")
	f.DurationVar(&o.idle, "idle", 20*time.Second, "measured time in which nothing happens, for life")
	f.Float64Var(&o.foreignMax, "foreign-max", 0.1, "part of the machine that others may take; above it a cell is measured again")
	f.IntVar(&o.tries, "tries", 5, "how often a cell is measured at most until others take less")
	f.StringVar(&o.dir, "dir", os.TempDir(), "where data directories are made; decides the disk")
	if err := f.Parse(args); err != nil {
		return options{}, err
	}
	withoutLife := slices.DeleteFunc(slices.Clone(o.work), func(w string) bool { return w == workLife })
	o.life, o.work = len(withoutLife) < len(o.work), withoutLife
	if f.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if o.rounds < 1 || o.tries < 1 || o.duration <= 0 || o.idle <= 0 || o.warmup < 0 {
		return options{}, errors.New("-rounds, -tries, -duration and -idle must be above zero, -warmup not below")
	}
	return o, nil
}

// numbers reads a list of numbers above zero.
func numbers(to *[]int) func(string) error {
	return func(text string) error {
		*to = nil
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 {
				return fmt.Errorf("%q must be a whole number above zero", part)
			}
			*to = append(*to, n)
		}
		return nil
	}
}

// systems returns what is measured, Tenure first.
func (o options) systems(ctx context.Context) []system {
	var all []system
	if o.tenure != "" {
		all = append(all, &tenureSystem{program: o.tenure, version: versionOf(ctx, o.tenure, "Tenure")})
	}
	if o.etcd != "" {
		all = append(all, &etcdSystem{program: o.etcd, version: versionOf(ctx, o.etcd, "etcd")})
	}
	if o.zookeeper != "" {
		all = append(all, &zookeeperSystem{classPath: o.zookeeper})
	}
	return all
}

// versionOf returns a system's name with the version that its program says in the last word of its first line.
func versionOf(ctx context.Context, program, name string) string {
	text, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return name // Starting it will say why.
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return name + " " + first[strings.LastIndexByte(first, ' ')+1:]
}
