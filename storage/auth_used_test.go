package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// tokensUsed returns the command of a member whose clock is that of day 10, which says that tokens were used.
func tokensUsed(day uint32, accessors ...[]byte) *storev1.Command {
	return &storev1.Command{WallTimeMs: (10 * 24 * time.Hour).Milliseconds(), Kind: &storev1.Command_ChangeAuth{
		ChangeAuth: &storev1.ChangeAuth{Change: &storev1.ChangeAuth_TokensUsed{
			TokensUsed: &storev1.TokensUsed{Day: day, Accessors: accessors},
		}},
	}}
}

// usedDay returns the day of a token; -1: there is no such token.
func (r *rig) usedDay(n uint64) int {
	r.t.Helper()
	s := r.store.NewReader()
	defer closeReader(r.t, s)
	token, err := s.Token(numberedID(n))
	if err != nil {
		r.t.Fatal(err)
	}
	if token == nil {
		return -1
	}
	return int(token.GetLastUsedDay())
}

// TestTheDayOfLastUse notes uses, and does what else happens to tokens. The day rises and does not fall, what is gone does not come back, and
// none of it changes anybody's rights or makes members forget their callers.
func TestTheDayOfLastUse(t *testing.T) {
	const invalid = storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	rotate := authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{
		RotateToken: &storev1.RotateToken{Accessor: numberedID(2), TokenSha256: hashOf("other")},
	}})
	claims := createToken(4, "claims", "p")
	claims.GetChangeAuth().GetCreateToken().LastUsedDay = 9
	both := [][]byte{numberedID(2), numberedID(9), numberedID(3), numberedID(2)}
	for _, step := range []struct {
		name   string
		cmd    *storev1.Command
		reason storev1.FailureReason
		days   [2]int // of tokens 2 and 3
	}{
		{"before the bootstrap", tokensUsed(5, both...), storev1.FailureReason_FAILURE_REASON_AUTH_NOT_BOOTSTRAPPED, [2]int{-1, -1}},
		{"the bootstrap", bootstrapCommand("a", authWarn), 0, [2]int{-1, -1}},
		{"a policy", putPolicy("p", "r"), 0, [2]int{-1, -1}},
		{"a token", createToken(2, "t", "p"), 0, [2]int{0, -1}},
		{"another", createToken(3, "u", "p"), 0, [2]int{0, 0}},
		{"one that says itself when it was used", claims, 0, [2]int{0, 0}},
		{"the first use, beside a token that there is not", tokensUsed(5, both...), 0, [2]int{5, 5}},
		{"a later one", tokensUsed(7, numberedID(2)), 0, [2]int{7, 5}},
		{"the same again", tokensUsed(7, numberedID(2)), 0, [2]int{7, 5}},
		{"a late batch of an earlier day", tokensUsed(6, both...), 0, [2]int{7, 6}},
		{"another text", rotate, 0, [2]int{7, 6}},
		{"a clock that is an hour ahead at midnight", tokensUsed(11, numberedID(3)), 0, [2]int{7, 11}},
		{"a clock that is days ahead", tokensUsed(12, both...), invalid, [2]int{7, 11}},
		{"no day", tokensUsed(0, both...), invalid, [2]int{7, 11}},
		{"no token", tokensUsed(8), invalid, [2]int{7, 11}},
		{"what is no accessor, behind one", tokensUsed(8, numberedID(2), []byte("short")), invalid, [2]int{7, 11}},
		{"too many", tokensUsed(8, slices.Repeat(both[:1], storage.TokensUsedMax+1)...), invalid, [2]int{7, 11}},
		{"as many as there may be", tokensUsed(8, slices.Repeat(both[:1], storage.TokensUsedMax)...), 0, [2]int{8, 11}},
		{"a revoked token", authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: numberedID(2)}}), 0, [2]int{-1, 11}},
		{"a late batch with it", tokensUsed(9, both...), 0, [2]int{-1, 11}},
	} {
		before := r.store.Applied()
		_, reason := r.try(step.cmd)
		after := r.store.Applied()
		if days := [2]int{r.usedDay(2), r.usedDay(3)}; reason != step.reason || days != step.days {
			t.Fatalf("%s: %v with the days %v, want %v with %v", step.name, reason, days, step.reason, step.days)
		}
		if step.cmd.GetChangeAuth().GetTokensUsed() == nil {
			continue
		}
		if after.AuthChanges != before.AuthChanges || after.DenyRevision != before.DenyRevision || after.Revision != before.Revision ||
			after.AuthMode != before.AuthMode {
			t.Errorf("%s: %+v became %+v, want no change of rights", step.name, before, after)
		}
	}
	if got := r.usedDay(4); got != 0 {
		t.Errorf("a token that says itself when it was used has the day %d, want none", got)
	}
	s := r.store.NewReader()
	defer closeReader(t, s)
	if head, err := s.AuthHead(); err != nil || head.GetTokens() != 3 {
		t.Errorf("%d tokens are counted, %v, want 3", head.GetTokens(), err)
	}
	checkBytesOf(t, r.store)
}
