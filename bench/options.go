package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
)

// Names of the workloads, as the flag and the report spell them.
const (
	workFsync    = "fdatasync"
	workEcho     = "echo"
	workPut      = "put"
	workGet      = "get"
	workLock     = "lock"
	workRenew    = "renew"
	workWatch    = "watch"
	workSessions = "sessions"
	workWatchers = "watchers"
	workHandover = "handover"
	workFailover = "failover"
	workOutage   = "outage"
	workRestart  = "restart"
	workWear     = "wear"
	workCrowd    = "crowd"
	workWide     = "wide"
	workFleet    = "fleet"
	workConsul   = "consul"
	workSecure   = "secure"
	workRules    = "rules"
	workOnce     = "once"
)

var workloadNames = []string{
	workFsync, workEcho, workPut, workGet, workLock, workHandover, workRenew, workWatch, workSessions, workWatchers,
	workFailover, workOutage, workRestart, workWear, workCrowd, workWide, workFleet, workConsul, workSecure, workRules, workOnce,
}

// options says what to measure and how long.
type options struct {
	binary     string        // the tenure program
	serveFlags []string      // further flags for tenure serve
	workloads  []string      // what to measure
	clients    []int         // numbers of clients
	rounds     int           // how often each cell is measured
	duration   time.Duration // measured time of a cell
	warmup     time.Duration // time before it that does not count
	dir        string        // where the temporary directory is made; decides the disk
	output     string        // file for the JSON report
	profileDir string        // directory for profiles of the member
	valueBytes int           // size of values
	keys       int           // number of keys for put and get
	sessions   int           // live sessions for sessions and renew
	watchers   int           // idle watchers
	agents     int           // agents of the fleet
	conns      int           // most client connections of a cell
	members    int           // members of the cluster
	restart    int           // keys that a restart has to find again
	libraries  []library     // further libraries whose callers the outage is measured with

	memberFlags func(member string) []string // flags that differ between members; nil: none
	dial        []grpc.DialOption            // how members are called; nil: without TLS
}

// flagsOf returns the flags of a member that its place in the cluster does not say.
func (o options) flagsOf(member string) []string {
	if o.memberFlags == nil {
		return o.serveFlags
	}
	return append(o.memberFlags(member), o.serveFlags...)
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	var workloads, clients, serveFlags string
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.binary, "binary", os.Getenv("TENURE_BINARY"), "the tenure program; default $TENURE_BINARY")
	fs.StringVar(&serveFlags, "serve-flags", "", "further flags for tenure serve, separated by spaces")
	fs.StringVar(&workloads, "workloads", "all", "what to measure: all, or some of "+strings.Join(workloadNames, ","))
	fs.IntVar(&o.members, "members", 1, "members of the cluster that is measured, all on this machine")
	fs.IntVar(&o.restart, "restart-keys", 1_000_000, "keys that a member has when its restart is measured")
	fs.StringVar(&clients, "clients", "1,16,64,256", "numbers of clients")
	fs.IntVar(&o.rounds, "rounds", 3, "how often everything is measured; the report gives medians")
	fs.DurationVar(&o.duration, "duration", 2*time.Second, "measured time of one cell in one round")
	fs.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "time before it that does not count")
	fs.StringVar(&o.dir, "dir", "", "directory on the disk to measure; default the system's for temporary files")
	fs.StringVar(&o.output, "o", "", "file for the report as JSON")
	fs.StringVar(&o.profileDir, "profile", "", "directory for CPU profiles of every member in each cell, and heap profiles")
	fs.IntVar(&o.valueBytes, "value-bytes", 256, "size of values")
	fs.IntVar(&o.keys, "keys", 10_000, "number of keys for put and get")
	fs.IntVar(&o.sessions, "sessions", 200_000, "live sessions when their memory is measured; renewals use half of it")
	fs.IntVar(&o.watchers, "watchers", 10_000, "idle watchers when their memory is measured")
	fs.IntVar(&o.agents, "agents", 1_000, "agents that register and report at once")
	fs.Func("library", "NAME=COMMAND: measure the outage with callers of this library, too: a program such as puts/puts.py; may be repeated", func(text string) error {
		l, err := parseLibrary(text)
		o.libraries = append(o.libraries, l)
		return err
	})
	fs.IntVar(&o.conns, "conns", 16, "most client connections of one cell; fewer clients have one each")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	o.serveFlags = strings.Fields(serveFlags)
	var err error
	if o.workloads, err = parseWorkloads(workloads); err != nil {
		return o, err
	}
	if o.clients, err = parseClients(clients); err != nil {
		return o, err
	}
	return o, o.check()
}

func (o options) check() error {
	switch {
	case o.binary == "":
		return errors.New("no program to measure: set -binary or TENURE_BINARY; make bench does")
	case o.rounds < 1:
		return errors.New("-rounds must be at least 1")
	case o.duration <= 0 || o.warmup < 0:
		return errors.New("-duration must be positive and -warmup not negative")
	case o.valueBytes < 0 || o.valueBytes > 512<<10:
		return errors.New("-value-bytes must be 0 to 524288")
	case o.members < 1 || o.members > membersMax:
		return fmt.Errorf("-members must be 1 to %d", membersMax)
	case o.has(workFailover) && o.members < failoverMembers && len(o.workloads) < len(workloadNames):
		return fmt.Errorf("%s needs -members %d or more", workFailover, failoverMembers)
	case o.has(workOutage) && o.members < failoverMembers && len(o.workloads) < len(workloadNames):
		return fmt.Errorf("%s needs -members %d or more", workOutage, failoverMembers)
	case o.restart < 1:
		return errors.New("-restart-keys must be at least 1")
	case o.keys < 1 || o.sessions < 1 || o.watchers < 1 || o.agents < 1 || o.conns < 1:
		return errors.New("-keys, -sessions, -watchers, -agents and -conns must be at least 1")
	}
	return nil
}

const (
	membersMax      = 7
	failoverMembers = 3
)

func (o options) has(workload string) bool { return slices.Contains(o.workloads, workload) }

// library is a program that puts with a client library: see startProgramLoad.
type library struct {
	name    string
	command []string
}

func parseLibrary(text string) (library, error) {
	name, command, _ := strings.Cut(text, "=")
	l := library{name, strings.Fields(command)}
	if name == "" || len(l.command) == 0 {
		return l, fmt.Errorf("%q is not NAME=COMMAND", text)
	}
	return l, nil
}

func parseWorkloads(text string) ([]string, error) {
	if text == "all" {
		return workloadNames, nil
	}
	names := strings.Split(text, ",")
	for _, name := range names {
		if !slices.Contains(workloadNames, name) {
			return nil, fmt.Errorf("unknown workload %q; there are %s", name, strings.Join(workloadNames, ", "))
		}
	}
	return names, nil
}

func parseClients(text string) ([]int, error) {
	var counts []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > 100_000 {
			return nil, fmt.Errorf("-clients: %q is not a number of clients", part)
		}
		counts = append(counts, n)
	}
	return counts, nil
}
