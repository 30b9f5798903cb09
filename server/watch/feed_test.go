package watch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// feed is a store that only has a history, and a hub that is told of it.
type feed struct {
	hub *watch.Hub

	mu        sync.Mutex // guards what follows
	events    []*storev1.Event
	revision  uint64
	compacted uint64
	walks     int
}

// newFeed starts a hub that runs until the test ends.
func newFeed(t testing.TB, o watch.Options) *feed {
	t.Helper()
	f := newSteppedFeed(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
	return f
}

// newSteppedFeed makes a hub that looks at what it was told only in Step.
func newSteppedFeed(t testing.TB, o watch.Options) *feed {
	t.Helper()
	f := &feed{}
	o.History = f.history
	hub, err := watch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.hub = hub
	return f
}

func (f *feed) history(after watch.Position, visit func(*storev1.Event) bool) (uint64, error) {
	f.mu.Lock()
	events, revision, compacted := f.events, f.revision, f.compacted
	f.walks++
	f.mu.Unlock()
	if after.Revision < compacted || after.Revision == compacted && after.Index != watch.Whole {
		return 0, fmt.Errorf("walk: %w", storage.ErrCompacted)
	}
	begin := sort.Search(len(events), func(i int) bool {
		e := events[i]
		return e.GetRevision() > after.Revision || e.GetRevision() == after.Revision && e.GetIndex() > after.Index
	})
	for _, e := range events[begin:] {
		if !visit(e) {
			break
		}
	}
	return revision, nil
}

// install applies events as one revision that nobody is told of, as an installed snapshot does.
func (f *feed) install(events ...*storev1.Event) (revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision++
	for i, e := range events {
		e.Revision, e.Index, e.Count = f.revision, uint32(i), uint32(len(events))
	}
	f.events = append(f.events, events...)
	return f.revision
}

// commit applies events as one revision.
func (f *feed) commit(events ...*storev1.Event) {
	revision := f.install(events...)
	f.hub.Publish(storage.Outcome{Events: events, Applied: storage.Applied{Revision: revision}})
}

// compact forgets history.
func (f *feed) compact(revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.compacted = revision
	n, _ := slices.BinarySearchFunc(f.events, revision+1, func(e *storev1.Event, r uint64) int {
		return int(int64(e.GetRevision()) - int64(r))
	})
	f.events = f.events[n:]
}

func (f *feed) at() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.revision
}

func put(key, value string) *storev1.Event {
	return &storev1.Event{Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{
		Key: key, Value: []byte(value), Change: storev1.KeyChange_KEY_CHANGE_PUT,
	}}}
}

// randomEvent returns an event of any kind about one of few subjects.
func randomEvent(r *rand.Rand) *storev1.Event {
	key := randomKey(r)
	session := storage.SessionID{15: byte(r.IntN(5))}
	switch r.IntN(9) {
	case 0, 1:
		return put(key, strings.Repeat("v", r.IntN(200)))
	case 2:
		e := put(key, "x")
		e.GetKeyPut().Change = storev1.KeyChange(2 + r.IntN(3))
		return e
	case 3:
		return &storev1.Event{Kind: &storev1.Event_KeyDeleted{KeyDeleted: &storev1.KeyDeleted{Key: key}}}
	case 4:
		return &storev1.Event{Kind: &storev1.Event_LockQueued{LockQueued: &storev1.LockQueued{Key: key}}}
	case 5:
		return &storev1.Event{Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{
			Key: key, Place: uint64(r.IntN(3)),
		}}}
	case 6:
		return &storev1.Event{Kind: &storev1.Event_LockDelayEnded{LockDelayEnded: &storev1.LockDelayEnded{Key: key}}}
	case 7:
		return &storev1.Event{Kind: &storev1.Event_SessionBegun{SessionBegun: &storev1.SessionBegun{SessionId: session[:]}}}
	default:
		return &storev1.Event{Kind: &storev1.Event_SessionEnded{SessionEnded: &storev1.SessionEnded{SessionId: session[:]}}}
	}
}

// randomKey returns one of few keys, many of which begin with others.
func randomKey(r *rand.Rand) string {
	const letters = "ab/"
	b := make([]byte, 1+r.IntN(3))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func randomSelectors(r *rand.Rand) watch.Selectors {
	var s watch.Selectors
	for range r.IntN(3) {
		s.Keys = append(s.Keys, randomKey(r))
	}
	for range r.IntN(3) {
		s.Prefixes = append(s.Prefixes, randomKey(r)[:r.IntN(2)])
	}
	if a, b := randomKey(r), randomKey(r); r.IntN(3) == 0 && a < b {
		s.RangeStart, s.RangeEnd = a, b
	}
	for range r.IntN(2) {
		s.Locks = append(s.Locks, randomKey(r))
	}
	for range r.IntN(2) {
		s.LockPrefixes = append(s.LockPrefixes, randomKey(r)[:r.IntN(2)])
	}
	for range r.IntN(3) {
		s.Places = append(s.Places, watch.Place{Key: randomKey(r), Number: 1 + uint64(r.IntN(2))})
	}
	for range r.IntN(3) {
		s.Sessions = append(s.Sessions, storage.SessionID{15: byte(r.IntN(5))})
	}
	s.AllSessions = r.IntN(8) == 0
	s.NoPuts, s.NoDeletes, s.NoHolderChanges, s.NoQueue = r.IntN(6) == 0, r.IntN(6) == 0, r.IntN(6) == 0, r.IntN(6) == 0
	return s.Normal()
}

// selects says the same as the hub does, as simply as can be.
func selects(s watch.Selectors, e *storev1.Event) bool {
	key := func(k string, exact, prefixes []string) bool {
		if slices.Contains(exact, k) {
			return true
		}
		for _, p := range prefixes {
			if strings.HasPrefix(k, p) {
				return true
			}
		}
		return false
	}
	switch kind := e.GetKind().(type) {
	case *storev1.Event_KeyPut:
		k, isPut := kind.KeyPut.GetKey(), kind.KeyPut.GetChange() == storev1.KeyChange_KEY_CHANGE_PUT
		if isPut && s.NoPuts || !isPut && s.NoHolderChanges {
			return false
		}
		return key(k, s.Keys, s.Prefixes) || s.RangeEnd != "" && s.RangeStart <= k && k < s.RangeEnd
	case *storev1.Event_KeyDeleted:
		k := kind.KeyDeleted.GetKey()
		return !s.NoDeletes && (key(k, s.Keys, s.Prefixes) || s.RangeEnd != "" && s.RangeStart <= k && k < s.RangeEnd)
	case *storev1.Event_LockQueued:
		return !s.NoQueue && key(kind.LockQueued.GetKey(), s.Locks, s.LockPrefixes)
	case *storev1.Event_LockGranted:
		granted := kind.LockGranted
		return key(granted.GetKey(), s.Locks, s.LockPrefixes) ||
			slices.Contains(s.Places, watch.Place{Key: granted.GetKey(), Number: granted.GetPlace()})
	case *storev1.Event_LockDelayEnded:
		return key(kind.LockDelayEnded.GetKey(), s.Locks, s.LockPrefixes)
	case *storev1.Event_SessionBegun:
		return s.AllSessions || slices.Contains(s.Sessions, storage.SessionID(kind.SessionBegun.GetSessionId()))
	case *storev1.Event_SessionEnded:
		return s.AllSessions || slices.Contains(s.Sessions, storage.SessionID(kind.SessionEnded.GetSessionId()))
	default:
		return false
	}
}

var errCut = errors.New("the reader has enough")
