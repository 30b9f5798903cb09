package sim

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// backup is one that was taken while the cluster went on.
type backup struct {
	file []byte
	keys map[string]string // the plain keys in it
}

// backUp takes a backup at the leader.
func (w ending) backUp() {
	l := w.leader()
	if l == nil || !l.up() {
		return
	}
	s := l.life.store.NewReader()
	b := &backup{}
	var file bytes.Buffer
	err := storage.WriteBackup(&file, s, storage.BackupMeta{Member: fmt.Sprint(l.id)})
	if err == nil {
		b.keys, err = plainKeys(s)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		w.violated("backup", "member %d: %v", l.id, err)
		return
	}
	b.file = file.Bytes()
	w.backup = b
	w.note("backup", l.id)
}

func plainKeys(s *storage.Reader) (map[string]string, error) {
	page, _, err := s.List(storage.ListQuery{Prefix: "k"})
	keys := map[string]string{}
	for _, k := range page {
		keys[k.GetKey()] = string(k.GetValue())
	}
	return keys, err
}

// restore makes two new clusters from the backup, one after the other. Keys are as they were, and no token of the old
// cluster, or of the other new one, comes again.
func (w ending) restore() {
	if w.backup == nil || len(w.broken) > 0 {
		return
	}
	highest := w.truth.revision
	for n := range byte(2) {
		token, err := w.restoreOnce(n)
		if err != nil {
			w.violated("restore", "%v", err)
			return
		}
		if token <= highest {
			w.violated("restore", "a restored cluster gives token %d, %d was given before", token, highest)
			return
		}
		highest = token
		w.floors.Restores++
	}
}

// restoreOnce restores the backup and returns the token of the first lock that is granted then.
func (w ending) restoreOnce(n byte) (token uint64, err error) {
	o := storage.Options{FS: vfs.NewMem(), Dir: "restored", Cache: w.cache}
	history := [16]byte{9, n}
	if err = storage.Restore(o, bytes.NewReader(w.backup.file), storage.RestoreOptions{
		ClusterID: [16]byte{8, n}, HistoryID: history, ConfState: []byte{}, UnixSeconds: 1_700_000_000 + int64(n),
	}); err != nil {
		return 0, err
	}
	s, err := storage.Open(o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := s.NewReader()
	keys, err := plainKeys(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return 0, err
	}
	if fmt.Sprint(keys) != fmt.Sprint(w.backup.keys) {
		return 0, fmt.Errorf("restored keys are %v, backed up were %v", keys, w.backup.keys)
	}
	if got := s.Applied(); got.HistoryID != history || got.Sessions != 0 {
		return 0, fmt.Errorf("restored state is of history %x with %d sessions", got.HistoryID, got.Sessions)
	}
	id := bytes.Repeat([]byte{n + 1}, 16)
	at := s.Applied()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Proposer: 1, Sequence: 1, Commands: []*storev1.Command{
		{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Reason: "simulated"}}},
		{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: id, TtlMs: 5000, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}},
		{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: "restored", Session: &storev1.SessionRef{SessionId: id}, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
		}}},
	}})
	if err != nil {
		return 0, err
	}
	out, err := s.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		return 0, err
	}
	for _, result := range out.Entries[0].Results {
		if f := result.GetFailure(); f != nil {
			return 0, fmt.Errorf("restored state refuses: %v", f)
		}
	}
	return out.Entries[0].Results[2].GetAcquireLock().GetHold().GetFencingToken(), nil
}
