package lock

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/session"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// lockText returns a lock from a text like "x3 a:1 b:2 < c:1 d": a semaphore of 3 permits that a and b hold, and c and d
// wait for. "s" is a shared lock; without either it is exclusive.
func lockText(t *testing.T, key, text string) *tenurev1.Lock {
	t.Helper()
	lock := &tenurev1.Lock{Key: key}
	mode := tenurev1.LockMode_LOCK_MODE_EXCLUSIVE
	waiting := false
	for word := range strings.FieldsSeq(text) {
		who, number, _ := strings.Cut(word, ":")
		permits, _ := strconv.ParseUint(number, 10, 32)
		switch {
		case word == "<":
			waiting = true
		case word == "s":
			mode = tenurev1.LockMode_LOCK_MODE_SHARED
		case word == "e":
			mode = tenurev1.LockMode_LOCK_MODE_EXCLUSIVE
		case strings.HasPrefix(word, "x"):
			mode = tenurev1.LockMode_LOCK_MODE_SEMAPHORE
			limit, err := strconv.ParseUint(word[1:], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			lock.Limit = uint32(limit)
		case waiting:
			lock.Places = append(lock.Places, &tenurev1.Place{
				Key: key, Place: uint64(len(lock.GetPlaces()) + 1), SessionId: who, Mode: mode, Permits: uint32(permits),
			})
		default:
			lock.Holds = append(lock.Holds, &tenurev1.Hold{
				Mode: mode, Permits: uint32(permits),
				Sequencer: &tenurev1.Sequencer{SessionId: who, LockIndex: uint64(len(lock.GetHolds()) + 1), FencingToken: 1},
			})
		}
	}
	return lock
}

// TestDeadlocks finds rings in who waits for whom.
func TestDeadlocks(t *testing.T) {
	tests := map[string]struct {
		locks   map[string]string
		parents map[string]string
		want    []string // Each ring as "a>b>".
	}{
		"nobody waits":                                   {locks: map[string]string{"k": "a"}},
		"a line is no ring":                              {locks: map[string]string{"k": "a < b c", "l": "b < d"}},
		"two hold what the other wants":                  {locks: map[string]string{"k": "a < b", "l": "b < a"}, want: []string{"a>b>"}},
		"three in a ring, and one who waits for it":      {locks: map[string]string{"k": "a < b d", "l": "b < c", "m": "c < a"}, want: []string{"a>c>b>"}},
		"two rings":                                      {locks: map[string]string{"k": "a < b", "l": "b < a", "m": "c < d", "n": "d < c"}, want: []string{"a>b>", "c>d>"}},
		"who shares does not wait for others who do":     {locks: map[string]string{"k": "s a < b", "l": "b < a"}, want: nil},
		"who shares waits for one before it":             {locks: map[string]string{"k": "s a < e b s c", "l": "c < a"}, want: []string{"a>c>b>"}},
		"enough permits may come free":                   {locks: map[string]string{"k": "x3 a:1 d:2 < b:1", "l": "b < a"}, want: nil},
		"too few permits may come free":                  {locks: map[string]string{"k": "x3 a:2 d:1 < b:2", "l": "b < a"}, want: []string{"a>b>"}},
		"another owner of the same session may give up":  {locks: map[string]string{"k": "a < a"}, want: nil},
		"a command waits for what its own parent holds":  {locks: map[string]string{"k": "a < b"}, parents: map[string]string{"b": "a"}, want: []string{"a>b>"}},
		"two of one parent's commands are no ring":       {locks: map[string]string{"k": "b < c"}, parents: map[string]string{"b": "a", "c": "a"}},
		"a parent that is gone waits for nothing":        {locks: map[string]string{"k": "z < b"}, parents: map[string]string{"b": "z"}},
		"commands of two parents wait for one another's": {locks: map[string]string{"k": "a < d", "l": "c < b"}, parents: map[string]string{"b": "a", "d": "c"}, want: []string{"a>b>c>d>"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			locks := map[string]*tenurev1.Lock{}
			for key, text := range test.locks {
				locks[key] = lockText(t, key, text)
			}
			var sessions []*tenurev1.Session
			for _, id := range []string{"a", "b", "c", "d"} {
				sessions = append(sessions, &tenurev1.Session{
					SessionId: id, Metadata: map[string]string{session.ParentsEntry: test.parents[id]},
				})
			}
			var got []string
			for _, ring := range newWaitGraph(bothSeen(locks, locks), sessions).cycles() {
				text := ""
				for _, edge := range ring {
					text += edge.From + ">"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestBothSeen shows that what was seen only once is not believed.
func TestBothSeen(t *testing.T) {
	one := map[string]*tenurev1.Lock{"k": lockText(t, "k", "a < b"), "l": lockText(t, "l", "b < a")}
	two := map[string]*tenurev1.Lock{"k": lockText(t, "k", "a < b"), "l": lockText(t, "l", "b")}
	if rings := newWaitGraph(bothSeen(one, two), nil).cycles(); len(rings) != 0 {
		t.Errorf("got %v, want none: a waits no more", rings)
	}
	if rings := newWaitGraph(bothSeen(one, one), nil).cycles(); len(rings) != 1 {
		t.Errorf("got %v, want one", rings)
	}
}
