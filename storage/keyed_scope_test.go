package storage_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// keyedPut is a put under an idempotency key, on behalf of a principal; equal puts have equal digests.
func keyedPut(principal, key, idempotency string) *storev1.Command {
	c := putCommand(key, "v")
	digest := sha256.Sum256([]byte(key))
	c.Principal, c.IdempotencyKey, c.RequestDigest = principal, []byte(fmt.Sprintf("%-16s", idempotency)), digest[:]
	return c
}

// TestAResultIsOfItsCaller makes the same call under the same idempotency key as another caller did. Since callers are told apart, nobody gets the result of one
// without a credential: the call is made. What was done while they were not told apart is not done again, as its caller has a principal only now.
func TestAResultIsOfItsCaller(t *testing.T) {
	const off, warn = storev1.AuthMode_AUTH_MODE_OFF, storev1.AuthMode_AUTH_MODE_WARN
	for _, mode := range []storev1.AuthMode{warn, authEnforce} {
		t.Run(mode.String(), func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			made := func(c *storev1.Command) bool {
				t.Helper()
				before := r.store.Applied().Revision
				if result, reason := r.try(c); reason != 0 || result.GetPut() == nil {
					t.Fatalf("%s as %q: got %v, %v", c.GetIdempotencyKey(), c.GetPrincipal(), result, reason)
				}
				return r.store.Applied().Revision > before
			}
			check := func(sentence string, c *storev1.Command, want bool) {
				t.Helper()
				if got := made(c); got != want {
					t.Errorf("%s: made %v, want %v", sentence, got, want)
				}
			}
			check("before the bootstrap", keyedPut("", "a", "early"), true)
			r.apply(bootstrapCommand("a", off))
			check("in mode off", keyedPut("", "a", "off"), true)
			check("in mode off, one of two calls under a key", keyedPut("", "a", "twice"), true)
			r.apply(setMode(mode))
			check("the other one", keyedPut("", "b", "twice"), true)
			check("its caller has a principal now", keyedPut("token:bob", "a", "early"), false)
			check("and so has that of mode off", keyedPut("token:bob", "a", "off"), false)
			check("or still has none", keyedPut("", "a", "off"), false)
			check("another call under that key", keyedPut("token:bob", "b", "off"), true)
			check("without a credential", keyedPut("", "a", "apart"), true)
			check("the same again", keyedPut("", "a", "apart"), false)
			check("as somebody", keyedPut("token:bob", "a", "apart"), true)
			check("the same again, as he", keyedPut("token:bob", "a", "apart"), false)
			check("only as he", keyedPut("token:bob", "c", "bob"), true)
			check("as somebody else", keyedPut("token:eve", "a", "apart"), true)
			check("without a credential, what bob did", keyedPut("", "b", "off"), true)
			if _, reason := r.try(keyedPut("", "c", "apart")); reason != storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED {
				t.Errorf("another call under one's own key: got %v", reason)
			}
			checkBytesOf(t, r.store)
			r.apply(setMode(off))
			check("in mode off again", keyedPut("", "a", "early"), false)
			check("in mode off again, without a credential before", keyedPut("", "a", "apart"), false)
			check("in mode off again, the other of two calls", keyedPut("", "b", "twice"), false)
			check("in mode off again, another call", keyedPut("", "c", "apart"), true)
			check("in mode off again, what bob did", keyedPut("", "c", "bob"), true)
		})
	}
}
