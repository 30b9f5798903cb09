package storage_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/layout"
)

// benchStore returns a store on the benchmark's own directory.
func benchStore(b *testing.B) *storage.Store {
	b.Helper()
	store, err := storage.Open(storage.Options{FS: vfs.Default, Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	if err := store.Bootstrap(storage.Genesis{ClusterVersion: layout.VersionMax}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return store
}

// applyMany applies n commands in entries of 64.
func applyMany(b *testing.B, store *storage.Store, n int, command func(int) *storev1.Command) {
	b.Helper()
	for i := 0; i < n; {
		env := &storev1.Envelope{}
		for ; len(env.GetCommands()) < 64 && i < n; i++ {
			env.Commands = append(env.Commands, command(i))
		}
		a := store.Applied()
		data, err := storage.EncodeEnvelope(env)
		if err != nil {
			b.Fatal(err)
		}
		out, err := store.Apply([]storage.Entry{{Index: a.Index + 1, Term: 1, Data: data}})
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range out.Entries[0].Results {
			if f := r.GetFailure(); f != nil {
				b.Fatal(f)
			}
		}
	}
}

func benchID(i int) []byte {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(i)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return id[:]
}

func BenchmarkApplyPut(b *testing.B) {
	store := benchStore(b)
	value := make([]byte, 256)
	b.ReportAllocs()
	b.ResetTimer()
	applyMany(b, store, b.N, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{
			Key: fmt.Sprintf("bench/%06d", i*7919%100_000), Value: value,
		}}}
	})
}

// BenchmarkApplyPutOnce puts under request ids, as the libraries do: 64 sessions, each with two requests that are not yet done.
func BenchmarkApplyPutOnce(b *testing.B) {
	const sessions, open = 64, 2
	store := benchStore(b)
	value, digest := make([]byte, 256), make([]byte, 32)
	applyMany(b, store, sessions, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: benchID(i), Name: "bench", TtlMs: 10_000, Metadata: []*storev1.MetadataEntry{{Name: "host", Value: "h1"}, {Name: "program", Value: "bench"}},
			Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}
	})
	b.ReportAllocs()
	b.ResetTimer()
	applyMany(b, store, b.N, func(i int) *storev1.Command {
		sequence := uint64(i/sessions + 1)
		return &storev1.Command{
			RequestId: &storev1.RequestID{
				SessionId: benchID(i % sessions), Epoch: 1, Sequence: sequence, DoneBelow: max(sequence, open) - open,
			},
			RequestDigest: digest,
			Kind: &storev1.Command_Put{Put: &storev1.Put{
				Key: fmt.Sprintf("bench/%06d", i*7919%100_000), Value: value,
			}},
		}
	})
}

// BenchmarkApplyPutKeyed puts under idempotency keys, when as many are remembered as may be, so that each put forgets one.
func BenchmarkApplyPutKeyed(b *testing.B) {
	const kept = 100_000
	value, digest := make([]byte, 256), make([]byte, 32)
	for name, principal := range map[string]string{"nobody": "", "principal": "token:bench"} {
		b.Run(name, func(b *testing.B) {
			store := benchStore(b)
			put := func(i int) *storev1.Command {
				return &storev1.Command{
					IdempotencyKey: benchID(i), RequestDigest: digest, Principal: principal,
					Kind: &storev1.Command_Put{Put: &storev1.Put{Key: fmt.Sprintf("bench/%06d", i*7919%100_000), Value: value}},
				}
			}
			applyMany(b, store, kept, put)
			b.ReportAllocs()
			b.ResetTimer()
			applyMany(b, store, b.N, func(i int) *storev1.Command { return put(kept + i) })
		})
	}
}

// BenchmarkApplyPutOnceShared puts under the request ids of one session that many callers share, whose requests come out of order.
func BenchmarkApplyPutOnceShared(b *testing.B) {
	const callers = 64
	store := benchStore(b)
	value, digest := make([]byte, 256), make([]byte, 32)
	applyMany(b, store, 1, func(int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: benchID(1), Name: "bench", TtlMs: 10_000, Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}
	})
	b.ReportAllocs()
	b.ResetTimer()
	applyMany(b, store, b.N, func(i int) *storev1.Command {
		sequence := uint64(i/callers*callers+(i*37)%callers) + 1
		return &storev1.Command{
			RequestId: &storev1.RequestID{
				SessionId: benchID(1), Epoch: 1, Sequence: sequence, DoneBelow: max(sequence, 2*callers) - 2*callers,
			},
			RequestDigest: digest,
			Kind: &storev1.Command_Put{Put: &storev1.Put{
				Key: fmt.Sprintf("bench/%06d", i*7919%100_000), Value: value,
			}},
		}
	})
}

func BenchmarkApplyCreateSession(b *testing.B) {
	store := benchStore(b)
	b.ReportAllocs()
	b.ResetTimer()
	applyMany(b, store, min(b.N, 900_000), func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: benchID(i), Name: "bench", TtlMs: 10_000, LockDelayMs: 15_000,
			Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}
	})
}

func BenchmarkApplyAcquireRelease(b *testing.B) {
	store := benchStore(b)
	applyMany(b, store, 64, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: benchID(i), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}
	})
	b.ReportAllocs()
	b.ResetTimer()
	applyMany(b, store, b.N, func(i int) *storev1.Command {
		ref := &storev1.SessionRef{SessionId: benchID(i / 2 % 64)}
		put := &storev1.Put{Key: fmt.Sprintf("lock/%d", i/2%64), Acquire: ref}
		if i%2 == 1 {
			put.Acquire, put.Release = nil, ref
		}
		return &storev1.Command{Kind: &storev1.Command_Put{Put: put}}
	})
}

// BenchmarkApplyQueue queues for one lock: each session has a thousand places, under an owner each.
func BenchmarkApplyQueue(b *testing.B) {
	const places = 1000
	store := benchStore(b)
	acquire := func(session, owner int) *storev1.Command {
		return &storev1.Command{WallTimeMs: 1, Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: "lock", Session: &storev1.SessionRef{SessionId: benchID(session)}, Owner: fmt.Sprint(owner),
			Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE, Queue: true, WaitMs: 60_000,
		}}}
	}
	applyMany(b, store, b.N/places+1, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: benchID(i), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}}
	})
	b.ReportAllocs()
	b.ResetTimer()
	applyMany(b, store, b.N, func(i int) *storev1.Command { return acquire(i/places, i%places) })
}

func BenchmarkGet(b *testing.B) {
	store := benchStore(b)
	value := make([]byte, 256)
	const keys = 100_000
	applyMany(b, store, keys, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: fmt.Sprintf("bench/%06d", i), Value: value}}}
	})
	if err := store.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		r := store.NewReader()
		if _, ok, err := r.Get(fmt.Sprintf("bench/%06d", i*7919%keys)); !ok || err != nil {
			b.Fatal(ok, err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBackup writes, verifies and restores a backup of 100 000 keys of 256 bytes.
func BenchmarkBackup(b *testing.B) {
	store := benchStore(b)
	value := make([]byte, 256)
	applyMany(b, store, 100_000, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: fmt.Sprintf("bench/%06d", i), Value: value}}}
	})
	backup := backupOf(b, store)
	steps := map[string]func() error{
		"write": func() error {
			r := store.NewReader()
			return errors.Join(storage.WriteBackup(io.Discard, r, storage.BackupMeta{}), r.Close())
		},
		"verify": func() error {
			_, err := storage.VerifyBackup(bytes.NewReader(backup))
			return err
		},
		"restore": func() error {
			o := storage.Options{FS: vfs.Default, Dir: filepath.Join(b.TempDir(), "restored")}
			return storage.Restore(o, bytes.NewReader(backup), restoreOptions(1))
		},
	}
	for name, step := range steps {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(backup)))
			b.ReportAllocs()
			for b.Loop() {
				if err := step(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
