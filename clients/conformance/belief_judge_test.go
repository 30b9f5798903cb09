package conformance_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// judge demands that no two processes believed at once, that tokens rose, and that no stale write was accepted.
func (b *beliefs) judge(t *testing.T, form contest, f *faults) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, wrong := range slices.Concat(b.wrongBeliefs(), b.wrongGrants(), b.wrongWrites()) {
		t.Error(wrong)
	}
	t.Logf("%d possessions by %d processes, %d lost while believed, %d grants, %d sessions, %d writes (%d refused as stale), "+
		"%d pauses, %d leader kills, %d partitions (%d of all members); trouble: %v",
		len(b.held), form.processes, b.losses, len(b.grants), b.opened, len(b.writes), b.refused(),
		f.pauses.Load(), f.leaderKills.Load(), f.partitions.Load(), f.blackouts.Load(), b.trouble)
	for _, floor := range b.floors(form, f) {
		if floor.got < floor.want {
			t.Errorf("only %d %s, want at least %d", floor.got, floor.what, floor.want)
		}
	}
}

// wrongBeliefs returns who believed in a lock at once, and tokens that did not rise.
func (b *beliefs) wrongBeliefs() (wrong []string) {
	byKey := map[string][]belief{}
	for _, one := range b.held {
		byKey[one.key] = append(byKey[one.key], one)
	}
	for key, list := range byKey {
		slices.SortFunc(list, func(x, y belief) int { return x.first.Compare(y.first) })
		for i := 1; i < len(list); i++ {
			before, after := list[i-1], list[i]
			if after.first.Before(before.last) {
				wrong = append(wrong, fmt.Sprintf("%s: processes %d (token %d) and %d (token %d) were safe at once for %v", key, before.agent,
					before.token, after.agent, after.token, before.last.Sub(after.first)))
			}
			if after.token <= before.token {
				wrong = append(wrong, fmt.Sprintf("%s: token %d after %d", key, after.token, before.token))
			}
		}
	}
	return wrong
}

// wrongGrants returns what was granted twice.
func (b *beliefs) wrongGrants() (wrong []string) {
	seen := map[grant]bool{}
	for _, g := range b.grants {
		if seen[g] {
			wrong = append(wrong, fmt.Sprintf("%s: token %d was granted twice", g.key, g.token))
		}
		seen[g] = true
	}
	return wrong
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
		{"partitions from all members", int(f.blackouts.Load()), form.blackouts},
		{"kills of a leader", int(f.leaderKills.Load()), form.leaderKills},
		{"locks lost while they were believed", b.losses, form.losses},
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

// wrongWrites returns writes that were accepted although a later grant had made their token stale: one that a later revision followed, or one
// that somebody was told of. A token is the revision of its grant.
func (b *beliefs) wrongWrites() (wrong []string) {
	slices.SortFunc(b.writes, func(x, y write) int { return cmp.Compare(x.revision, y.revision) })
	largest := map[string]uint64{}
	for _, w := range b.writes {
		if w.revision == 0 {
			continue
		}
		if w.token < largest[w.key] {
			wrong = append(wrong, fmt.Sprintf("%s: the write of token %d was accepted at revision %d, after one of token %d", w.key, w.token,
				w.revision, largest[w.key]))
		}
		largest[w.key] = max(largest[w.key], w.token)
		for _, other := range b.grants {
			if other.key == w.key && other.token > w.token && other.token < w.revision {
				wrong = append(wrong, fmt.Sprintf("%s: the write of token %d was accepted at revision %d, although token %d was granted before",
					w.key, w.token, w.revision, other.token))
			}
		}
	}
	return wrong
}

func TestTheJudgeOfTheContestSeesWhatIsWrong(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	tests := map[string]struct {
		beliefs *beliefs
		want    string // A part of what it says; nothing: it is content.
	}{
		"one after the other, tokens rise": {
			&beliefs{
				held:   []belief{{key: "a", token: 3, first: at(0), last: at(9)}, {key: "a", token: 7, agent: 1, first: at(9), last: at(20)}},
				grants: []grant{{"a", 3}, {"a", 7}},
				writes: []write{{"a", 3, 5}, {"a", 3, 0}, {"a", 7, 9}},
			}, "",
		},
		"two at once, of different locks": {
			&beliefs{held: []belief{{key: "a", token: 3, first: at(0), last: at(9)}, {key: "b", token: 2, agent: 1, first: at(5), last: at(9)}}}, "",
		},
		"two at once": {
			&beliefs{held: []belief{{key: "a", token: 3, first: at(0), last: at(9)}, {key: "a", token: 7, agent: 1, first: at(8), last: at(20)}}},
			"a: processes 0 (token 3) and 1 (token 7) were safe at once for 1ms",
		},
		"a token that falls": {
			&beliefs{held: []belief{{key: "a", token: 7, first: at(0), last: at(9)}, {key: "a", token: 3, first: at(10), last: at(20)}}},
			"a: token 3 after 7",
		},
		"a token that two were given": {&beliefs{grants: []grant{{"a", 3}, {"b", 3}, {"a", 3}}}, "a: token 3 was granted twice"},
		"a write behind that of a later token": {
			&beliefs{writes: []write{{"a", 3, 9}, {"a", 7, 8}}}, "a: the write of token 3 was accepted at revision 9, after one of token 7",
		},
		"a write behind a grant that nobody was seen to believe in": {
			&beliefs{grants: []grant{{"a", 3}, {"a", 7}}, writes: []write{{"a", 3, 9}}},
			"a: the write of token 3 was accepted at revision 9, although token 7 was granted before",
		},
		"a write behind a grant of another lock": {&beliefs{grants: []grant{{"a", 3}, {"b", 7}}, writes: []write{{"a", 3, 9}}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := test.beliefs
			wrong := strings.Join(slices.Concat(b.wrongBeliefs(), b.wrongGrants(), b.wrongWrites()), "\n")
			if (wrong == "") != (test.want == "") || !strings.Contains(wrong, test.want) {
				t.Errorf("got %q, want %q", wrong, test.want)
			}
		})
	}
}
