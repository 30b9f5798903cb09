package process

import (
	"context"
	"fmt"
	"sync"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// Until the cluster's silence is told. A leader that hands over, and a member that restarts, are back before.
const (
	patienceMax   = 1500 * time.Millisecond
	patienceShare = 10 // Of the TTL, where that is less.
)

// renewEveryMax is the longest time between two renewals of a client.
const renewEveryMax = 10 * time.Second

// vital is what a vigil sees of a session.
type vital interface {
	State() (tenure.State, tenure.Cause)
	SafeFor() time.Duration
	Refusal() error
}

// Stake is what hangs on a session, for people.
type Stake struct {
	// Text is a sentence such as `the lock on "a" is safe`; empty if nothing hangs on it any more.
	Text string
	// command tells that a command runs, which is terminated a grace before the lease ends.
	command bool
	grace   time.Duration
}

// Vigil tells people when the cluster stops answering a session, until when what hangs on the session is safe, and when
// the cluster answers again. It has no clock of its own: each look says what is, and when.
type Vigil struct {
	// ttl of the session; zero is none.
	ttl time.Duration

	mu    sync.Mutex // Guards stake; run reads it while others set it.
	stake Stake

	// since is when the silence began that is not told yet; zero if there is none.
	since time.Time
	// silent tells that the silence was told, and doubtful that it lasted for longer than the lease.
	silent, doubtful bool
	// refused tells that the cluster answered: it refuses renewals.
	refused bool
}

// Hangs sets what hangs on the session from now on.
func (v *Vigil) Hangs(on Stake) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stake = on
}

// hanging returns what hangs on the session.
func (v *Vigil) hanging() Stake {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stake
}

// patience returns how long a silence stays untold.
func (v *Vigil) patience() time.Duration {
	if v.ttl == 0 {
		return patienceMax
	}
	return min(patienceMax, v.ttl/patienceShare)
}

// overdue tells whether an acknowledged renewal should have made a lease longer than it is. Renewals come every third of
// the TTL, spread by a tenth.
func (v *Vigil) overdue(left time.Duration) bool {
	if v.ttl == 0 {
		return false
	}
	every := min(v.ttl/3, renewEveryMax)
	return v.ttl-left > every+every/10+v.ttl/50+v.patience()
}

// look returns what to tell, or nothing. left is how long the lease lasts from now on; refusal says why renewals are refused, if they are.
func (v *Vigil) look(now time.Time, state tenure.State, left time.Duration, refusal error) string {
	late := v.overdue(left)
	if refusal != nil && !v.refused && state != tenure.StateClosed && state != tenure.StateJeopardy {
		v.refused, v.silent = true, true
		return v.trouble("Renewals are refused: "+cli.Printable(refusal.Error()), now, left, "Unless that changes, the command is terminated")
	}
	switch {
	case state == tenure.StateClosed:
		return "" // How it ended is told by who depends on it.
	case state == tenure.StateJeopardy:
		if v.doubtful {
			return ""
		}
		v.silent, v.doubtful = true, true
		switch {
		case v.hanging().command:
			return "" // The command's end is told.
		case v.refused:
			return "Renewals were refused for too long: the session may have expired. Still trying."
		}
		return "The cluster did not answer in time: the session may have expired. Still trying."
	case state != tenure.StateSuspended && !late && refusal == nil:
		told, refused := v.silent, v.refused
		v.since, v.silent, v.doubtful, v.refused = time.Time{}, false, false, false
		switch {
		case !told:
			return ""
		case refused:
			return "Renewals are accepted again" + v.after("; ") + "."
		default:
			return "The cluster answers again" + v.after("; ") + "."
		}
	case v.silent:
		return ""
	case v.since.IsZero():
		v.since = now
	}
	if !late && now.Sub(v.since) < v.patience() {
		return ""
	}
	v.silent = true
	return v.trouble("The cluster does not answer", now, left, "Without an answer the command is terminated")
}

// trouble returns why the session is not renewed, and what that means: the end of a command, if one runs.
func (v *Vigil) trouble(why string, now time.Time, left time.Duration, end string) string {
	on := v.hanging()
	text := why + v.after("; ")
	if v.ttl == 0 || on.Text == "" {
		return text + ". Still trying."
	}
	text += fmt.Sprintf(" until %s (%v more).", now.Add(left).UTC().Format(time.RFC3339), left.Truncate(100*time.Millisecond))
	if !on.command {
		return text + " Still trying."
	}
	return text + fmt.Sprintf(" %s in %v.", end, max(0, left-on.grace).Truncate(100*time.Millisecond))
}

// after returns what hangs on the session, if anything, after a separator.
func (v *Vigil) after(separator string) string {
	if on := v.hanging(); on.Text != "" {
		return separator + on.Text
	}
	return ""
}

// run looks at a session until ctx ends, and notes what is to be told.
func (v *Vigil) run(ctx context.Context, s vital, note func(format string, args ...any)) {
	for {
		state, _ := s.State()
		if text := v.look(time.Now(), state, s.SafeFor(), s.Refusal()); text != "" {
			note("%s", text)
		}
		if !cli.PauseFor(ctx, stepMax) {
			return
		}
	}
}

// KeepVigil tells people what becomes of a session, from a goroutine of its own, until stop is called.
func KeepVigil(ctx context.Context, e *cli.Environment, s *tenure.Session) (v *Vigil, stop func()) {
	v = &Vigil{ttl: s.TTL(), stake: Stake{Text: "session " + s.ID() + " is alive"}}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { v.run(ctx, s, e.Notef) })
	return v, func() {
		cancel()
		watching.Wait()
	}
}
