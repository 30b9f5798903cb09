package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// forgetful is a member that makes a change and loses its answer; asked again it answers. It remembers by which keys it was asked.
type forgetful struct {
	answer proto.Message
	keys   [][]byte
}

// intercept stands before every call.
func (f *forgetful) intercept(_ context.Context, request any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	change, ok := request.(interface{ GetOptions() *tenurev1.CallOptions })
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "unknown method %s", info.FullMethod)
	}
	f.keys = append(f.keys, change.GetOptions().GetIdempotencyKey())
	if len(f.keys) == 1 {
		return nil, status.Error(codes.Unavailable, "the connection was lost")
	}
	return f.answer, nil
}

// A change without a session whose answer is lost is asked for again under the same key, so that it is made once and told as made.
func TestAChangeWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	const session = "9c1e6a0a-3c5e-4f7e-8a55-0d5a1f5f0001"
	for name, test := range map[string]struct {
		args   []string
		stdin  string
		answer proto.Message
		says   string
	}{
		"kv put": {
			args: []string{"kv", "put", "k", "v"}, answer: &tenurev1.PutResponse{}, says: "Success! Data written to: k\n",
		},
		"kv put that acquires": {
			args:   []string{"kv", "put", "k", "v", "--acquire", session},
			answer: &tenurev1.PutResponse{Acquired: true}, says: "Success! Lock acquired on: k\n",
		},
		"kv put that releases": {
			args:   []string{"kv", "put", "k", "v", "--release", session},
			answer: &tenurev1.PutResponse{Released: true}, says: "Success! Lock released on: k\n",
		},
		"kv delete": {
			args: []string{"kv", "delete", "k"}, answer: &tenurev1.DeleteResponse{Deleted: true}, says: "Success! Deleted key: k\n",
		},
		"kv delete of a prefix": {
			args:   []string{"kv", "delete", "p", "--prefix"},
			answer: &tenurev1.DeletePrefixResponse{Deleted: 2}, says: "Success! Deleted 2 keys with prefix: p\n",
		},
		"kv import": {
			args: []string{"kv", "import"}, stdin: `{"key": "k", "value": "", "flags": "0"}`,
			answer: &tenurev1.TxnResponse{Succeeded: true}, says: "Success! Imported 1 key.\n",
		},
		"txn": {
			args: []string{"txn", "-"}, stdin: `{"then": [{"put": {"key": "k", "text": "v"}}]}`,
			answer: &tenurev1.TxnResponse{Succeeded: true}, says: `"succeeded": true`,
		},
		"session create": {
			args:   []string{"session", "create"},
			answer: &tenurev1.CreateSessionResponse{SessionId: session}, says: session + "\n",
		},
		"lock break": {
			args:   []string{"lock", "break", "k", "--reason", "r"},
			answer: &tenurev1.BreakLockResponse{Holds: 1}, says: "Success! Lock broken: k",
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := &forgetful{answer: test.answer}
			endpoint := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(asked.intercept))
			env, out := fake.EnvironmentAt()
			env.Stdin = strings.NewReader(test.stdin)
			code := execute(t.Context(), env, append(test.args, "--endpoints", endpoint))
			if code != cli.ExitOK || !strings.Contains(out.String(), test.says) {
				t.Errorf("got exit code %d and %q, want %d and %q", code, out, cli.ExitOK, test.says)
			}
			if len(asked.keys) != 2 || len(asked.keys[0]) < 16 || !bytes.Equal(asked.keys[0], asked.keys[1]) {
				t.Errorf("got keys %x, want one key twice", asked.keys)
			}
		})
	}
}

// A transaction that says itself how it is known again stays as it is.
func TestATransactionKeepsItsOwnKey(t *testing.T) {
	asked := &forgetful{answer: &tenurev1.TxnResponse{Succeeded: true}}
	endpoint := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(asked.intercept))
	env, out := fake.EnvironmentAt()
	env.Stdin = strings.NewReader(`{"then": [], "options": {"idempotencyKey": "MDEyMzQ1Njc4OWFiY2RlZg=="}}`)
	if code := execute(t.Context(), env, []string{"txn", "-", "--endpoints", endpoint}); code != cli.ExitOK {
		t.Errorf("got exit code %d: %s", code, out)
	}
	if got := bytes.Join(asked.keys, []byte(" ")); string(got) != "0123456789abcdef 0123456789abcdef" {
		t.Errorf("got keys %q, want its own twice", got)
	}
}

// The same with a real member: its answer is held back until it has written, and the connection is cut then. A put that must create the key
// would be refused if it were another one.
func TestAPutIsMadeOnceByARealMember(t *testing.T) {
	proxy, err := rig.NewProxy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	member := launched(t, "", "serve", "--dev", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0")
	address := expect(t, member, servingLine.String())[1]
	proxy.SetTarget(address)
	over, beside := fake.ClientAt(t, proxy.Address()), fake.ClientAt(t, address)
	proxy.Block("out")
	done := make(chan error, 1)
	go func() {
		_, err := over.KV().Put(t.Context(), "k", []byte("v"), tenure.IfRevision(0))
		done <- err
	}()
	for event, err := range beside.Watch(t.Context(), tenure.OnKeys("k"), tenure.WithInitial()) {
		if err != nil {
			t.Fatal(err)
		}
		if event.Type == tenure.EventPut || len(event.Initial) > 0 {
			break
		}
	}
	proxy.Cut()
	proxy.Heal()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if kv, err := beside.KV().Get(t.Context(), "k"); err != nil || kv.Version != 1 {
		t.Errorf("got %+v, %v; want it written once", kv, err)
	}
}
