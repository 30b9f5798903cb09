package process

import (
	"fmt"
	"os"
	"syscall"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
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

// SessionLease is the lease of a command that hangs on a session alone: whatever it went through, it lives or it does not.
type SessionLease struct{ *tenure.Session }

// RanOut is false: the session's end is told by the session.
func (SessionLease) RanOut() bool { return false }

// HoldLease is the lease of a command that hangs on a lock. The library gives a hold back whose lease ran out.
type HoldLease struct {
	*tenure.Session

	Held *tenure.Held
}

// RanOut tells whether the hold is given back.
func (l HoldLease) RanOut() bool { return l.Held.Cause() == tenure.EndLeaseRanOut }

// Exit codes of commands that run a command under a lease.
const (
	// ExitNotHad says that the lock was not acquired in time.
	ExitNotHad = 75
	// ExitLost says that the lock, or the session, was lost before the command ended.
	ExitLost = 76
)

// killAfterDefault is how long a command may take to end when it is told to, unless the TTL is short.
const killAfterDefault = 5 * time.Second

// Guarded runs a command that may run only while a session lives. When the lease nears its end the command is terminated,
// and killed before the cluster can give away what the session holds.
type Guarded struct {
	Lease lease
	// Vigil is told what hangs on the lease.
	Vigil *Vigil
	// Grace is how long before its end the command is told.
	Grace time.Duration
	// Signals are passed on.
	Signals <-chan os.Signal
	// Losses tells that what the command depends on is lost, and how; nil errors mean nothing.
	Losses <-chan error
	Note   func(format string, args ...any)
	// What the command depends on, for people.
	What      string
	Program   string
	Argv      []string
	Variables []string
	Streams   Streams
}

// Run runs the command to its end. It returns the command's exit code, or ExitLost.
func (g *Guarded) Run() (int, error) {
	dog := &watchdog{grace: g.Grace, deadline: g.Lease.SafeFor(), unlimited: g.Lease.TTL() == 0}
	g.Vigil.Hangs(Stake{Text: g.What + " is safe"})
	defer g.Vigil.Hangs(Stake{})
	if err := g.awaitSafety(); err != nil {
		return ExitLost, err
	}
	g.Vigil.Hangs(Stake{Text: g.What + " is safe", command: true, grace: g.Grace})
	guardian, err := startGuardian()
	if err != nil {
		return exitNotExecutable, &cli.ExitError{Code: exitNotExecutable, Err: err}
	}
	defer guardian.dismiss()
	p, err := Start(g.Program, g.Argv, g.Variables, g.Streams)
	if err != nil {
		return exitNotExecutable, err
	}
	guardian.guards(p.group(), g.Grace)
	g.watch(p, dog, guardian)
	switch {
	case dog.ended():
		return ExitLost, nil
	case p.Failed != nil:
		return cli.ExitRefused, p.Failed
	}
	return p.ExitCode(), nil
}

// awaitSafety waits until the lease is good for long enough to begin: it may have aged while the lock was waited for.
func (g *Guarded) awaitSafety() error {
	if g.Lease.TTL() == 0 {
		return nil
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case err := <-g.Losses:
			if err == nil {
				continue
			}
			return &cli.ExitError{Code: ExitLost, Err: err}
		case s := <-g.Signals:
			if Ends(s) {
				return cli.SilentExit(SignalExitCode(s))
			}
		case <-timer.C:
			// In this order: what is safe may run out, and what ran out is never safe again.
			switch left := g.Lease.SafeFor(); {
			case g.Lease.RanOut():
				return &cli.ExitError{Code: ExitLost, Err: fmt.Errorf("lost %s before the command started: %w", g.What, g.notRenewed())}
			case left > g.Grace:
				return nil
			}
			timer.Reset(stepMax)
		}
	}
}

// notRenewed returns why the lease ran out, or will.
func (g *Guarded) notRenewed() error {
	if refusal := g.Lease.Refusal(); refusal != nil {
		return fmt.Errorf("its renewals are refused: %w", refusal)
	}
	return cli.ErrNotRenewed
}

// watch passes on signals and gives the watchdog's orders until the command has ended. Where it was ordered to end, the processes that it
// started have ended, too, or were killed a while ago. The guardian is given each order, in case that this program dies before it is carried out.
func (g *Guarded) watch(p *Process, dog *watchdog, guardian *guardian) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	begun := time.Now()
	var cause error // nil: the lease ran out.
	var asked request
	done := p.Done
	for {
		select {
		case <-done:
			if !dog.ended() {
				return
			}
			done = nil // What it started may be left.
			timer.Reset(0)
			continue
		case s := <-g.Signals:
			asked.pass(s, p, time.Since(begun))
			continue
		case err := <-g.Losses:
			if err == nil {
				continue
			}
			cause = err
			dog.lose()
		case <-timer.C:
			if done == nil && (dog.killed(time.Since(begun)) || !groupLives(p.group())) {
				return
			}
		}
		if p.goOn() {
			g.Note("The command cannot be suspended while it depends on %s; it was resumed.", g.What)
		}
		now := time.Since(begun)
		if !dog.ended() && asked.overdue(now) {
			g.Note("Waiting for the command to end; %s is kept until then.", g.What)
		}
		if !dog.unlimited {
			dog.leased(now, g.left())
		}
		what, wait := dog.step(now)
		if what != orderNone {
			g.carryOut(what, wait, cause, p, guardian)
		}
		if done == nil {
			wait = min(wait, guardianPoll)
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}

// requestPatience is how long a command may take to end when it is asked to, before people are told what keeps them.
const requestPatience = time.Second

// request is what a signal asks of a command: to end. It has no clock of its own.
type request struct {
	at          time.Duration
	made, noted bool
}

// pass passes a signal on to a command.
func (r *request) pass(s os.Signal, p *Process, now time.Duration) {
	if number, ok := s.(syscall.Signal); ok {
		p.Signal(number)
	}
	if Ends(s) && !r.made {
		r.made, r.at = true, now
	}
}

// overdue reports, once, whether the command goes on although it was asked to end a while ago.
func (r *request) overdue(now time.Duration) bool {
	if !r.made || r.noted || now-r.at < requestPatience {
		return false
	}
	r.noted = true
	return true
}

// left returns how long the lease lasts.
func (g *Guarded) left() time.Duration {
	if g.Lease.RanOut() {
		return 0
	}
	return g.Lease.SafeFor()
}

// carryOut gives an order to a command, and to its guardian how long the command then has. cause is nil if the lease ran out.
func (g *Guarded) carryOut(what order, wait time.Duration, cause error, p *Process, guardian *guardian) {
	g.Vigil.Hangs(Stake{})
	if what == orderKill {
		g.Note("Lost %s. Killing the command.", g.What)
		guardian.guards(p.group(), 0)
		signalGroup(p.group(), syscall.SIGKILL) // Also if only what it started is left.
		return
	}
	if cause == nil {
		cause = g.notRenewed()
	}
	g.Note("Lost %s: %s. Terminating the command.", g.What, cli.Printable(cause.Error()))
	guardian.guards(p.group(), wait)
	p.Signal(syscall.SIGTERM)
}

// KillAfter returns the default of Guarded.Grace for a TTL; zero is none.
func KillAfter(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return killAfterDefault
	}
	return min(killAfterDefault, ttl/3)
}
