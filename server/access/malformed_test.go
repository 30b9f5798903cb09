package access

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
)

// TestWhatCannotBeACredentialNeedsNoProof calls a member that is cut off, in every way that it decides about: a text that no cluster can have made a token
// of is refused at once, and nobody is asked. One that may be a token needs the proof.
func TestWhatCannotBeACredentialNeedsNoProof(t *testing.T) {
	text := []byte("Bearer " + identity.NewToken())
	text[len(text)-1] ^= 'a' ^ 'b' // The checksum is wrong.
	malformed, unknown := identity.Of([]string{string(text)}, nil, identity.ByURI), identity.Of([]string{"Bearer " + identity.NewToken()}, nil, identity.ByURI)
	if malformed.Kind != identity.Bad || unknown.Kind != identity.Token {
		t.Fatalf("got %v and %v", malformed.Kind, unknown.Kind)
	}
	put := &tenurev1.PutRequest{Key: "a"}
	stale := &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{Stale: true}}
	for name, call := range map[string]func(*Authority, *identity.Client) error{
		"a change": func(a *Authority, by *identity.Client) error {
			_, err := a.Call(t.Context(), by, tenurev1.KVService_Put_FullMethodName, put)
			return err
		},
		"a linearizable read": func(a *Authority, by *identity.Client) error {
			_, err := a.Call(t.Context(), by, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"})
			return err
		},
		"a stale read": func(a *Authority, by *identity.Client) error {
			_, err := a.Call(t.Context(), by, tenurev1.KVService_Get_FullMethodName, stale)
			return err
		},
		"a stream": func(a *Authority, by *identity.Client) error {
			ctx, stream := a.Open(t.Context(), func() *identity.Client { return by }, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
			defer stream.Close()
			return stream.Message(ctx, &tenurev1.WatchRequest{Keys: []string{"a"}})
		},
		"renewals": func(a *Authority, by *identity.Client) error {
			ctx, stream := a.Open(t.Context(), func() *identity.Client { return by }, tenurev1.SessionService_KeepAlive_FullMethodName, func(error) {})
			defer stream.Close()
			return stream.Message(ctx, &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: "s"}}})
		},
		"a call of the agent": func(a *Authority, by *identity.Client) error {
			return a.Local(t.Context(), by, authz.Local{Method: "/tenure.v1.AgentService/RegisterService", Needs: []authz.Need{{Kind: authz.Any}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			node, a, sleep := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
			node.lost = true
			sleep(2 * StaleMaxDefault)
			err := call(a, &identity.Client{Caller: malformed})
			if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED || node.proofs != 0 {
				t.Errorf("got %v after %d proofs, want UNAUTHENTICATED after none", err, node.proofs)
			}
			if n := value(t, a.metrics.denied); n != 1 {
				t.Errorf("%v denials are counted, want 1", n)
			}
			err = call(a, &identity.Client{Caller: unknown})
			if e := reason.Of(err); e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED || err == nil || node.proofs != 1 {
				t.Errorf("what may be a token: got %v after %d proofs, want that nothing is known after one", err, node.proofs)
			}
		})
	}
}

// TestAMalformedCredentialIsOnlyCountedInModeWarn serves it, as whatever else would be denied.
func TestAMalformedCredentialIsOnlyCountedInModeWarn(t *testing.T) {
	_, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_WARN)
	bad := &identity.Client{Caller: identity.Of([]string{"Bearer x"}, nil, identity.ByURI)}
	if _, err := a.Call(t.Context(), bad, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "a"}); err != nil {
		t.Error(err)
	}
	if n := value(t, a.metrics.wouldDeny); n != 1 {
		t.Errorf("%v calls are counted, want 1", n)
	}
}

// value returns what a counter has counted.
func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	m := &dto.Metric{}
	if err := c.Write(m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
