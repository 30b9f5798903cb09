package reconcile_test

import (
	"testing"
	"time"

	"github.com/tenure-io/tenure/gossip"
	"github.com/tenure-io/tenure/server/pool/reconcile"
)

var web = gossip.KeyOf([16]byte{1}, "web1")

const address = "10.0.0.1:7403"

// step is an event, after some time, and what must follow from it.
type step struct {
	after time.Duration
	event reconcile.Event
	want  reconcile.Kind // 0: nothing
	set   reconcile.Status
}

func seen(s gossip.State) reconcile.Event {
	return reconcile.Seen{Key: web, State: s, Address: address}
}

func stored(e reconcile.Entry) reconcile.Event {
	if e.Address == "" {
		e.Address = address
	}
	return reconcile.Stored{Key: web, Entry: e}
}

func has(s reconcile.Status) reconcile.Event { return stored(reconcile.Entry{Known: true, Status: s}) }

// synced is what an agent registers of its node, which has no liveness yet.
func synced(boot uint64) reconcile.Event {
	return stored(reconcile.Entry{Known: true, SyncBoot: boot})
}

func judged(failed, voters int) reconcile.Event {
	return reconcile.Judged{Key: web, Failed: failed, Voters: voters}
}

var (
	done   = reconcile.Done{Key: web}
	broken = reconcile.Done{Key: web, Failed: true}
	tick   = reconcile.Tick{}
)

// fails lets a node that passes turn critical.
func fails(after time.Duration) []step {
	return []step{
		{after, seen(gossip.Failed), reconcile.Ask, 0},
		{0, judged(2, 3), reconcile.Set, reconcile.Critical},
		{0, has(reconcile.Critical), 0, 0},
		{0, done, 0, 0},
	}
}

// passes lets a node come back.
func passes(after time.Duration, wait time.Duration) []step {
	out := []step{{after, seen(gossip.Alive), reconcile.Set, reconcile.Passing}}
	if wait > 0 {
		out = []step{
			{after, seen(gossip.Alive), 0, 0},
			{wait - time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Set, reconcile.Passing},
		}
	}
	return append(out, step{0, has(reconcile.Passing), 0, 0}, step{0, done, 0, 0})
}

func join(parts ...[]step) (all []step) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// again is web1 under another id.
var again = gossip.KeyOf([16]byte{2}, "web1")

// Since a restore nobody has seen a machine, and one with its name is alive under another id.
func TestAMachineInDoubtMayHaveAnotherID(t *testing.T) {
	const otherPort, otherHost = "10.0.0.1:9", "10.0.0.2:7403"
	for name, c := range map[string]struct {
		doubted bool
		at      []string // where machines with its name take part
		failed  int      // how many of three voters say that the one in doubt failed
		want    reconcile.Effect
	}{
		"it is the same machine at the same address": {true, []string{address}, 2, reconcile.Effect{Key: again, Kind: reconcile.Register, Replace: true}},
		"it is the same machine on the same host":    {true, []string{otherPort}, 2, reconcile.Effect{Key: again, Kind: reconcile.Register, Replace: true}},
		"on another host it may be another":          {true, []string{otherHost}, 2, reconcile.Effect{Key: web, Kind: reconcile.Set, Status: reconcile.Critical}},
		"of two nobody knows which it is":            {true, []string{address, otherPort}, 2, reconcile.Effect{Key: web, Kind: reconcile.Set, Status: reconcile.Critical}},
		"if there is none, it has failed":            {true, nil, 2, reconcile.Effect{Key: web, Kind: reconcile.Set, Status: reconcile.Critical}},
		"an old cluster does not know doubt":         {false, []string{address}, 2, reconcile.Effect{Key: web, Kind: reconcile.Set, Status: reconcile.Critical}},
		"without a majority it keeps its name":       {true, []string{address}, 1, reconcile.Effect{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := reconcile.New()
			asked := s.Step(stored(reconcile.Entry{Known: true, Status: reconcile.Warning, Doubted: c.doubted}), 0)
			if len(asked) != 1 || asked[0].Kind != reconcile.Ask {
				t.Fatalf("got %+v, want that the voters are asked", asked)
			}
			for i, at := range c.at {
				k := gossip.KeyOf([16]byte{byte(2 + i)}, "web1")
				before := s.Step(reconcile.Stored{Key: k, Entry: reconcile.Entry{Taken: true, TakenStatus: reconcile.Warning}}, 0)
				before = append(before, s.Step(reconcile.Seen{Key: k, State: gossip.Alive, Address: at}, 0)...)
				if len(before) > 0 {
					t.Fatalf("got %+v before the voters have answered", before)
				}
			}
			got, now := append(s.Step(judged(c.failed, 3), 0), reconcile.Effect{})[0], time.Duration(0)
			for c.doubted && c.want.Kind == reconcile.Set && got.Kind == 0 && now < time.Minute { // It may come yet.
				now += time.Second
				if more := s.Step(tick, now); len(more) == 1 && more[0].Kind == reconcile.Ask {
					got = append(s.Step(judged(c.failed, 3), now), reconcile.Effect{})[0]
				}
			}
			if c.doubted && c.want.Kind == reconcile.Set && now != 15*time.Second {
				t.Errorf("it was waited for for %v, want 15 s", now)
			}
			if got.Output = ""; got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if more := s.Step(tick, now+10*time.Millisecond); len(more) > 0 {
				t.Errorf("got %+v at once", more)
			}
		})
	}
}

// A machine in doubt comes under another id only after the voters have said that it failed.
func TestAMachineInDoubtHasTimeToCome(t *testing.T) {
	s := reconcile.New()
	s.Step(stored(reconcile.Entry{Known: true, Status: reconcile.Warning, Doubted: true}), 0)
	if got := s.Step(judged(2, 3), 4*time.Second); len(got) > 0 {
		t.Fatalf("got %+v before it had time to come", got)
	}
	s.Step(reconcile.Stored{Key: again, Entry: reconcile.Entry{Taken: true, TakenStatus: reconcile.Warning}}, 5*time.Second)
	s.Step(reconcile.Seen{Key: again, State: gossip.Alive, Address: address}, 5*time.Second)
	if got := s.Step(tick, 6*time.Second); len(got) != 1 || got[0].Kind != reconcile.Ask {
		t.Fatalf("got %+v, want that the voters are asked again", got)
	}
	if got := s.Step(judged(2, 3), 6*time.Second); len(got) != 1 || got[0].Kind != reconcile.Register || got[0].Key != again {
		t.Fatalf("got %+v, want that it has what the machine in doubt had", got)
	}
}

// The leader may find out only from the catalog that a name is taken, and has it refused first. That must not make the machine in doubt critical.
func TestAMachineInDoubtWaitsUntilItCanBeRegistered(t *testing.T) {
	s := reconcile.New()
	first := s.Step(reconcile.Seen{Key: again, State: gossip.Alive, Address: address}, 0)
	if len(first) != 1 || first[0].Kind != reconcile.Register || first[0].Replace {
		t.Fatalf("got %+v, want that it is registered and replaces nothing", first)
	}
	s.Step(reconcile.Stored{Key: again, Entry: reconcile.Entry{Taken: true, TakenStatus: reconcile.Warning}}, 0)
	s.Step(stored(reconcile.Entry{Known: true, Status: reconcile.Warning, Doubted: true}), 0)
	if got := s.Step(judged(3, 3), 0); len(got) > 0 {
		t.Fatalf("got %+v while it is registered", got)
	}
	s.Step(reconcile.Done{Key: again, Failed: true}, 0)
	if got := s.Step(tick, time.Second); len(got) != 1 || got[0].Kind != reconcile.Ask {
		t.Fatalf("got %+v, want that the voters are asked again", got)
	}
	if got := s.Step(judged(3, 3), time.Second); len(got) != 1 || got[0].Kind != reconcile.Register || !got[0].Replace || got[0].Key != again {
		t.Fatalf("got %+v, want that it is registered", got)
	}
}

func TestState(t *testing.T) {
	passing := []step{{0, has(reconcile.Passing), reconcile.Ask, 0}, {0, judged(0, 3), 0, 0}, {0, seen(gossip.Alive), 0, 0}}
	for name, steps := range map[string][]step{
		"one that is alive and unknown is registered": {
			{0, seen(gossip.Alive), reconcile.Register, 0}, {0, has(reconcile.Passing), 0, 0}, {0, done, 0, 0},
		},
		"a proposal that failed is made again": {
			{0, seen(gossip.Alive), reconcile.Register, 0},
			{0, broken, 0, 0},
			{499 * time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Register, 0},
			{0, broken, 0, 0},
			{999 * time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Register, 0},
		},
		"a proposal that changed nothing is made again later": {
			{0, has(reconcile.None), 0, 0},
			{0, seen(gossip.Alive), reconcile.Set, reconcile.Passing},
			{0, done, 0, 0},
			{499 * time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Set, reconcile.Passing},
		},
		"one that an agent registered gets liveness": {
			{0, has(reconcile.None), 0, 0}, {0, seen(gossip.Alive), reconcile.Set, reconcile.Passing},
		},
		"a new address of a node that is ours is written": {
			{0, stored(reconcile.Entry{Known: true, Ours: true, Status: reconcile.Passing, Address: "old"}), reconcile.Ask, 0},
			{0, judged(0, 1), 0, 0},
			{0, seen(gossip.Alive), reconcile.Register, 0},
		},
		"the address of an agent's node is the agent's": {
			{0, stored(reconcile.Entry{Known: true, Status: reconcile.Passing, Address: "old"}), reconcile.Ask, 0},
			{0, judged(0, 1), 0, 0},
			{0, seen(gossip.Alive), 0, 0},
		},
		"a name that another machine has is left to it while it lives": {
			{0, stored(reconcile.Entry{Taken: true, TakenStatus: reconcile.Passing}), 0, 0},
			{0, seen(gossip.Alive), 0, 0},
			{0, stored(reconcile.Entry{Taken: true, TakenStatus: reconcile.Critical}), reconcile.Register, 0},
		},
		"a check of a program outside is left alone": {
			{0, stored(reconcile.Entry{Known: true, Outside: true, Status: reconcile.Critical}), 0, 0},
			{0, seen(gossip.Alive), 0, 0},
			{0, seen(gossip.Failed), 0, 0},
			{0, seen(gossip.Left), 0, 0},
		},
		"after a restore, one that is seen passes at once": {
			{0, has(reconcile.Warning), reconcile.Ask, 0}, {0, judged(0, 3), 0, 0}, {0, seen(gossip.Alive), reconcile.Set, reconcile.Passing},
		},
		"a majority of all voters makes it critical": join(passing, fails(0)),
		"half of the voters is no majority": join(passing, []step{
			{0, seen(gossip.Failed), reconcile.Ask, 0},
			{0, judged(2, 4), 0, 0},
			{999 * time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Ask, 0},
			{0, judged(1, 4), 0, 0},
			{1999 * time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Ask, 0},
			{0, judged(3, 4), reconcile.Set, reconcile.Critical},
		}),
		"one that comes back while the voters are asked is spared": join(passing, []step{
			{0, seen(gossip.Failed), reconcile.Ask, 0}, {0, seen(gossip.Alive), 0, 0}, {0, judged(3, 3), 0, 0},
		}),
		"one that comes back passes at once": join(passing, fails(0), passes(0, 0)),
		"one that failed again must be alive for a while": join(passing, fails(0), passes(0, 0), fails(time.Second),
			passes(0, 10*time.Second), fails(0), passes(0, 20*time.Second), fails(0), passes(0, 40*time.Second)),
		"failures of long ago do not count": join(passing, fails(0), passes(0, 0), fails(11*time.Minute), passes(0, 0)),
		"one that dies while it must be alive waits anew": join(passing, fails(0), passes(0, 0), fails(0), []step{
			{0, seen(gossip.Alive), 0, 0},
			{9 * time.Second, seen(gossip.Failed), 0, 0},
			{0, seen(gossip.Alive), 0, 0},
			{9 * time.Second, tick, 0, 0},
			{time.Second, tick, reconcile.Set, reconcile.Passing},
		}),
		"one that left loses liveness, then goes unless bound": join(passing, []step{
			{0, seen(gossip.Left), reconcile.Leave, 0},
			{0, has(reconcile.None), 0, 0},
			{0, done, reconcile.Deregister, 0},
			{0, done, 0, 0},
			{59 * time.Second, tick, 0, 0},
			{time.Second, tick, reconcile.Deregister, 0},
			{0, stored(reconcile.Entry{}), 0, 0},
			{0, done, 0, 0},
			{time.Hour, tick, 0, 0},
		}),
		"one that registers anew after it left stays": join(passing, []step{
			{0, seen(gossip.Left), reconcile.Leave, 0},
			{0, has(reconcile.None), 0, 0},
			{0, done, reconcile.Deregister, 0},
			{0, stored(reconcile.Entry{}), 0, 0},
			{0, done, 0, 0},
			{time.Minute, synced(2), 0, 0},
			{80 * time.Hour, tick, 0, 0},
			{0, seen(gossip.Unknown), 0, 0},
			{80 * time.Hour, tick, 0, 0},
		}),
		"one that registers anew before it is deregistered stays": join(passing, []step{
			{0, stored(reconcile.Entry{Known: true, Status: reconcile.Passing, SyncBoot: 1}), 0, 0},
			{0, seen(gossip.Left), reconcile.Leave, 0},
			{0, stored(reconcile.Entry{Known: true, SyncBoot: 1}), 0, 0},
			{0, done, reconcile.Deregister, 0},
			{0, done, 0, 0}, // A session is bound to it.
			{0, stored(reconcile.Entry{Known: true, SyncBoot: 2}), 0, 0},
			{time.Hour, tick, 0, 0},
		}),
		"one that was registered with liveness while it left goes": {
			{0, seen(gossip.Alive), reconcile.Register, 0},
			{0, seen(gossip.Left), 0, 0},
			{0, has(reconcile.Passing), 0, 0},
			{0, done, reconcile.Leave, 0},
			{0, has(reconcile.None), 0, 0},
			{0, done, reconcile.Deregister, 0},
		},
		"one that left before liveness was there goes": {
			{0, has(reconcile.None), 0, 0},
			{0, seen(gossip.Alive), reconcile.Set, reconcile.Passing},
			{0, broken, 0, 0},
			{0, seen(gossip.Left), reconcile.Deregister, 0},
		},
		"a new leader deregisters one whose liveness is there": {
			{0, seen(gossip.Left), 0, 0},
			{0, has(reconcile.Passing), reconcile.Leave, 0},
			{0, has(reconcile.None), 0, 0},
			{0, done, reconcile.Deregister, 0},
		},
		"a new leader deregisters one that no later start has synced": {
			{0, reconcile.Seen{Key: web, State: gossip.Left, SyncBoot: 3}, 0, 0}, {0, synced(3), reconcile.Deregister, 0},
		},
		"a new leader deregisters one that a leader registered": {
			{0, seen(gossip.Left), 0, 0}, {0, stored(reconcile.Entry{Known: true, Ours: true}), reconcile.Deregister, 0},
		},
		"a new leader leaves one alone that a later start has synced": {
			{0, reconcile.Seen{Key: web, State: gossip.Left, SyncBoot: 3}, 0, 0}, {0, synced(4), 0, 0}, {time.Hour, tick, 0, 0},
		},
		"a new leader leaves one alone that did not say which start left": {
			{0, seen(gossip.Left), 0, 0}, {0, synced(4), 0, 0}, {time.Hour, tick, 0, 0},
		},
		"one that was gone for 72 h and registers anew stays": join(passing, fails(0), []step{
			{72 * time.Hour, tick, reconcile.Leave, 0},
			{0, has(reconcile.None), 0, 0},
			{0, done, reconcile.Deregister, 0},
			{0, stored(reconcile.Entry{}), 0, 0},
			{0, done, 0, 0},
			{time.Hour, synced(2), 0, 0},
			{time.Hour, tick, 0, 0},
		}),
		"one that failed for 72 h goes as one that left": join(passing, fails(0), []step{
			{72*time.Hour - time.Millisecond, tick, 0, 0},
			{time.Millisecond, tick, reconcile.Leave, 0},
			{0, has(reconcile.None), 0, 0},
			{0, done, reconcile.Deregister, 0},
		}),
		"one that failed and was deregistered stays away": join(passing, fails(0), []step{
			{0, stored(reconcile.Entry{}), 0, 0}, {time.Hour, tick, 0, 0},
		}),
		"one without liveness that failed gets none": {
			{0, has(reconcile.None), 0, 0}, {0, seen(gossip.Failed), 0, 0}, {time.Hour, tick, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, now := reconcile.New(), time.Duration(0)
			for i, at := range steps {
				now += at.after
				got := s.Step(at.event, now)
				switch {
				case len(got) > 1 || len(got) == 1 && got[0].Key != web:
					t.Fatalf("step %d, %+v: got %+v", i, at.event, got)
				case len(got) == 0:
					got = []reconcile.Effect{{}}
				}
				if got[0].Kind != at.want || got[0].Status != at.set {
					t.Fatalf("step %d, %+v: got effect %d with status %d, want %d with %d", i, at.event, got[0].Kind, got[0].Status, at.want, at.set)
				}
			}
		})
	}
}
