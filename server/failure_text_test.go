package server_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestARetryIsToldTheFirstText makes a change that fails twice under one idempotency key: what is kept of the failure is
// shown in the same words again, over gRPC and over REST.
func TestARetryIsToldTheFirstText(t *testing.T) {
	m := newWholeMember(t)
	const want = `key "k" does not exist, expected revision 999`
	for _, attempt := range []string{"first", "retry"} {
		_, err := m.kv.Put(t.Context(), &tenurev1.PutRequest{
			Key: "k", IfRevision: new(uint64(999)), Options: &tenurev1.CallOptions{IdempotencyKey: []byte("0123456789abcdef")},
		})
		wantError(t, err, codes.FailedPrecondition, "COMPARE_FAILED")
		if got := status.Convert(err).Message(); got != want {
			t.Errorf("%s: got %q, want %q", attempt, got, want)
		}
		code, body := m.do(t, http.MethodPut, "/v1/kv/k?ifRevision=999", "v")
		if code != http.StatusPreconditionFailed || !strings.Contains(string(body), `does not exist, expected revision 999`) {
			t.Errorf("%s over REST: got %d %s", attempt, code, body)
		}
	}
}
