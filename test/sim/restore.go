package sim

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// backup is one that was taken while the cluster went on.
type backup struct {
	file     []byte
	keys     map[string]string // the plain keys in it
	locks    map[string]*storev1.LockState
	sessions string // their ids
}

// backUp takes a backup at the leader, as soon as there is one.
func (w ending) backUp() {
	l := w.leader()
	if l == nil || !l.up() {
		w.after(100*time.Millisecond, w.backUp)
		return
	}
	s := l.life.store.NewReader()
	b := &backup{}
	var file bytes.Buffer
	err := storage.WriteBackup(&file, s, storage.BackupMeta{Member: fmt.Sprint(l.id)})
	if err == nil {
		err = b.read(s, w.plan.locks())
	}
	if err = errors.Join(err, s.Close()); err != nil {
		w.violated("backup", "member %d: %v", l.id, err)
		return
	}
	b.file = file.Bytes()
	w.backup = b
	w.note("backup", l.id)
}

// read notes what a backup must bring back.
func (b *backup) read(s *storage.Reader, locks []string) (err error) {
	if b.keys, err = plainKeys(s); err != nil {
		return err
	}
	if b.sessions, err = sessionIDs(s); err != nil {
		return err
	}
	b.locks = map[string]*storev1.LockState{}
	for _, key := range locks {
		info, found, err := s.Lock(key)
		if err != nil {
			return err
		}
		if found {
			b.locks[key] = info.State
		}
	}
	return nil
}

func sessionIDs(s *storage.Reader) (string, error) {
	page, _, err := s.Sessions(storage.SessionID{}, 0)
	var ids []storage.SessionID
	for _, e := range page {
		ids = append(ids, e.ID)
	}
	return fmt.Sprint(ids), err
}

func plainKeys(s *storage.Reader) (map[string]string, error) {
	page, _, err := s.List(storage.ListQuery{Prefix: "k"})
	keys := map[string]string{}
	for _, k := range page {
		keys[k.GetKey()] = string(k.GetValue())
	}
	return keys, err
}

// tokensBetween is how many revisions a restore leaves out at least, and how many are at least between two restores of one backup, a second apart.
const tokensBetween = 1 << 20

// restore makes three new clusters from the backup, one after the other. Keys are as they were, in one of them also sessions and what they
// hold, and no token of the old cluster, or of another new one, comes again.
func (w ending) restore() {
	if w.backup == nil || len(w.broken) > 0 {
		return
	}
	highest := w.truth.revision
	for n := range byte(3) {
		token, err := w.restoreOnce(n)
		if err != nil {
			w.violated("restore", "%v", err)
			return
		}
		if token <= highest+tokensBetween {
			w.violated("restore", "a restored cluster gives token %d, %d was given before", token, highest)
			return
		}
		highest = token
		w.floors.Restores++
	}
}

// restoreOnce restores the backup and returns the token of the first lock that is granted then. The second time sessions live on.
func (w ending) restoreOnce(n byte) (token uint64, err error) {
	o := storage.Options{FS: vfs.NewMem(), Dir: "restored", Cache: w.cache}
	history, keep := [16]byte{9, n}, n == 1
	if err = storage.Restore(o, bytes.NewReader(w.backup.file), storage.RestoreOptions{
		ClusterID: [16]byte{8, n}, HistoryID: history, ConfState: []byte{}, UnixSeconds: 1_700_000_000 + 2*int64(n), KeepSessions: keep,
	}); err != nil {
		return 0, err
	}
	s, err := storage.Open(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := s.NewReader()
	err = w.backup.compare(r, keep)
	if err = errors.Join(err, r.Close()); err != nil {
		return 0, err
	}
	if got := s.Applied(); got.HistoryID != history {
		return 0, fmt.Errorf("restored state is of history %x", got.HistoryID)
	}
	return firstGrant(s, bytes.Repeat([]byte{n + 1}, 16))
}

// compare demands that a restored state is what was backed up, but for sessions that do not live on, and what they had.
func (b *backup) compare(r *storage.Reader, keep bool) error {
	keys, err := plainKeys(r)
	if err != nil {
		return err
	}
	if fmt.Sprint(keys) != fmt.Sprint(b.keys) {
		return fmt.Errorf("restored keys are %v, backed up were %v", keys, b.keys)
	}
	want := fmt.Sprint([]storage.SessionID(nil))
	if keep {
		want = b.sessions
	}
	if got, err := sessionIDs(r); err != nil || got != want {
		return errors.Join(err, fmt.Errorf("restored sessions are %s, want %s", got, want))
	}
	for key, was := range b.locks {
		info, found, err := r.Lock(key)
		if err != nil {
			return err
		}
		if text := differs(was, info.State, found, keep); text != "" {
			return fmt.Errorf("restored lock %s %s: it is %v, backed up was %v", key, text, info.State, was)
		}
	}
	return nil
}

// differs says how a restored lock is not what it should be; empty: it is. One that nobody used may be forgotten.
func differs(was, is *storev1.LockState, found, keep bool) string {
	used := was.GetHolders()+was.GetWaiters()+was.GetDelayedHolds() > 0
	switch {
	case !found && used:
		return "is not there"
	case !found:
		return ""
	case is.GetLockIndex() != was.GetLockIndex():
		return "has another lock index"
	case !is.GetFrozen():
		return "is not frozen"
	case !keep && is.GetHolders()+is.GetWaiters() > 0:
		return "has holders and waiters, and no session lives"
	case keep:
		like := proto.CloneOf(is)
		like.Frozen = was.GetFrozen()
		if !proto.Equal(like, was) {
			return "is another"
		}
	}
	return ""
}

// firstGrant asks for a lock while grants are frozen, and again when they are not any more, and returns its token.
func firstGrant(s *storage.Store, id []byte) (uint64, error) {
	acquire := &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
		Key: "restored", Session: &storev1.SessionRef{SessionId: id}, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
	}}}
	at := s.Applied()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Proposer: 1, Sequence: 1, Commands: []*storev1.Command{
		{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: id, TtlMs: 5000, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}},
		acquire,
		{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Reason: "simulated"}}},
		acquire,
	}})
	if err != nil {
		return 0, err
	}
	out, err := s.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		return 0, err
	}
	results := out.Entries[0].Results
	for _, result := range results {
		if f := result.GetFailure(); f != nil {
			return 0, fmt.Errorf("restored state refuses: %v", f)
		}
	}
	if early := results[1].GetAcquireLock(); !early.GetRefused().GetFrozen() {
		return 0, fmt.Errorf("a restored state is asked for a lock before the freeze has ended, and answers %v", early)
	}
	return results[3].GetAcquireLock().GetHold().GetFencingToken(), nil
}
