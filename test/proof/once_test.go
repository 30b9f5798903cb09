package proof_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// lateRequest is the number of a request that is never sent while its session is good.
const lateRequest = 99

// attempt is one case under one identity, on a scene of its own.
type attempt struct {
	onceCase
	name    string
	scene   *scene
	options *tenurev1.CallOptions
	first   proto.Message
	err     error
}

// answer is one answer of a call.
type answer struct {
	message proto.Message
	err     error
}

func (a *attempt) send(ctx context.Context, c *client) answer {
	s := *a.scene
	s.c = c
	message, err := a.onceCase.send(ctx, &s, a.options)
	return answer{message: message, err: err}
}

// check returns how an answer differs from the first one. Only who answered, and in which term, may be different.
func (a *attempt) check(got answer) error {
	if a.err != nil || got.err != nil {
		want, have := status.Convert(a.err), status.Convert(got.err)
		if want.Code() != have.Code() || rig.ErrorInfo(a.err).GetReason() != rig.ErrorInfo(got.err).GetReason() || want.Message() != have.Message() {
			return fmt.Errorf("got %v, %w; want the first answer %v, %w", got.message, got.err, a.first, a.err)
		}
		return nil
	}
	if place := placeOf(a.first); place.GetPlace() != 0 {
		if p := placeOf(got.message); p.GetPlace() != place.GetPlace() || p.GetKey() != place.GetKey() || p.GetSessionId() != place.GetSessionId() {
			return fmt.Errorf("got place %v, want the first one %v", p, place)
		}
		return nil
	}
	if !proto.Equal(withoutTerm(got.message), withoutTerm(a.first)) {
		return fmt.Errorf("got %v, want the first answer %v", got.message, a.first)
	}
	return nil
}

// placeOf returns the place in an answer that queues, or nil. Where in the queue the place is, and since when, is told as
// it is now; which place it is never changes.
func placeOf(m proto.Message) *tenurev1.Place {
	switch step := m.(type) {
	case *tenurev1.AcquireLockResponse:
		return step.GetQueued().GetPlace()
	case *tenurev1.CampaignResponse:
		return step.GetQueued().GetPlace()
	default:
		return nil
	}
}

// withoutTerm returns a copy of an answer with the term left out of its header.
func withoutTerm(m proto.Message) proto.Message {
	m = proto.Clone(m)
	ref := m.ProtoReflect()
	header := ref.Descriptor().Fields().ByName("header")
	if h, ok := ref.Get(header).Message().Interface().(*tenurev1.ResponseHeader); ok && ref.Has(header) {
		h.Term = 0
		ref.Set(header, protoreflect.ValueOfMessage(h.ProtoReflect()))
	}
	return m
}

// newAttempts sets up every case under every identity that it takes.
func newAttempts(ctx context.Context, t *testing.T, c *client, prefix string) []*attempt {
	t.Helper()
	cases := onceCases()
	var all []*attempt
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		tc := cases[name]
		for _, kind := range []identity{byRequestID, byKey} {
			if tc.identity&kind == 0 {
				continue
			}
			a := &attempt{onceCase: tc, name: fmt.Sprint(name, map[identity]string{byRequestID: ", request id", byKey: ", idempotency key"}[kind])}
			a.scene = &scene{c: c, key: fmt.Sprintf("once/%s/%02d", prefix, len(all)), id: c.session(ctx, t, "actor"), other: c.session(ctx, t, "other")}
			a.options = &tenurev1.CallOptions{}
			if kind == byRequestID {
				a.options.Epoch = 1
				a.options.RequestId = &tenurev1.RequestID{SessionId: a.scene.id, Sequence: 7}
			} else {
				sum := sha256.Sum256([]byte(a.scene.key))
				a.options.IdempotencyKey = sum[:16]
			}
			if a.setup != nil {
				if err := a.setup(ctx, a.scene); err != nil {
					t.Fatalf("%s: set up: %v", a.name, err)
				}
			}
			all = append(all, a)
		}
	}
	return all
}

// run makes n calls at once and fails unless all get the same answer and the cluster moves once.
func (a *attempt) run(ctx context.Context, t *testing.T, c *client, n int, changes uint64) {
	t.Helper()
	before := c.status(ctx, t).GetHeader().GetRevision()
	answers := make([]answer, n)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = a.send(ctx, c) })
	}
	wg.Wait()
	if a.first == nil && a.err == nil {
		a.first, a.err = answers[0].message, answers[0].err
		if status.Code(a.err) == codes.OK && a.reason != "" || rig.ErrorInfo(a.err).GetReason() != a.reason || a.err != nil && a.reason == "" {
			t.Errorf("%s: got %v, %v; want reason %q", a.name, a.first, a.err, a.reason)
		}
	}
	for _, got := range answers {
		if err := a.check(got); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	}
	if after := c.status(ctx, t).GetHeader().GetRevision(); after != before+changes {
		t.Errorf("%s: sent %d times, the cluster moved by %d revisions, want %d", a.name, n, after-before, changes)
	}
}

// TestAChangeIsMadeOnceHoweverOftenItIsSent sends every call that changes something, loses its answer, and sends it again:
// one to three times, at once with itself, after others changed the same things, after the member was killed, after its
// session ended. It has one effect, and all get the first answer.
func TestAChangeIsMadeOnceHoweverOftenItIsSent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := rig.Start(ctx, t, binary)
	c := connect(m)
	defer func() { c.close() }()
	var all []*attempt
	for round := range scaled(1, 20) {
		alone := newAttempts(ctx, t, c, fmt.Sprint("alone", round))
		for i, a := range alone {
			a.run(ctx, t, c, 1, a.changes) // The answer is lost here: nobody acts on it.
			for range 1 + i%3 {
				a.run(ctx, t, c, 1, 0)
			}
			a.run(ctx, t, c, 4, 0)
		}
		atOnce := newAttempts(ctx, t, c, fmt.Sprint("at-once", round))
		for _, a := range atOnce {
			a.run(ctx, t, c, 2+round%3, a.changes)
		}
		all = append(all, append(alone, atOnce...)...)
	}
	again := func(t *testing.T) {
		for _, a := range all {
			a.run(ctx, t, c, 1, 0)
		}
	}
	t.Run("after others changed the same keys", func(t *testing.T) {
		disturb(ctx, t, c, all)
		again(t)
	})
	t.Run("after the member was killed", func(t *testing.T) {
		c = restart(ctx, m, c)
		again(t)
	})
	t.Run("after the session was taken over", func(t *testing.T) {
		superseded(ctx, t, c, all)
		again(t)
	})
	t.Run("after the session ended", func(t *testing.T) {
		ended(ctx, t, c, all)
		again(t)
		c = restart(ctx, m, c)
		again(t)
	})
	if len(all) < 80 {
		t.Errorf("got %d attempts, want at least 80", len(all))
	}
}

// disturb changes what the calls were about, so that one that is made again would change something.
func disturb(ctx context.Context, t *testing.T, c *client, all []*attempt) {
	t.Helper()
	for _, a := range all {
		for _, id := range []string{a.scene.id, a.scene.other} {
			_, err := c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: a.scene.key, SessionId: id})
			if err != nil {
				t.Fatalf("%s: %v", a.name, err)
			}
		}
		for _, key := range []string{a.scene.key, a.scene.key + "/0"} {
			if _, err := c.Put(ctx, &tenurev1.PutRequest{Key: key, Content: text("disturbed")}); err != nil {
				t.Fatalf("%s: %v", a.name, err)
			}
		}
	}
}

// superseded takes over the session of every second attempt. A new call under the old epoch is refused, and told that it
// was not applied.
func superseded(ctx context.Context, t *testing.T, c *client, all []*attempt) {
	t.Helper()
	for i, a := range all {
		if i%2 == 0 {
			continue
		}
		_, err := c.AttachSession(ctx, &tenurev1.AttachSessionRequest{
			SessionId: a.scene.id, TakeOver: true, InstanceId: []byte("new"), Options: &tenurev1.CallOptions{Epoch: 1},
		})
		if rig.ErrorInfo(err).GetReason() == "SESSION_EXPIRED" {
			continue // The case ended it.
		}
		if err != nil {
			t.Fatalf("%s: take over: %v", a.name, err)
		}
		a.late(ctx, t, c, "SESSION_SUPERSEDED")
	}
}

// ended ends all sessions. A new call under one of them is refused, and told that it was not applied.
func ended(ctx context.Context, t *testing.T, c *client, all []*attempt) {
	t.Helper()
	for i, a := range all {
		if _, err := c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: a.scene.id}); err != nil &&
			rig.ErrorInfo(err).GetReason() != "SESSION_EXPIRED" {
			t.Fatalf("%s: end session: %v", a.name, err)
		}
		if i%2 == 0 {
			a.late(ctx, t, c, "SESSION_EXPIRED")
		}
	}
}

// late sends a change under a request id that was never used before.
func (a *attempt) late(ctx context.Context, t *testing.T, c *client, reason string) {
	t.Helper()
	if a.options.GetRequestId() == nil {
		return
	}
	_, err := c.Put(ctx, &tenurev1.PutRequest{Key: a.scene.key, Options: &tenurev1.CallOptions{
		Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: a.scene.id, Sequence: lateRequest},
	}})
	wantError(t, err, codes.FailedPrecondition, reason)
	if applied := rig.ErrorInfo(err).GetMetadata()["applied"]; applied != "no" {
		t.Errorf("%s: got applied %q, want no", a.name, applied)
	}
}

// TestOneIdentityIsForOneRequest sends another request under an identity that was used.
func TestOneIdentityIsForOneRequest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := connect(rig.Start(ctx, t, binary))
	defer c.close()
	id := c.session(ctx, t, "s")
	identities := map[string]*tenurev1.CallOptions{
		"request id":      {Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 1}},
		"idempotency key": {IdempotencyKey: []byte("0123456789abcdef")},
	}
	for name, o := range identities {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("1"), Options: o}); err != nil {
				t.Fatal(err)
			}
			before := c.status(ctx, t).GetHeader().GetRevision()
			_, putErr := c.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("2"), Options: o})
			_, deleteErr := c.Delete(ctx, &tenurev1.DeleteRequest{Key: "k", Options: o})
			_, flagsErr := c.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("1"), Flags: 1, Options: o})
			for _, err := range []error{putErr, deleteErr, flagsErr} {
				wantError(t, err, codes.FailedPrecondition, "REQUEST_ID_REUSED")
			}
			if after := c.status(ctx, t).GetHeader().GetRevision(); after != before {
				t.Errorf("the cluster moved from revision %d to %d", before, after)
			}
		})
	}
}

// TestTheWindowOfRequestsIsExact fills a session's window to its last place and moves its mark.
func TestTheWindowOfRequestsIsExact(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := connect(rig.Start(ctx, t, binary))
	defer c.close()
	const window = 16
	if _, err := c.SetLimits(ctx, &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{RequestWindowMax: proto.Uint32(window)}}); err != nil {
		t.Fatal(err)
	}
	id := c.session(ctx, t, "s")
	put := func(sequence, doneBelow uint64) (uint64, error) {
		r, err := c.Put(ctx, &tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{
			Epoch: 1, RequestId: &tenurev1.RequestID{SessionId: id, Sequence: sequence, DoneBelow: doneBelow},
		}})
		return r.GetHeader().GetRevision(), err
	}
	revisions := map[uint64]uint64{}
	for n := uint64(1); n <= window; n++ {
		revision, err := put(n, 0)
		if err != nil {
			t.Fatalf("request %d of %d: %v", n, window, err)
		}
		revisions[n] = revision
	}
	_, err := put(window+1, 0)
	wantError(t, err, codes.ResourceExhausted, "REQUEST_WINDOW_FULL")
	if revisions[window+1], err = put(window+1, 5); err != nil {
		t.Errorf("with four done: %v", err)
	}
	for n := uint64(1); n <= window+1; n++ {
		got, err := put(n, 0)
		switch {
		case n < 5:
			wantError(t, err, codes.FailedPrecondition, "REQUEST_ID_DONE")
		case err != nil || got != revisions[n]:
			t.Errorf("request %d again: got revision %d, %v; want %d", n, got, err, revisions[n])
		}
	}
	if r, err := c.Get(ctx, &tenurev1.GetRequest{Key: "k"}); err != nil || r.GetKv().GetVersion() != window+1 {
		t.Errorf("got %v, want %d changes", errors.Join(err, fmt.Errorf("version %d", r.GetKv().GetVersion())), window+1)
	}
}
