package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// lease is what a command runs under.
type lease interface {
	// TTL returns how long it lasts after a renewal; zero is without end.
	TTL() time.Duration
	// SafeFor returns how long it lasts for certain if it is not renewed any more.
	SafeFor() time.Duration
	// RanOut tells that it once was not renewed in time: it is over then, also if the session goes on.
	RanOut() bool
	// Refusal returns why the cluster refuses to renew it; nil if it does not.
	Refusal() error
}

// sessionLease is the lease of a command that hangs on a session alone: whatever it went through, it lives or it does not.
type sessionLease struct{ *tenure.Session }

// RanOut is false: the session's end is told by the session.
func (sessionLease) RanOut() bool { return false }

// holdLease is the lease of a command that hangs on a lock. The library gives a hold back whose lease ran out.
type holdLease struct {
	*tenure.Session

	held *tenure.Held
}

// RanOut tells whether the hold is given back.
func (l holdLease) RanOut() bool { return l.held.Cause() == tenure.EndLeaseRanOut }

// Exit codes of commands that run a command under a lease.
const (
	// exitNotHad says that the lock was not acquired in time.
	exitNotHad = 75
	// exitLost says that the lock, or the session, was lost before the command ended.
	exitLost = 76
)

// killAfterDefault is how long a command may take to end when it is told to, unless the TTL is short.
const killAfterDefault = 5 * time.Second

// guarded runs a command that may run only while a session lives. When the lease nears its end the command is terminated,
// and killed before the cluster can give away what the session holds.
type guarded struct {
	lease lease
	// vigil is told what hangs on the lease.
	vigil *vigil
	// grace is how long before its end the command is told.
	grace time.Duration
	// signals are passed on.
	signals <-chan os.Signal
	// losses tells that what the command depends on is lost, and how; nil errors mean nothing.
	losses <-chan error
	note   func(format string, args ...any)
	// what the command depends on, for people.
	what      string
	program   string
	argv      []string
	variables []string
	streams   streams
}

// run runs the command to its end. It returns the command's exit code, or exitLost.
func (g *guarded) run() (int, error) {
	dog := &watchdog{grace: g.grace, deadline: g.lease.SafeFor(), unlimited: g.lease.TTL() == 0}
	g.vigil.hangs(stake{text: g.what + " is safe"})
	defer g.vigil.hangs(stake{})
	if err := g.awaitSafety(); err != nil {
		return exitLost, err
	}
	g.vigil.hangs(stake{text: g.what + " is safe", command: true, grace: g.grace})
	guardian, err := startGuardian()
	if err != nil {
		return exitNotExecutable, &exitError{code: exitNotExecutable, err: err}
	}
	defer guardian.dismiss()
	p, err := startProcess(g.program, g.argv, g.variables, g.streams)
	if err != nil {
		return exitNotExecutable, err
	}
	guardian.guards(p.cmd.Process.Pid, g.grace)
	g.watch(p, dog)
	switch {
	case dog.ended():
		return exitLost, nil
	case p.failed != nil:
		return exitRefused, p.failed
	}
	return p.exitCode(), nil
}

// awaitSafety waits until the lease is good for long enough to begin: it may have aged while the lock was waited for.
func (g *guarded) awaitSafety() error {
	if g.lease.TTL() == 0 {
		return nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case err := <-g.losses:
			if err == nil {
				continue
			}
			return &exitError{code: exitLost, err: err}
		case s := <-g.signals:
			if ends(s) {
				return silentExit(signalExitCode(s))
			}
		case <-timer.C:
			// In this order: what is safe may run out, and what ran out is never safe again.
			switch left := g.lease.SafeFor(); {
			case g.lease.RanOut():
				return &exitError{code: exitLost, err: fmt.Errorf("lost %s before the command began: %w", g.what, g.notRenewed())}
			case left > g.grace:
				return nil
			}
			timer.Reset(stepMax)
		}
	}
}

// notRenewed returns why the lease ran out, or will.
func (g *guarded) notRenewed() error {
	if refusal := g.lease.Refusal(); refusal != nil {
		return fmt.Errorf("its renewals are refused: %w", refusal)
	}
	return errNotRenewed
}

// watch passes on signals and gives the watchdog's orders until the command has ended.
func (g *guarded) watch(p *process, dog *watchdog) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	begun := time.Now()
	var cause error // nil: the lease ran out.
	for {
		select {
		case <-p.done:
			return
		case s := <-g.signals:
			if number, ok := s.(syscall.Signal); ok {
				p.signal(number)
			}
			continue
		case err := <-g.losses:
			if err == nil {
				continue
			}
			cause = err
			dog.lose()
		case <-timer.C:
		}
		if p.goOn() {
			g.note("The command cannot be suspended while it depends on %s; it was resumed.", g.what)
		}
		now := time.Since(begun)
		if !dog.unlimited {
			left := g.lease.SafeFor()
			if g.lease.RanOut() {
				left = 0
			}
			dog.leased(now, left)
		}
		what, wait := dog.step(now)
		if what != orderNone {
			g.vigil.hangs(stake{})
		}
		switch what {
		case orderTerminate:
			if cause == nil {
				cause = g.notRenewed()
			}
			g.note("Lost %s: %s. Terminating the command.", g.what, printable(cause.Error()))
			p.signal(syscall.SIGTERM)
		case orderKill:
			g.note("Lost %s. Killing the command.", g.what)
			p.signal(syscall.SIGKILL)
			wait = stepMax
		case orderNone:
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// killAfter returns the default of guarded.grace for a TTL; zero is none.
func killAfter(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return killAfterDefault
	}
	return min(killAfterDefault, ttl/3)
}
