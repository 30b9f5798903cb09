package storage_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// tokensOf returns the names of all join tokens of a store.
func tokensOf(t *testing.T, s *storage.Store) string {
	t.Helper()
	r := s.NewReader()
	defer closeReader(t, r)
	all, err := r.JoinTokens()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, token := range all {
		names = append(names, token.Name)
	}
	return strings.Join(names, " ")
}

func closeReader(t *testing.T, r *storage.Reader) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// tokenCommands make a token that nobody uses, and one that a member uses.
func tokenCommands() []*storev1.Command {
	return []*storev1.Command{
		{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: &storev1.MakeJoinToken{Name: "open", TtlMs: 1000, TokenSha256: tokenHash("1")}}},
		{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: &storev1.MakeJoinToken{Name: "used", TtlMs: 1000, TokenSha256: tokenHash("2")}}},
		{Kind: &storev1.Command_JoinMember{JoinMember: &storev1.JoinMember{TokenSha256: tokenHash("2"), Member: &storev1.Member{
			Id: 11, Incarnation: 1, Name: "used", PeerAddress: "h:1",
		}}}},
	}
}

// Tokens are of one cluster: a backup has none, and a restored or recovered one begins without.
func TestJoinTokensEndWithTheirCluster(t *testing.T) {
	fs := vfs.NewMem()
	s := newStore(t, fs, "sm")
	r := &rig{t: t, store: s}
	r.apply(tokenCommands()...)
	if got := tokensOf(t, s); got != "open used" {
		t.Fatalf("tokens: got %q, want those that were made", got)
	}
	if got := tokensOf(t, restored(t, backupOf(t, s), restoreOptions(1))); got != "" {
		t.Errorf("after a restore: got tokens %q, want none", got)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if err := storage.Recover(storage.Options{FS: fs, Dir: "sm"}, recoverOptions()); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, fs, "sm")
	if got := tokensOf(t, again); got != "" {
		t.Errorf("after a recovery: got tokens %q, want none", got)
	}
	checkBytesOf(t, again)
}

// There are so many tokens at most that nobody has used; those that were used, or ended, do not count.
func TestJoinTokensAreBounded(t *testing.T) {
	s := newStore(t, vfs.NewMem(), "sm")
	r := &rig{t: t, store: s}
	r.apply(tokenCommands()...)
	add := func(i int) *storev1.Failure {
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{
			{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: &storev1.MakeJoinToken{
				Name: strings.Repeat("n", i+1), TtlMs: 1000, TokenSha256: tokenHash(strings.Repeat("t", i+1)),
			}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		at := s.Applied()
		out, err := s.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Entries[0].Results[0].GetFailure()
	}
	for i := range 63 {
		if f := add(i); f != nil {
			t.Fatalf("token %d: %v", i+1, f)
		}
	}
	f := add(63)
	if f.GetReason() != storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED || f.GetLimitName() != "join_tokens_max" || f.GetLimit() != 64 {
		t.Errorf("one more: got %v, want the limit of 64", f)
	}
	if f := add(0); f != nil {
		t.Errorf("in place of one: %v", f)
	}
}

func TestAddressesOfMembersAreChecked(t *testing.T) {
	for address, good := range map[string]bool{
		"10.0.0.1:7402": true, "[::1]:1": true, "tenure-1.example:65535": true, "h:1": true,
		"": false, "h": false, "h:": false, ":1": false, "h:0": false, "h:65536": false, "h:000001": false, "h:+1": false, "h:1 ": false,
		"::1:1": false, "[::1:1": false, "[]:1": false, "[[::1]]:1": false, "h\n:1": false, "h\x00:1": false, "h\x1b[1m:1": false, "\u00e9:1": false,
		strings.Repeat("h", 510) + ":1": true, strings.Repeat("h", 511) + ":1": false, strings.Repeat("h", 2_800_000): false,
	} {
		err := storage.CheckAddress(address)
		if (err == nil) != good {
			t.Errorf("%.64q: got %v", address, err)
		}
		if err != nil && (len(err.Error()) > 200 || address != "" && len(address) > 2 && strings.Contains(err.Error(), address)) {
			t.Errorf("the error about %.64q repeats it", address)
		}
	}
}
