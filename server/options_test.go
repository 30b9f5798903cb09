package server_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// optionsBench is where one call with one option is made: a key of its own, and a session with a secret that was taken
// over once, so that its epoch is 2.
type optionsBench struct {
	*member
	t       *testing.T
	key     string
	session string
	secret  []byte
}

// unusedSession is an id that no session has.
const unusedSession = "00000000-0000-4000-8000-000000000001"

// reusedKey is an idempotency key under which another request was made.
const reusedKey = "0123456789abcdef"

func newOptionsBench(t *testing.T, m *member, key string) *optionsBench {
	t.Helper()
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{WantSecret: true})
	if err != nil {
		t.Fatal(err)
	}
	b := &optionsBench{member: m, t: t, key: key, session: s.GetSessionId(), secret: s.GetSecret()}
	_, err = m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{
		SessionId: b.session, TakeOver: true, Options: &tenurev1.CallOptions{SessionSecret: b.secret, Epoch: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// acting are the options of a call that acts as the session.
func (b *optionsBench) acting() *tenurev1.CallOptions {
	return &tenurev1.CallOptions{SessionSecret: b.secret, Epoch: 2}
}

// hold gives the session the lock, and returns its proof.
func (b *optionsBench) hold(session string, o *tenurev1.CallOptions) *tenurev1.Sequencer {
	b.t.Helper()
	r, err := b.TryAcquireLock(b.t.Context(), &tenurev1.TryAcquireLockRequest{Key: b.key, SessionId: session, Options: o})
	if err != nil || !r.GetAcquired() {
		b.t.Fatalf("got %v, %v; want the lock", r, err)
	}
	return r.GetHold().GetSequencer()
}

// optionsCase is one kind of call: what it does with each option.
type optionsCase struct {
	message proto.Message     // the request
	acts    bool              // as the session
	uses    string            // names of the options that it honours
	reasons map[string]string // of refusals that are other than the probe's
	prepare func(*optionsBench)
	// call makes the call and returns what it did, as far as an owner or a reason has a say in that.
	call func(*optionsBench, *tenurev1.CallOptions) (string, error)
}

// optionProbe gives one option a value that changes how the call ends, if it is honoured.
type optionProbe struct {
	set    func(*optionsBench, *tenurev1.CallOptions)
	with   func(*tenurev1.CallOptions) // what it needs besides, if it is honoured
	reason string                      // of the refusal; empty: the call does something else than without the option
}

func optionProbes() map[string]optionProbe {
	return map[string]optionProbe{
		"session_secret": {
			set:    func(_ *optionsBench, o *tenurev1.CallOptions) { o.SessionSecret = bytes.Repeat([]byte{7}, 32) },
			reason: "SESSION_SECRET_WRONG",
		},
		"epoch": {
			set:    func(_ *optionsBench, o *tenurev1.CallOptions) { o.Epoch = 1 },
			reason: "SESSION_SUPERSEDED",
		},
		"request_id": {
			set: func(_ *optionsBench, o *tenurev1.CallOptions) {
				o.RequestId = &tenurev1.RequestID{SessionId: unusedSession, Sequence: 1}
			},
			with:   func(o *tenurev1.CallOptions) { o.Epoch = 2 },
			reason: "SESSION_NOT_FOUND",
		},
		"idempotency_key": {
			set:    func(_ *optionsBench, o *tenurev1.CallOptions) { o.IdempotencyKey = []byte(reusedKey) },
			reason: "REQUEST_ID_REUSED",
		},
		"guards": {
			set: func(b *optionsBench, o *tenurev1.CallOptions) {
				o.Guards = []*tenurev1.Guard{{Condition: &tenurev1.Guard_Key{Key: &tenurev1.KeyCondition{
					Key: b.key + "-missing", Exists: new(true),
				}}}}
			},
			reason: "COMPARE_FAILED",
		},
		"owner": {set: func(_ *optionsBench, o *tenurev1.CallOptions) { o.Owner = "somebody" }},
		"force": {
			set: func(_ *optionsBench, o *tenurev1.CallOptions) { o.Force = true },
			with: func(o *tenurev1.CallOptions) {
				o.SessionSecret, o.Epoch, o.Reason = nil, 0, "stuck"
			},
			reason: "none",
		},
		"reason": {set: func(_ *optionsBench, o *tenurev1.CallOptions) { o.Reason = "tidied up" }},
	}
}

// TestEveryOptionIsHonouredOrRefused gives every call that takes options each of them: what a call has no use for it
// refuses by name, and what it takes has its effect.
func TestEveryOptionIsHonouredOrRefused(t *testing.T) {
	m := start(t)
	_, err := m.Put(t.Context(), &tenurev1.PutRequest{
		Key: "used", Options: &tenurev1.CallOptions{IdempotencyKey: []byte(reusedKey)},
	})
	if err != nil {
		t.Fatal(err)
	}
	cases, probes := optionsCases(), optionProbes()
	checkOptionsTable(t, cases, probes)
	serial := 0
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			run := func(set func(*optionsBench, *tenurev1.CallOptions)) (string, error) {
				serial++
				b := newOptionsBench(t, m, fmt.Sprintf("k%d", serial))
				if c.prepare != nil {
					c.prepare(b)
				}
				o := &tenurev1.CallOptions{}
				if c.acts {
					o = b.acting()
				}
				set(b, o)
				return c.call(b, o)
			}
			usual, err := run(func(*optionsBench, *tenurev1.CallOptions) {})
			if err != nil {
				t.Fatalf("without the option: %v", err)
			}
			for option, probe := range probes {
				honours := slices.Contains(strings.Fields(c.uses), option)
				did, err := run(func(b *optionsBench, o *tenurev1.CallOptions) {
					probe.set(b, o)
					if honours && probe.with != nil {
						probe.with(o)
					}
				})
				if !honours {
					if !refusesOption(err, option) {
						t.Errorf("%s: got %q, %v; want it refused by name", option, did, err)
					}
					continue
				}
				reason := probe.reason
				if r, other := c.reasons[option]; other {
					reason = r
				}
				switch reason {
				case "none":
					if err != nil {
						t.Errorf("%s: got %v, want success", option, err)
					}
				case "":
					if err != nil || did == usual {
						t.Errorf("%s: got %q, %v; want another outcome than %q", option, did, err, usual)
					}
				default:
					if infoOf(err).GetReason() != reason {
						t.Errorf("%s: got %q, %v; want %s", option, did, err, reason)
					}
				}
			}
		})
	}
}

// refusesOption tells whether an error says that a request has no use for an option.
func refusesOption(err error, option string) bool {
	if status.Code(err) != codes.InvalidArgument || infoOf(err).GetReason() != "INVALID_ARGUMENT" {
		return false
	}
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			return len(bad.GetFieldViolations()) == 1 && strings.HasSuffix(bad.GetFieldViolations()[0].GetField(), "options."+option)
		}
	}
	return false
}

// checkOptionsTable fails if the API has a request with options, or an option, that the table does not know.
func checkOptionsTable(t *testing.T, cases map[string]optionsCase, probes map[string]optionProbe) {
	t.Helper()
	options := (&tenurev1.CallOptions{}).ProtoReflect().Descriptor()
	for i := range options.Fields().Len() {
		if name := string(options.Fields().Get(i).Name()); probes[name].set == nil {
			t.Errorf("there is no probe for the option %s", name)
		}
	}
	known := map[protoreflect.FullName]bool{}
	for c := range maps.Values(cases) {
		known[c.message.ProtoReflect().Descriptor().FullName()] = true
	}
	for _, file := range []protoreflect.FileDescriptor{
		tenurev1.File_tenure_v1_catalog_proto, tenurev1.File_tenure_v1_cluster_proto, tenurev1.File_tenure_v1_election_proto, tenurev1.File_tenure_v1_kv_proto,
		tenurev1.File_tenure_v1_lock_proto, tenurev1.File_tenure_v1_query_proto, tenurev1.File_tenure_v1_session_proto, tenurev1.File_tenure_v1_watch_proto,
	} {
		for i := range file.Messages().Len() {
			message := file.Messages().Get(i)
			field := message.Fields().ByName("options")
			if field != nil && field.Message() == options && !known[message.FullName()] {
				t.Errorf("there is no case for %s", message.FullName())
			}
		}
	}
}

// firstStep returns the first message of a stream.
func firstStep[T any](stream interface{ Recv() (T, error) }, err error) (step T, failed error) {
	if err != nil {
		return step, err
	}
	return stream.Recv()
}
