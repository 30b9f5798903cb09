package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
	"google.golang.org/protobuf/proto"
)

// What a client may send at most.
const (
	keyBytes      = 1024
	ownerBytes    = 256
	nameBytes     = 256
	reasonBytes   = 1024
	metadataBytes = 4096
	valueBytes    = 512 << 10
)

// What the limits and budgets allow.
const (
	sessionObjects = 4096
	leaderNames    = 256  // sessions, waits or delays that the leader ends in one command
	grants         = 256  // waiters that one command grants
	broken         = 1024 // holds and places that one command breaks
	grantBytes     = 4 << 20
	prefixKeys     = 10_000
	txnOps         = 128
	forgotten      = 1024
)

// freezeMs begins each store frozen, for the case that measures the end of that.
const freezeMs = 60_000

// builder makes what a case needs.
type builder struct {
	store    *storage.Store
	scale    int
	sessions uint64
	err      error // the first one; nothing is done any more then
}

// newBase makes the store that all cases begin with.
func newBase(o options) (*storage.Store, error) {
	store, err := storage.Open(storage.Options{Dir: filepath.Join(o.dir, "base")})
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	_, version := storage.ClusterVersions()
	if err = store.Bootstrap(storage.Genesis{ClusterVersion: version, FreezeMs: freezeMs}); err != nil {
		return nil, errors.Join(fmt.Errorf("base: %w", err), store.Close())
	}
	b := &builder{store: store, scale: 1}
	value := []byte(strings.Repeat("v", 256))
	b.many(o.keys, func(i int) *storev1.Command {
		return put(&storev1.Put{Key: fmt.Sprintf("base/%08d", i*7919%(o.keys+1)), Value: value})
	})
	return store, b.err
}

// copyOf opens a copy of a store.
func copyOf(store *storage.Store, dir string) (*storage.Store, error) {
	if _, err := store.Checkpoint(dir); err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	again, err := storage.Open(storage.Options{Dir: dir})
	if err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	return again, nil
}

// n is a number of objects at the scale that is measured.
func (b *builder) n(full int) int { return max(2, full/b.scale) }

// apply applies commands, one entry each few of them; all must succeed.
func (b *builder) apply(commands ...*storev1.Command) (results []*storev1.Result) {
	const entryBytes, entryCommands = 4 << 20, 500
	for b.err == nil && len(commands) > 0 {
		env, size := &storev1.Envelope{}, 0
		for len(commands) > 0 && size < entryBytes && len(env.GetCommands()) < entryCommands {
			env.Commands = append(env.Commands, commands[0])
			size += proto.Size(commands[0])
			commands = commands[1:]
		}
		results = append(results, b.entry(env)...)
	}
	return results
}

func (b *builder) entry(env *storev1.Envelope) []*storev1.Result {
	data, err := storage.EncodeEnvelope(env)
	if err != nil {
		b.err = fmt.Errorf("build: %w", err)
		return nil
	}
	at := b.store.Applied()
	out, err := b.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: 1, Data: data}})
	if err != nil {
		b.err = fmt.Errorf("build: %w", err)
		return nil
	}
	for _, r := range out.Entries[0].Results {
		if f := r.GetFailure(); f != nil && b.err == nil {
			b.err = fmt.Errorf("build: %v %s", f.GetReason(), storage.FailureText(f))
		}
	}
	return out.Entries[0].Results
}

// many applies n commands.
func (b *builder) many(n int, command func(i int) *storev1.Command) []*storev1.Result {
	var results []*storev1.Result
	for i := 0; i < n; {
		var some []*storev1.Command
		for ; i < n && len(some) < 500; i++ {
			some = append(some, command(i))
		}
		results = append(results, b.apply(some...)...)
	}
	return results
}

// session opens a session with the longest texts. It returns how others name it.
func (b *builder) session(change ...func(*storev1.CreateSession)) *storev1.SessionRef {
	b.sessions++
	s := newSession(b.sessions)
	for _, c := range change {
		c(s)
	}
	b.apply(&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: s}})
	return &storev1.SessionRef{SessionId: s.GetSessionId()}
}

func newSession(number uint64) *storev1.CreateSession {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], number*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], number)
	return &storev1.CreateSession{
		SessionId: id[:], Name: strings.Repeat("n", nameBytes), Node: strings.Repeat("d", nameBytes), TtlMs: 10_000, LockDelayMs: 15_000,
		Metadata:     []*storev1.MetadataEntry{{Name: "m", Value: strings.Repeat("m", metadataBytes-1)}},
		Behavior:     storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		SecretSha256: make([]byte, 32), PeerAddress: "127.0.0.1:1",
	}
}

// longKey returns a key as long as one may be.
func longKey(prefix string, i int) string {
	key := fmt.Sprintf("%s/%06d/", prefix, i)
	return key + strings.Repeat("k", keyBytes-len(key))
}

// longOwner returns an owner as long as one may be.
func longOwner(i int) string {
	owner := fmt.Sprintf("%06d/", i)
	return owner + strings.Repeat("o", ownerBytes-len(owner))
}

var longReason = strings.Repeat("r", reasonBytes)

func put(p *storev1.Put) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_Put{Put: p}}
}

func acquire(a *storev1.AcquireLock) *storev1.Command {
	if a.GetMode() == storev1.LockMode_LOCK_MODE_UNSPECIFIED {
		a.Mode = storev1.LockMode_LOCK_MODE_EXCLUSIVE
	}
	a.Queue = true
	return &storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: a}}
}

func destroy(s *storev1.SessionRef) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{
		Session: &storev1.SessionRef{SessionId: s.GetSessionId()}, Force: true, Reason: longReason, By: "127.0.0.1:1",
	}}}
}

func limits(l *storev1.Limits) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{Limits: l, Force: true}}}
}
