package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenure-io/tenure/clients/conformance/driver"
)

// belief is one possession of a lock by one process, as seen from here: the process said that it was safe in an answer to a question
// asked after first was answered, and before last was asked. So it believed from first to last, by the one clock of this machine.
type belief struct {
	key         string
	token       uint64
	agent       int
	language    string
	first, last time.Time
}

// write is a guarded write of a process: accepted at a revision, or refused.
type write struct {
	key      string
	token    uint64
	revision uint64 // Zero: refused.
}

// grant is a lock that a process was given, whether or not it was ever seen to believe in it.
type grant struct {
	key   string
	token uint64
}

// beliefs collects what all processes do.
type beliefs struct {
	languages []*driver.Language

	mu      sync.Mutex // Guards what follows.
	held    []belief
	grants  []grant
	writes  []write
	holding map[int]bool // By agent.
	losses  int          // Locks that were lost while somebody believed in them.
	opened  int
	trouble map[string]int // By language and kind.
}

// contest is the form of a belief test.
type contest struct {
	processes int
	locks     int
	length    time.Duration
	// Floors.
	possessions, pauses, partitions, blackouts, leaderKills, losses, refused int
	// Each language must have had so many possessions, and so many of the locks.
	possessionsEach, locksEach int
}

// lease is the TTL in a contest: the shortest that there is.
const lease = 2 * time.Second

func TestNoTwoProcessesBelieveInTheSameLockAtOnce(t *testing.T) {
	form := contest{
		processes: 8, locks: 3, length: 20 * time.Second,
		possessions: 20, pauses: 2, partitions: 1, blackouts: 1, leaderKills: 1, losses: 1, refused: 1, possessionsEach: 1, locksEach: 1,
	}
	if os.Getenv("TENURE_CONFORMANCE") == "all" || os.Getenv("TENURE_SOAK") == "1" {
		form = contest{
			processes: 50, locks: 5, length: 2 * time.Minute,
			possessions: 200, pauses: 10, partitions: 5, blackouts: 3, leaderKills: 3, losses: 10, refused: 1, possessionsEach: 10, locksEach: 5,
		}
	}
	languages := foundLanguages(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := driver.StartCluster(ctx, t, binary, 3, "")
	defer c.Close()
	agents := make([]*driver.Agent, form.processes)
	for i := range agents {
		a, _, err := driver.StartAgent(languages[i%len(languages)], 2*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		agents[i] = a
		defer a.Kill()
	}
	var all sync.WaitGroup
	b := &beliefs{languages: languages, holding: map[int]bool{}, trouble: map[string]int{}}
	running, stop := context.WithCancel(ctx)
	defer stop()
	f := &faults{cluster: c, agents: agents, beliefs: b}
	all.Go(func() {
		defer stop()
		rest(running, form.length)
		// A loaded machine needs longer for the same.
		for n := 0; n < 300 && !b.enough(form, f) && running.Err() == nil; n++ {
			rest(running, time.Second)
		}
	})
	for i, a := range agents {
		all.Go(func() {
			p := &process{
				beliefs: b, agent: a, number: i, language: languages[i%len(languages)].Name, locks: form.locks,
				uri: "tenure://" + strings.Join(c.Addresses(), ",") + "/belief",
			}
			if err := p.run(running); err != nil {
				t.Errorf("process %d (%s): %v", i, p.language, err)
			}
		})
	}
	f.run(running, t)
	all.Wait()
	b.judge(t, form, f)
}

// foundLanguages returns the languages whose agents there are.
func foundLanguages(t *testing.T) []*driver.Language {
	t.Helper()
	var found []*driver.Language
	for _, name := range []string{"go", "java", "python", "python-asyncio"} {
		if only := os.Getenv("TENURE_CONFORMANCE_LANGUAGES"); only != "" && !slices.Contains(strings.Split(only, ","), name) {
			continue
		}
		t.Run("find "+name, func(t *testing.T) { found = append(found, agents[name](t)) })
	}
	if len(found) == 0 {
		t.Fatal("there is no agent")
	}
	return found
}

// process is what one process does: it takes locks, believes, writes, and gives them back.
type process struct {
	*beliefs

	agent    *driver.Agent
	number   int
	language string
	locks    int
	uri      string
}

// answerPatience is how long an answer may take: the process may be paused, the cluster without leader.
const answerPatience = 3 * time.Minute

// afterTrouble is how long a process rests after an error that faults explain: one that comes at once would come again and again.
const afterTrouble = 100 * time.Millisecond

func (p *process) run(ctx context.Context) error {
	if _, err := p.agent.Do("client.open", "", "c", map[string]any{"uri": p.uri}, answerPatience); err != nil {
		return err
	}
	for open := false; ctx.Err() == nil; {
		if !open {
			if _, err := p.agent.Do("session.open", "c", "s", map[string]any{
				"ttl_ms": lease.Milliseconds(), "lock_delay_ms": 0, "wait_ms": 10_000,
			}, answerPatience); err != nil {
				if err = p.passes(err); err != nil {
					return err
				}
				rest(ctx, afterTrouble)
				continue
			}
			p.count(func() { p.opened++ })
			open = true
		}
		err := p.possess(ctx)
		var f *driver.AnswerError
		switch {
		case err == nil:
		case errors.As(err, &f) && (f.Kind == "session_expired" || f.Kind == "session_closed"):
			open = false
		default:
			if err = p.passes(err); err != nil {
				return err
			}
			rest(ctx, afterTrouble)
		}
	}
	return nil
}

// passes returns an error, unless it is one that faults explain.
func (p *process) passes(err error) error {
	var f *driver.AnswerError
	if !errors.As(err, &f) {
		return err
	}
	p.count(func() { p.trouble[p.language+" "+f.Kind]++ })
	switch f.Kind {
	case "timeout", "unavailable", "outcome_unknown", "not_held", "stale_token", "cancelled":
		return nil
	default:
		return err
	}
}

func (p *process) count(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// possess takes a lock once.
func (p *process) possess(ctx context.Context) error {
	key := fmt.Sprintf("lock-%d", rand.IntN(p.locks))
	value, err := p.agent.Do("lock.acquire", "s", "h", map[string]any{"key": key, "wait_ms": 5000}, answerPatience)
	if err != nil {
		return err
	}
	token, _ := value["token"].(float64)
	b := belief{key: key, token: uint64(token), agent: p.number, language: p.language}
	p.count(func() {
		p.grants = append(p.grants, grant{key: key, token: b.token})
		p.holding[p.number] = true
	})
	defer p.count(func() { delete(p.holding, p.number) })
	if err = p.believe(ctx, &b); err != nil {
		return err
	}
	// The write goes out without another look: what a program does that was paused just before.
	put, err := p.agent.Do("kv.put", "c", "", map[string]any{"key": "data/" + key, "value": "x", "guard": "h"}, answerPatience)
	var f *driver.AnswerError
	switch {
	case err == nil:
		revision, _ := put["revision"].(float64)
		p.count(func() { p.writes = append(p.writes, write{key: key, token: b.token, revision: uint64(revision)}) })
	case errors.As(err, &f) && f.Kind == "stale_token":
		p.count(func() { p.writes = append(p.writes, write{key: key, token: b.token}) })
	default:
		if err = p.passes(err); err != nil {
			return err
		}
	}
	_, err = p.agent.Do("held.release", "h", "", nil, answerPatience)
	return err
}

// believe asks the process again and again whether it is safe, and notes for how long it was. It counts its questions, not the time: one that was
// paused is asked on when it wakes up, when it matters most.
func (p *process) believe(ctx context.Context, b *belief) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for looks := 5 + rand.IntN(60); looks > 0 && ctx.Err() == nil; looks-- {
		asked := time.Now()
		info, err := p.agent.Do("held.info", "h", "", nil, answerPatience)
		answered := time.Now()
		if err != nil {
			return err
		}
		if info["safe"] != true {
			if !b.first.IsZero() {
				p.count(func() { p.losses++ })
			}
			break
		}
		if b.first.IsZero() {
			b.first = answered
		}
		b.last = asked
		<-tick.C
	}
	if b.last.After(b.first) {
		p.count(func() { p.held = append(p.held, *b) })
	}
	return nil
}
