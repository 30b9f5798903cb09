package raftnode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// claim is everything one worker of the crash sweep owns: a session, a key, and the key's lock.
type claim struct {
	alive     bool // the session lives
	session   [16]byte
	value     string // "" before the first put
	revision  uint64 // mod_revision of the key
	held      bool
	lockIndex uint64
}

// worker issues one command at a time, so that a crash leaves at most one of unknown outcome.
type worker struct {
	key   string
	rng   *rand.Rand
	count int

	acked   claim  // what acknowledged commands made
	pending *claim // what the command under way would make; its revision is not known
}

// model is what clients of a member know. Its lock is held while a crash point is taken, so that what clients know and
// what the disk holds belong together.
type model struct {
	mu       sync.Mutex // guards the workers' claims and revision
	workers  []*worker
	revision uint64 // highest acknowledged revision
}

func newModel(seed uint64, workers int) *model {
	m := &model{}
	for i := range workers {
		m.workers = append(m.workers, &worker{
			key: fmt.Sprintf("worker-%d", i), rng: rand.New(rand.NewPCG(seed, uint64(i))),
		})
	}
	return m
}

// knowledge is a copy of what the model says.
type knowledge struct {
	acked    []claim
	pending  []*claim
	revision uint64
}

func (m *model) knowledge() knowledge {
	k := knowledge{revision: m.revision}
	for _, w := range m.workers {
		k.acked = append(k.acked, w.acked)
		k.pending = append(k.pending, w.pending)
	}
	return k
}

// adopt takes what a recovered member holds as what is known.
func (m *model) adopt(found []claim, revision uint64) {
	for i, w := range m.workers {
		w.acked, w.pending = found[i], nil
	}
	m.revision = revision
}

// next draws the worker's next command and what it makes.
func (w *worker) next() (*storev1.Command, claim) {
	w.count++
	to := w.acked
	value := fmt.Sprintf("%s-%d-%s", w.key, w.count, string(bytes.Repeat([]byte{'x'}, w.rng.IntN(200))))
	p := &storev1.Put{Key: w.key, Value: []byte(value)}
	cmd := &storev1.Command{Kind: &storev1.Command_Put{Put: p}}
	ref := &storev1.SessionRef{SessionId: w.acked.session[:]}
	switch n := w.rng.IntN(10); {
	case !w.acked.alive && n < 7:
		for i := range to.session {
			to.session[i] = byte(w.rng.Uint32())
		}
		to.alive = true
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: bytes.Clone(to.session[:]), Name: w.key, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}, to
	case w.acked.alive && n == 0:
		to.alive, to.held = false, false
		return &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
			Session: ref, Clean: true,
		}}}, to
	case w.acked.alive && !w.acked.held && n < 6:
		p.Acquire = ref
		to.held = true
		to.lockIndex++
	case w.acked.held && n < 6:
		p.Release = ref
		to.held = false
	}
	to.value = value
	return cmd, to
}

// step runs one command and records its outcome. It returns false when the member stopped.
func (m *model) step(ctx context.Context, n *raftnode.Node, w *worker) (bool, error) {
	m.mu.Lock()
	cmd, to := w.next()
	w.pending = &to
	m.mu.Unlock()
	res, err := n.Propose(ctx, cmd)
	if err != nil {
		// The member stops; the command stays pending.
		return false, nil
	}
	if f := res.GetFailure(); f != nil {
		return false, fmt.Errorf("command %v failed: %v", cmd, f)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if to.value != w.acked.value || to.held != w.acked.held {
		to.revision = res.GetRevision()
	}
	w.acked, w.pending = to, nil
	m.revision = max(m.revision, res.GetRevision())
	return true, nil
}

// find reads what a member holds for a worker. The session is the one asked about.
func find(r *storage.Reader, key string, session [16]byte) (claim, error) {
	c := claim{session: session}
	if session != [16]byte{} {
		_, alive, err := r.Session(session)
		if err != nil {
			return c, err
		}
		c.alive = alive
	}
	st, ok, err := r.Get(key)
	if err != nil {
		return c, err
	}
	if ok {
		c.value, c.revision = string(st.GetValue()), st.GetModRevision()
		c.lockIndex = st.GetLockIndex()
		if len(st.GetSessionId()) > 0 {
			c.held = bytes.Equal(st.GetSessionId(), session[:])
			if !c.held {
				return c, fmt.Errorf("key %s is held by session %x, not %x", key, st.GetSessionId(), session)
			}
		}
	}
	return c, nil
}

// check compares a recovered member with what was known at the crash and returns what it holds.
func (k knowledge) check(n *raftnode.Node, keys []string) (found []claim, err error) {
	r := n.Store().NewReader()
	defer func() { err = errors.Join(err, r.Close()) }()
	a, err := r.Applied()
	if err != nil {
		return nil, err
	}
	if a.Revision < k.revision {
		return nil, fmt.Errorf("revision is %d, %d was acknowledged", a.Revision, k.revision)
	}
	for i, key := range keys {
		got, err := find(r, key, k.acked[i].session)
		if err != nil && k.pending[i] == nil {
			return nil, err
		}
		if err == nil && got == k.acked[i] {
			found = append(found, got)
			continue
		}
		p := k.pending[i]
		if p == nil {
			return nil, fmt.Errorf("%s: found %+v, acknowledged %+v", key, got, k.acked[i])
		}
		if got, err = find(r, key, p.session); err != nil {
			return nil, err
		}
		want := *p
		want.revision = got.revision
		if got != want || got.revision < k.acked[i].revision {
			return nil, fmt.Errorf("%s: found %+v, acknowledged %+v, under way %+v", key, got, k.acked[i], *p)
		}
		found = append(found, got)
	}
	return found, nil
}
