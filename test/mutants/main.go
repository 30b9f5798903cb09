// Mutants changes the product in small ways, one at a time, and looks whether a test notices.
//
// Each mutant is one edit of one file: an operator swapped, a condition negated, a number off by one, a sync or a lock
// left out. It is put in by go's -overlay, so the checkout stays as it is. A mutant is killed if the tests of its package,
// of the packages above it in the same room, or some seeds of the simulator fail. One that survives all of them shows what
// no test looks at, or a line that does not matter.
//
//	go run ./test/mutants -count 120 -seed 1 -out mutants.jsonl
//
// The same seed chooses the same mutants, but for those of functions that changed; with -out a run that was interrupted continues where it
// stopped, also in a later tree.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "Error!", err)
		os.Exit(1)
	}
}

// say prints a line of the report. A terminal that is gone does not stop the run.
func say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

// settings are the flags.
type settings struct {
	count, seeds int
	seed         uint64
	limit, total time.Duration
	rooms, out   string
}

func run() error {
	var s settings
	flag.IntVar(&s.count, "count", 120, "how many mutants to judge")
	flag.Uint64Var(&s.seed, "seed", 1, "chooses the mutants")
	flag.IntVar(&s.seeds, "sim-seeds", 20, "seeds of the simulator for a mutant that the tests of its room let live")
	flag.DurationVar(&s.limit, "limit", 2*time.Minute, "longest time for one run of tests, or five times what it takes without a mutant")
	flag.DurationVar(&s.total, "total", 4*time.Hour, "no mutant is begun after this time")
	flag.StringVar(&s.rooms, "rooms", "storage,raftnode,server", "folders to change")
	flag.StringVar(&s.out, "out", "", "file that gets one JSON line a mutant; those that are in it already are not judged again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	all, err := sites(strings.Split(s.rooms, ","))
	if err != nil {
		return err
	}
	chosen := choose(all, s.count, s.seed)
	say("%d places to change, %d chosen\n", len(all), len(chosen))
	before, err := read(s.out)
	if err != nil {
		return err
	}
	j := judge{settings: s, usual: map[string]time.Duration{}}
	results := make([]result, 0, len(chosen))
	started := time.Now()
	for i, m := range chosen {
		r, known := before[m.name()]
		if !known {
			if time.Since(started) > s.total {
				say("%d mutants were not begun in %v\n", len(chosen)-i, s.total)
				break
			}
			if r, err = j.judge(ctx, m); err != nil {
				return err
			}
			if err = write(s.out, r); err != nil {
				return err
			}
		}
		results = append(results, r)
		say("%4d/%d  %-9s %s  %s\n", i+1, len(chosen), r.Verdict, r.Mutant, r.By)
	}
	summarize(results)
	return nil
}

// summarize prints the counts, and the survivors once more.
func summarize(results []result) {
	counts := map[string]int{}
	for _, r := range results {
		counts[r.Verdict]++
	}
	say("%d killed, %d survived, %d did not compile\n", counts[killed], counts[survived], counts[broken])
	for _, r := range results {
		if r.Verdict == survived {
			say("survived: %s\n", r.Mutant)
		}
	}
}

// choose returns a number of mutants: kinds in turn, so that the many operators do not crowd out the few syncs. Each has drawn a lot of its own,
// so that a change of some code does not choose others everywhere.
func choose(all []mutant, count int, seed uint64) []mutant {
	slices.SortStableFunc(all, func(a, b mutant) int { return cmp.Compare(a.lot(seed), b.lot(seed)) })
	byKind := map[string][]mutant{}
	for _, m := range all {
		byKind[m.Kind] = append(byKind[m.Kind], m)
	}
	var chosen []mutant
	for len(chosen) < count {
		before := len(chosen)
		for _, kind := range kinds {
			if left := byKind[kind]; len(left) > 0 && len(chosen) < count {
				chosen, byKind[kind] = append(chosen, left[0]), left[1:]
			}
		}
		if len(chosen) == before {
			break
		}
	}
	return chosen
}

// What became of a mutant.
const (
	killed   = "killed"
	survived = "survived"
	broken   = "broken" // It does not compile.
)

// result is what became of a mutant, and which tests said so.
type result struct {
	Name    string `json:"name"`
	Mutant  string `json:"mutant"`
	Verdict string `json:"verdict"`
	By      string `json:"by,omitempty"`
}

// judge runs tests with a mutant in place.
type judge struct {
	settings

	usual map[string]time.Duration // how long a run takes without a mutant
}

func (j *judge) judge(ctx context.Context, m mutant) (result, error) {
	r := result{Name: m.name(), Mutant: m.String()}
	overlay, remove, err := m.overlay()
	if err != nil {
		return r, err
	}
	defer remove()
	if _, err = j.goes(ctx, time.Hour, "build", "-overlay", overlay, "./"+filepath.Dir(m.File)); err != nil {
		r.Verdict = broken
		return r, ctx.Err()
	}
	for _, tests := range j.tests(m) {
		limit, err := j.limitOf(ctx, tests)
		if err != nil {
			return r, err
		}
		said, err := j.goes(ctx, limit, append([]string{"test", "-failfast", "-overlay", overlay}, tests...)...)
		if err != nil {
			r.Verdict, r.By = killed, packageOf(tests)+" "+blame(said)
			return r, ctx.Err()
		}
	}
	r.Verdict = survived
	return r, nil
}

// packageOf returns the package among the arguments of a run.
func packageOf(tests []string) string {
	return tests[slices.IndexFunc(tests, func(a string) bool { return strings.HasPrefix(a, "./") })]
}

// failed finds what says that a test failed, or what else ended the run.
var failed = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)|^(panic: .*|fatal error: .*)`)

// blame returns what a run that did not pass says of the reason: the innermost test that failed, a panic, or else its last line.
func blame(said []byte) string {
	all := failed.FindAllSubmatch(said, -1)
	if len(all) == 0 {
		lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
		return string(lines[len(lines)-1])
	}
	for _, found := range all {
		if len(found[2]) > 0 {
			return string(found[2])
		}
	}
	return string(all[len(all)-1][1])
}

// tests returns the runs that judge a mutant: its own package, those above it in its room, the simulator. A lock that is left out is
// hunted by the race detector; without it tests would notice by chance.
func (j *judge) tests(m mutant) (runs [][]string) {
	flags := []string{"-count=1", "-vet=off"}
	if m.Kind == kindLeftOut && strings.Contains(m.was, "Lock()") {
		flags = append(flags, "-race")
	}
	for dir := filepath.Dir(m.File); dir != "."; dir = filepath.Dir(dir) {
		runs = append(runs, append(slices.Clip(flags), "./"+dir))
	}
	return append(runs, []string{"-count=1", "-vet=off", "-run=TestSeeds|TestPlans", "./test/sim", "-seeds", strconv.Itoa(j.seeds)})
}

// limitOf returns how long a run may take. Without a mutant it must pass.
func (j *judge) limitOf(ctx context.Context, tests []string) (time.Duration, error) {
	name := strings.Join(tests, " ")
	if _, ok := j.usual[name]; !ok {
		started := time.Now()
		if said, err := j.goes(ctx, time.Hour, append([]string{"test"}, tests...)...); err != nil {
			return 0, fmt.Errorf("go test %s fails without a mutant: %s: %w", name, blame(said), err)
		}
		j.usual[name] = time.Since(started)
	}
	return max(j.limit, 5*j.usual[name]), nil
}

// goes runs the go command, and returns what it printed. What does not end in time is killed with the tests that it started,
// which may never end with a mutant in place.
func (j *judge) goes(ctx context.Context, limit time.Duration, args ...string) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(within, "go", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	if slices.Contains(args, "-race") {
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1") // The race detector cannot do without.
	}
	said, err := cmd.CombinedOutput()
	if within.Err() != nil {
		said = append(said, "\ndid not end in time"...)
	}
	return said, err
}

func read(file string) (map[string]result, error) {
	known := map[string]result{}
	if file == "" {
		return known, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		known[r.Name] = r
	}
	return known, lines.Err()
}

func write(file string, r result) error {
	if file == "" {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}
