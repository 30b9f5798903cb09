package proof_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// hand is a holder with its proof, in one case of losing it.
type hand struct {
	session string
	key     string
	proof   *tenurev1.Sequencer
}

// waysToLose are all ways in which a hold ends, each by what others do or leave undone.
func waysToLose() map[string]func(ctx context.Context, c *client, h *hand) error {
	release := func(ctx context.Context, c *client, h *hand, o *tenurev1.CallOptions) error {
		r, err := c.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: h.key, SessionId: h.session, Options: o})
		if err == nil && !r.GetReleased() {
			return errors.New("nothing was released")
		}
		return err
	}
	acquire := func(ctx context.Context, c *client, h *hand) error {
		r, err := c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: h.key, SessionId: h.session})
		if err == nil && !r.GetAcquired() {
			return errors.New("it was not acquired again")
		}
		return err
	}
	return map[string]func(ctx context.Context, c *client, h *hand) error{
		"release": func(ctx context.Context, c *client, h *hand) error { return release(ctx, c, h, nil) },
		"release and acquire again": func(ctx context.Context, c *client, h *hand) error {
			return errors.Join(release(ctx, c, h, nil), acquire(ctx, c, h))
		},
		"release by force": func(ctx context.Context, c *client, h *hand) error {
			return release(ctx, c, h, &tenurev1.CallOptions{Force: true, Reason: "test"})
		},
		"put that releases": func(ctx context.Context, c *client, h *hand) error {
			r, err := c.Put(ctx, &tenurev1.PutRequest{Key: h.key, Release: h.session})
			if err == nil && !r.GetReleased() {
				return errors.New("nothing was released")
			}
			return err
		},
		"resignation": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.Resign(ctx, &tenurev1.ResignRequest{Key: h.key, SessionId: h.session})
			return err
		},
		"destroy": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: h.session})
			return err
		},
		"clean destroy": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: h.session, Clean: true})
			return err
		},
		"destroy by force": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.DestroySession(ctx, &tenurev1.DestroySessionRequest{SessionId: h.session, Force: true, Reason: "test"})
			return err
		},
		"break": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.BreakLock(ctx, &tenurev1.BreakLockRequest{Key: h.key, Reason: "test"})
			return err
		},
		"takeover": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.AttachSession(ctx, &tenurev1.AttachSessionRequest{
				SessionId: h.session, TakeOver: true, InstanceId: []byte("two"), Options: &tenurev1.CallOptions{Epoch: 1},
			})
			return err
		},
		"delete and create again by another": func(ctx context.Context, c *client, h *hand) error {
			_, err := c.Delete(ctx, &tenurev1.DeleteRequest{Key: h.key})
			other, createErr := c.CreateSession(ctx, &tenurev1.CreateSessionRequest{})
			put, putErr := c.Put(ctx, &tenurev1.PutRequest{Key: h.key})
			return errors.Join(err, createErr, putErr, release(ctx, c, h, nil),
				acquire(ctx, c, &hand{session: other.GetSessionId(), key: h.key, proof: put.GetSequencer()}))
		},
		"forgotten by compaction, and locked again by itself": func(ctx context.Context, c *client, h *hand) error {
			if err := release(ctx, c, h, nil); err != nil {
				return err
			}
			r, err := c.Delete(ctx, &tenurev1.DeleteRequest{Key: h.key})
			if err != nil {
				return err
			}
			if _, err = c.Compact(ctx, &tenurev1.CompactRequest{Revision: r.GetHeader().GetRevision()}); err != nil {
				return err
			}
			return acquire(ctx, c, h)
		},
		"expiry": func(ctx context.Context, c *client, h *hand) error {
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				s, err := c.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: h.session})
				if err != nil {
					return err
				}
				if s.GetSession().GetEnd().GetCause() == tenurev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED {
					return nil
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}
}

// guarded makes every kind of write under a guard, and returns what each came to.
func guarded(ctx context.Context, c *client, key string, proof *tenurev1.Sequencer) map[string]error {
	guard := &tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: proof}}
	o := &tenurev1.CallOptions{Guards: []*tenurev1.Guard{guard}}
	data := "guarded/" + key
	out := map[string]error{}
	_, out["put"] = c.Put(ctx, &tenurev1.PutRequest{Key: data, Content: text("v"), Options: o})
	_, out["delete"] = c.Delete(ctx, &tenurev1.DeleteRequest{Key: data, Options: o})
	_, out["delete prefix"] = c.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: data, Options: o})
	_, out["txn"] = c.Txn(ctx, &tenurev1.TxnRequest{
		Options: o, Then: []*tenurev1.Op{{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: data}}}},
	})
	_, out["check in a txn"] = c.Txn(ctx, &tenurev1.TxnRequest{Then: []*tenurev1.Op{
		{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: data}}},
		{Kind: &tenurev1.Op_Check{Check: guard}},
	}})
	_, out["proclaim"] = c.Proclaim(ctx, &tenurev1.ProclaimRequest{Key: key, Sequencer: proof})
	_, out["try of another lock"] = c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
		Key: data + "/lock", SessionId: proof.GetSessionId(), Options: o,
	})
	return out
}

// wantValid fails unless a proof is good for every kind of write.
func wantValid(ctx context.Context, t *testing.T, c *client, h *hand) {
	t.Helper()
	for kind, err := range guarded(ctx, c, h.key, h.proof) {
		if err != nil {
			t.Errorf("%s, while it holds: %v", kind, err)
		}
	}
	if r, err := c.CheckSequencer(ctx, checkRequest(h.proof)); err != nil || !r.GetHolds() {
		t.Errorf("check, while it holds: %v, %v", r, err)
	}
}

func checkRequest(proof *tenurev1.Sequencer) *tenurev1.CheckSequencerRequest {
	return &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: proof}}
}

// wantStale fails unless a proof is refused for every kind of write, and nothing was written.
func wantStale(ctx context.Context, t *testing.T, c *client, h *hand) {
	t.Helper()
	before := c.status(ctx, t).GetHeader().GetRevision()
	for kind, err := range guarded(ctx, c, h.key, h.proof) {
		reason := rig.ErrorInfo(err).GetReason()
		// A session that is over may be named first.
		if kind == "proclaim" || kind == "try of another lock" {
			if reason == "SESSION_EXPIRED" {
				continue
			}
		}
		if reason != "FENCING_TOKEN_STALE" {
			t.Errorf("%s with a stale proof: got %v, want FENCING_TOKEN_STALE", kind, err)
		}
	}
	if after := c.status(ctx, t).GetHeader().GetRevision(); after != before {
		t.Errorf("stale writes moved the cluster from revision %d to %d", before, after)
	}
	if r, err := c.CheckSequencer(ctx, checkRequest(h.proof)); err != nil || r.GetHolds() {
		t.Errorf("check of a stale proof: %v, %v; want that it does not hold", r, err)
	}
}

// TestALostLockGuardsNothing loses a lock in every way there is. The old proof is refused by every kind of write, now and
// after the member was killed; a proof of a hold that was not lost stays good over the kill.
func TestALostLockGuardsNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := rig.Start(ctx, t, binary)
	c := connect(m)
	defer func() { c.close() }()
	hands := map[string]*hand{}
	newHand := func(t *testing.T, name string) *hand {
		t.Helper()
		create := &tenurev1.CreateSessionRequest{Name: name, LockDelay: durationpb.New(0)}
		if name == "expiry" {
			create.Ttl = durationpb.New(6 * time.Second) // Nobody renews it, and it has to be good for a dozen calls first.
		}
		s, err := c.CreateSession(ctx, create)
		if err != nil {
			t.Fatal(err)
		}
		h := &hand{session: s.GetSessionId(), key: "lock/" + name}
		r, err := c.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: h.key, SessionId: h.session})
		if err != nil || !r.GetAcquired() {
			t.Fatalf("got %v, %v; want the lock", r, err)
		}
		h.proof = r.GetHold().GetSequencer()
		hands[name] = h
		return h
	}
	kept := newHand(t, "kept")
	delete(hands, "kept")
	for name, lose := range waysToLose() {
		t.Run(name, func(t *testing.T) {
			h := newHand(t, name)
			wantValid(ctx, t, c, h)
			if err := lose(ctx, c, h); err != nil {
				t.Fatal(err)
			}
			wantStale(ctx, t, c, h)
		})
	}
	c = restart(ctx, m, c)
	t.Run("a kill keeps a proof good", func(t *testing.T) { wantValid(ctx, t, c, kept) })
	for name, h := range hands {
		t.Run(name+", after a kill", func(t *testing.T) { wantStale(ctx, t, c, h) })
	}
	other := hands["release and acquire again"].session
	t.Run("a proof of another hold is no proof", func(t *testing.T) { wantNoProof(ctx, t, c, kept.proof, other) })
}

// wantNoProof fails unless a good proof is refused with any of its facts changed.
func wantNoProof(ctx context.Context, t *testing.T, c *client, good *tenurev1.Sequencer, other string) {
	t.Helper()
	for what, change := range map[string]func(*tenurev1.Sequencer){
		"a later token":   func(s *tenurev1.Sequencer) { s.FencingToken++ },
		"an earlier one":  func(s *tenurev1.Sequencer) { s.FencingToken-- },
		"another number":  func(s *tenurev1.Sequencer) { s.LockIndex++ },
		"another session": func(s *tenurev1.Sequencer) { s.SessionId = other },
	} {
		proof := proto.CloneOf(good)
		change(proof)
		_, err := c.Put(ctx, &tenurev1.PutRequest{Key: "data", Options: &tenurev1.CallOptions{
			Guards: []*tenurev1.Guard{{Condition: &tenurev1.Guard_Held{Held: proof}}},
		}})
		if rig.ErrorInfo(err).GetReason() != "FENCING_TOKEN_STALE" {
			t.Errorf("%s: got %v, want FENCING_TOKEN_STALE", what, err)
		}
	}
}
