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

// scopeRig makes calls under idempotency keys, and looks whether they changed anything.
type scopeRig struct{ *rig }

func newScopeRig(t *testing.T) scopeRig {
	return scopeRig{&rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}}
}

// check makes a call, which must be answered, and says whether it was to be made or only got the result of an earlier one.
func (r scopeRig) check(sentence string, c *storev1.Command, want bool) {
	r.t.Helper()
	before := r.store.Applied().Revision
	if result, reason := r.try(c); reason != 0 || result.GetPut() == nil {
		r.t.Fatalf("%s: got %v, %v", sentence, result, reason)
	}
	if made := r.store.Applied().Revision > before; made != want {
		r.t.Errorf("%s: made %v, want %v", sentence, made, want)
	}
}

func (r scopeRig) reused(sentence string, c *storev1.Command) {
	r.t.Helper()
	if _, reason := r.try(c); reason != storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED {
		r.t.Errorf("%s: got %v", sentence, reason)
	}
}

// TestAResultIsOfItsCaller makes the same call under the same idempotency key as another caller did. While rules are enforced, no caller gets the result of one
// without a credential: the call is made. What was done before that is not done again, as its caller has a principal only now.
func TestAResultIsOfItsCaller(t *testing.T) {
	r := newScopeRig(t)
	r.check("before the bootstrap", keyedPut("", "a", "early"), true)
	r.apply(bootstrapCommand("a", authOff))
	r.check("in mode off", keyedPut("", "a", "off"), true)
	r.check("in mode off, one of two calls under a key", keyedPut("", "a", "twice"), true)
	r.apply(setMode(authEnforce))
	r.check("the other one", keyedPut("", "b", "twice"), true)
	r.check("its caller has a principal now", keyedPut("token:bob", "a", "early"), false)
	r.check("and so has that of mode off", keyedPut("token:bob", "a", "off"), false)
	r.check("or still has none", keyedPut("", "a", "off"), false)
	r.check("another call under that key", keyedPut("token:bob", "b", "off"), true)
	r.check("without a credential", keyedPut("", "a", "apart"), true)
	r.check("the same again", keyedPut("", "a", "apart"), false)
	r.check("as somebody", keyedPut("token:bob", "a", "apart"), true)
	r.check("the same again, as he", keyedPut("token:bob", "a", "apart"), false)
	r.check("only as he", keyedPut("token:bob", "c", "bob"), true)
	r.check("as somebody else", keyedPut("token:eve", "a", "apart"), true)
	r.check("without a credential, what bob did", keyedPut("", "b", "off"), true)
	r.reused("another call under one's own key", keyedPut("", "c", "apart"))
	checkBytesOf(t, r.store)
	r.apply(setMode(authWarn))
	r.check("in mode warn, what bob did", keyedPut("token:bob", "c", "bob"), false)
	r.check("by a member that does not know his token", keyedPut("", "c", "bob"), false)
	r.check("another call under bob's key", keyedPut("", "d", "bob"), true)
	r.check("the same again", keyedPut("", "d", "bob"), false)
	r.apply(setMode(authOff))
	r.check("in mode off again", keyedPut("", "a", "early"), false)
	r.check("in mode off again, without a credential before", keyedPut("", "a", "apart"), false)
	r.check("in mode off again, the other of two calls", keyedPut("", "b", "twice"), false)
	r.reused("in mode off again, another call", keyedPut("", "c", "apart"))
	r.check("in mode off again, what bob did", keyedPut("", "c", "bob"), false)
}

// TestACredentialThatIsNotKnownYetMakesNoSecondCall tries calls again in mode warn. One member knows the caller's credential and another one does not know it yet, so
// one attempt has a principal and the other has none, in either order. Each is made once, also when rules are enforced before the retry.
func TestACredentialThatIsNotKnownYetMakesNoSecondCall(t *testing.T) {
	r := newScopeRig(t)
	r.apply(bootstrapCommand("a", authOff))
	r.apply(setMode(authWarn))
	r.check("not known", keyedPut("", "a", "later"), true)
	r.check("and then known", keyedPut("token:bob", "a", "later"), false)
	r.check("known", keyedPut("token:bob", "a", "not yet"), true)
	r.check("and then not, at another member", keyedPut("", "a", "not yet"), false)
	r.check("known by a token", keyedPut("token:bob", "b", "renamed"), true)
	r.check("and then by a certificate", keyedPut("cert:bob", "b", "renamed"), false)
	r.reused("another call under that key", keyedPut("", "c", "renamed"))
	r.check("not known, before rules are enforced", keyedPut("", "a", "enforced"), true)
	r.check("known, before rules are enforced", keyedPut("token:bob", "b", "enforced too"), true)
	checkBytesOf(t, r.store)
	r.apply(setMode(authEnforce))
	r.check("known, as they are enforced", keyedPut("token:bob", "a", "enforced"), false)
	r.check("still known", keyedPut("token:bob", "b", "enforced too"), false)
	r.check("known, when they were enforced", keyedPut("token:bob", "c", "before"), true)
	r.check("another caller under that key", keyedPut("token:eve", "c", "before"), true)
	r.apply(setMode(authOff))
	r.check("credentials do not count any more", keyedPut("", "c", "before"), false)
	r.check("also of a key of mode warn", keyedPut("", "b", "enforced too"), false)
}

// TestARetryIsMadeOnlyByAnotherCallerUnderRules tries a call twice, in each mode and as each caller: it is made again only if rules were enforced both times, and the
// callers are not the same.
func TestARetryIsMadeOnlyByAnotherCallerUnderRules(t *testing.T) {
	r := newScopeRig(t)
	r.apply(bootstrapCommand("a", authOff))
	modes, callers := []storev1.AuthMode{authOff, authWarn, authEnforce}, []string{"", "token:x", "cert:y"}
	number := 0
	for _, first := range modes {
		for _, then := range modes {
			for _, one := range callers {
				for _, other := range callers {
					number++
					sentence := fmt.Sprintf("as %q in %v, then as %q in %v", one, first, other, then)
					r.apply(setMode(first))
					r.check(sentence, keyedPut(one, "a", fmt.Sprint(number)), true)
					r.apply(setMode(then))
					r.check(sentence, keyedPut(other, "a", fmt.Sprint(number)), first == authEnforce && then == authEnforce && one != other)
				}
			}
		}
	}
	checkBytesOf(t, r.store)
}
