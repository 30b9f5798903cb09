package conformance_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/clients/conformance/driver"
	"github.com/tenure-io/tenure/test/rig"
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

// beliefs collects what all processes do.
type beliefs struct {
	languages []*driver.Language

	mu      sync.Mutex // Guards what follows.
	held    []belief
	writes  []write
	holding map[int]bool // By agent.
	losses  int
	opened  int
	trouble map[string]int
}

// contest is the form of a belief test.
type contest struct {
	processes int
	locks     int
	length    time.Duration
	// Floors.
	possessions, pauses, partitions, leaderKills, refused int
	// Each language must have had so many possessions, and so many of the locks.
	possessionsEach, locksEach int
}

// lease is the TTL in a contest: the shortest that there is.
const lease = 2 * time.Second

func TestNoTwoProcessesBelieveInTheSameLockAtOnce(t *testing.T) {
	form := contest{
		processes: 8, locks: 3, length: 20 * time.Second,
		possessions: 20, pauses: 2, partitions: 1, leaderKills: 1, refused: 1, possessionsEach: 1, locksEach: 1,
	}
	if os.Getenv("TENURE_CONFORMANCE") == "all" || os.Getenv("TENURE_SOAK") == "1" {
		form = contest{
			processes: 50, locks: 5, length: 2 * time.Minute,
			possessions: 200, pauses: 10, partitions: 5, leaderKills: 3, refused: 1, possessionsEach: 10, locksEach: 5,
		}
	}
	languages := foundLanguages(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := driver.StartCluster(ctx, t, binary, 3)
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
	p.count(func() { p.trouble[f.Kind]++ })
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
	p.count(func() { p.holding[p.number] = true })
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
			p.count(func() { p.losses++ })
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

// faults happen one after another until the time is over.
type faults struct {
	cluster *driver.Cluster
	agents  []*driver.Agent
	beliefs *beliefs

	pauses, partitions, leaderKills atomic.Int64
	resuming                        sync.WaitGroup
}

func (f *faults) run(ctx context.Context, t *testing.T) {
	t.Helper()
	defer func() {
		f.resuming.Wait()
		f.eachProxy((*rig.Proxy).Heal)
	}()
	for round := 0; ctx.Err() == nil; round++ {
		switch round % 4 {
		case 0:
			f.pauseHolder(ctx, false)
		case 2:
			f.pauseHolder(ctx, true)
		case 1:
			p := f.cluster.Proxies[rand.IntN(len(f.cluster.Proxies))]
			p.Block([]string{"in", "out", "both"}[rand.IntN(3)])
			f.partitions.Add(1)
			rest(ctx, time.Duration(500+rand.IntN(2500))*time.Millisecond)
			p.Heal()
		case 3:
			if round > 4 && f.leaderKills.Load() > 0 && rand.IntN(2) == 0 {
				f.cluster.Proxies[rand.IntN(len(f.cluster.Proxies))].Cut()
				break
			}
			leader := f.cluster.Rig.Leader(t.Context())
			leader.Kill()
			rest(ctx, time.Duration(rand.IntN(1500))*time.Millisecond)
			leader.Restart(t.Context())
			f.leaderKills.Add(1)
		}
		rest(ctx, time.Duration(300+rand.IntN(700))*time.Millisecond)
	}
}

// rest waits, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// darkness is how long nobody hears anything when a process wakes up in the dark: less than what makes a lease run out by itself.
const darkness = 300 * time.Millisecond

// pauseHolder stops a process that holds a lock for longer than its lease, behind the back of the next fault. In the dark, what was told meanwhile
// is lost, and nothing is told when it wakes up: then it has its own clock only.
func (f *faults) pauseHolder(ctx context.Context, dark bool) {
	f.beliefs.mu.Lock()
	chosen := rand.IntN(len(f.agents))
	for i := range f.beliefs.holding {
		chosen = i
		break
	}
	f.beliefs.mu.Unlock()
	a := f.agents[chosen]
	if err := a.Signal(syscall.SIGSTOP); err != nil {
		return
	}
	f.pauses.Add(1)
	if dark {
		f.eachProxy((*rig.Proxy).Cut)
	}
	f.resuming.Go(func() {
		rest(ctx, lease+time.Duration(500+rand.IntN(2500))*time.Millisecond)
		if dark {
			f.eachProxy(func(p *rig.Proxy) { p.Block("both") })
			defer f.eachProxy((*rig.Proxy).Heal)
		}
		_ = a.Signal(syscall.SIGCONT) // If it ended, its loop tells.
		if dark {
			rest(ctx, darkness)
		}
	})
}

func (f *faults) eachProxy(do func(*rig.Proxy)) {
	for _, p := range f.cluster.Proxies {
		do(p)
	}
}

// judge demands that no two processes believed at once, that tokens rose, and that no stale write was accepted.
func (b *beliefs) judge(t *testing.T, form contest, f *faults) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	byKey := map[string][]belief{}
	for _, one := range b.held {
		byKey[one.key] = append(byKey[one.key], one)
	}
	for key, list := range byKey {
		slices.SortFunc(list, func(x, y belief) int { return x.first.Compare(y.first) })
		for i := 1; i < len(list); i++ {
			before, after := list[i-1], list[i]
			if after.first.Before(before.last) {
				t.Errorf("%s: processes %d (token %d) and %d (token %d) were safe at once for %v", key, before.agent, before.token,
					after.agent, after.token, before.last.Sub(after.first))
			}
			if after.token <= before.token {
				t.Errorf("%s: token %d after %d", key, after.token, before.token)
			}
		}
	}
	b.judgeWrites(t)
	refused := b.refused()
	t.Logf("%d possessions, %d ended while watched, %d sessions, %d writes (%d refused as stale), %d pauses, %d leader kills, %d partitions; trouble: %v",
		len(b.held), b.losses, b.opened, len(b.writes), refused, f.pauses.Load(), f.leaderKills.Load(), f.partitions.Load(), b.trouble)
	for _, floor := range b.floors(form, f) {
		if floor.got < floor.want {
			t.Errorf("only %d %s, want at least %d", floor.got, floor.what, floor.want)
		}
	}
}

// floor is how often something must have happened.
type floor struct {
	what      string
	got, want int
}

// floors returns what happened, and how often it must have. Call it under mu.
func (b *beliefs) floors(form contest, f *faults) []floor {
	list := []floor{
		{"possessions", len(b.held), form.possessions},
		{"pauses of a process", int(f.pauses.Load()), form.pauses},
		{"partitions", int(f.partitions.Load()), form.partitions},
		{"kills of a leader", int(f.leaderKills.Load()), form.leaderKills},
		{"stale writes refused", b.refused(), form.refused},
	}
	for _, language := range b.languages {
		possessions, locks := 0, map[string]bool{}
		for _, one := range b.held {
			if one.language == language.Name {
				possessions++
				locks[one.key] = true
			}
		}
		list = append(list,
			floor{"possessions by " + language.Name, possessions, form.possessionsEach},
			floor{"locks that " + language.Name + " had", len(locks), form.locksEach})
	}
	return list
}

// enough tells whether every floor is reached.
func (b *beliefs) enough(form contest, f *faults) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !slices.ContainsFunc(b.floors(form, f), func(one floor) bool { return one.got < one.want })
}

// refused counts the writes that were refused. Call it under mu.
func (b *beliefs) refused() (n int) {
	for _, w := range b.writes {
		if w.revision == 0 {
			n++
		}
	}
	return n
}

// judgeWrites demands that accepted writes carry rising tokens in the order of their revisions, and no token that a later grant had
// made stale.
func (b *beliefs) judgeWrites(t *testing.T) {
	t.Helper()
	slices.SortFunc(b.writes, func(x, y write) int { return cmp.Compare(x.revision, y.revision) })
	largest := map[string]uint64{}
	for _, w := range b.writes {
		if w.revision == 0 {
			continue
		}
		if w.token < largest[w.key] {
			t.Errorf("%s: the write of token %d was accepted at revision %d, after one of token %d", w.key, w.token, w.revision, largest[w.key])
		}
		largest[w.key] = max(largest[w.key], w.token)
		for _, other := range b.held {
			if other.key == w.key && other.token > w.token && other.token < w.revision {
				t.Errorf("%s: the write of token %d was accepted at revision %d, although token %d was granted before", w.key, w.token,
					w.revision, other.token)
			}
		}
	}
}
