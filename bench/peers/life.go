package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// settleWait is how long a cluster that has just started is left alone before it counts as idle.
const settleWait = 5 * time.Second

// life is what a cluster with an empty state takes without a caller.
type life struct {
	start   time.Duration // until every member of a new cluster has taken a write
	restart time.Duration // the same, of one whose members were all stopped
	idle    float64       // processors that all members use while nothing happens
	memory  int64         // resident bytes of the largest member after that
	foreign float64       // part of the machine that others took meanwhile
}

// lifeKey names the lives of one system.
func lifeKey(members int, s system) key {
	return key{members: members, system: s.name()}
}

// measureLife starts a cluster, leaves it alone, stops it and starts it again.
func (b *bench) measureLife(ctx context.Context, round int, s system, members int) (err error) {
	dir, err := os.MkdirTemp(b.dir, "peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	began := time.Now()
	c, err := s.start(ctx, dir, members)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopAll(c.processes())) }()
	got := life{start: time.Since(began)}
	for try := range b.tries {
		idle, foreign, idleErr := b.measureIdle(ctx, c)
		if idleErr != nil {
			return idleErr
		}
		if try == 0 || foreign < got.foreign {
			got.idle, got.foreign = idle, foreign
		}
		if foreign <= b.foreignMax {
			break
		}
	}
	if got.memory, err = largest(c.processes()); err != nil {
		return err
	}
	if err = stopAll(c.processes()); err != nil {
		return err
	}
	began = time.Now()
	if err = c.restart(ctx); err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	got.restart = time.Since(began)
	k := lifeKey(members, s)
	b.lives[k] = append(b.lives[k], got)
	b.say("round %d  %-16s %d members  %-18s start %v, again %v, idle %.2f %%, %d MiB  others %2.0f %%\n", round+1, workLife, members, k.system,
		got.start.Round(time.Millisecond), got.restart.Round(time.Millisecond), 100*got.idle, got.memory>>20, 100*got.foreign)
	return nil
}

// measureIdle returns how many processors the members of a cluster use, and the part of the machine that others took.
func (b *bench) measureIdle(ctx context.Context, c cluster) (idle, foreign float64, err error) {
	if err = pause(ctx, settleWait); err != nil {
		return 0, 0, err
	}
	before, err := readUse(c.processes())
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err = pause(ctx, b.idle); err != nil {
		return 0, 0, err
	}
	after, err := readUse(c.processes())
	used := after.since(before)
	return used.members.Seconds() / time.Since(began).Seconds(), used.foreign(), err
}

// largest returns the resident bytes of the process that has most.
func largest(processes []*process) (int64, error) {
	var most int64
	for _, p := range processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			return 0, err
		}
		bytes, err := parseResident(string(text))
		if err != nil {
			return 0, err
		}
		most = max(most, bytes)
	}
	return most, nil
}

// parseResident reads the resident memory of /proc/PID/status.
func parseResident(status string) (int64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the status of a process has no VmRSS")
}

// again starts programs that have ended once more, as they were started before.
func again(ctx context.Context, ended []*process) ([]*process, error) {
	var all []*process
	for _, p := range ended {
		next, err := startProcess(ctx, p.log, p.cmd.Path, p.cmd.Args[1:]...)
		if err != nil {
			return nil, errors.Join(err, stopAll(all))
		}
		all = append(all, next)
	}
	return all, nil
}

// lifeTable prints what the clusters of so many members take without a caller.
func (b *bench) lifeTable(out *strings.Builder, members int) {
	fmt.Fprintf(out, "\nStart of a cluster until every member has taken a write, and what it takes while nothing happens; members: %d\n\n| system | start ms | start again ms | idle, %% of a processor | largest member MiB | program MiB | others |\n|---|---:|---:|---:|---:|---:|---:|\n",
		members)
	for _, s := range b.systems {
		all := b.lives[lifeKey(members, s)]
		if len(all) == 0 {
			fmt.Fprintf(out, "| %s | - | - | - | - | %s | - |\n", s.name(), sizeOf(s))
			continue
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %.0f | %s | %.0f %% |\n", s.name(),
			spread("%.0f", all, func(l life) float64 { return ms(l.start) }), spread("%.0f", all, func(l life) float64 { return ms(l.restart) }),
			spread("%.2f", all, func(l life) float64 { return 100 * l.idle }), median(all, func(l life) float64 { return float64(l.memory >> 20) }), sizeOf(s),
			100*median(all, func(l life) float64 { return l.foreign }))
	}
}

// spread writes a median, and the range in parentheses.
func spread[S any](format string, samples []S, figure func(S) float64) string {
	low, high := bounds(samples, figure)
	return fmt.Sprintf(format+" ("+format+"–"+format+")", median(samples, figure), low, high)
}

// sizeOf writes how large the program of a system is, if it is one file.
func sizeOf(s system) string {
	info, err := os.Stat(s.file())
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(info.Size())/(1<<20))
}
