package call

import (
	"strings"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// snapshotWith returns a snapshot of a new cluster whose first token has a hash; nil: it has none.
func snapshotWith(t *testing.T, hash []byte, sight *access.Sight) *Snapshot {
	t.Helper()
	store, err := storage.Open(storage.Options{FS: storage.NewMemFS(), Dir: "data"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	_, newest := storage.ClusterVersions()
	if err = store.Bootstrap(storage.Genesis{ClusterVersion: newest}); err != nil {
		t.Fatal(err)
	}
	if hash != nil {
		data, failed := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{{Kind: &storev1.Command_ChangeAuth{
			ChangeAuth: &storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
				Mode: storev1.AuthMode_AUTH_MODE_ENFORCE, Token: &storev1.TokenRecord{
					Accessor: make([]byte, 16), TokenSha256: hash, Name: "bootstrap", Policies: []string{storage.AdminPolicy},
				},
			}}},
		}}}})
		if failed == nil {
			at := store.Applied()
			_, failed = store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
		}
		if failed != nil {
			t.Fatal(failed)
		}
	}
	r := store.NewReader()
	t.Cleanup(func() { _ = r.Close() })
	at, err := r.Applied()
	if err != nil {
		t.Fatal(err)
	}
	return &Snapshot{Reader: r, At: at, Sight: sight}
}

// placed is a listing in a test, by a caller that sees a part of it or all.
type placed struct {
	*Snapshot
	query   PageQuery
	visible bool
}

func (p placed) ask(t *testing.T, token string) (Pages, string, error) {
	t.Helper()
	return p.Pages(p.query, &tenurev1.ListRequest{PageToken: token, VisibleOnly: p.visible})
}

func (p placed) token(t *testing.T, after string) string {
	t.Helper()
	pages, _, err := p.ask(t, "")
	if err != nil {
		t.Fatal(err)
	}
	token, err := pages.Token(after)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenOfAPartTellsNothing(t *testing.T) {
	const place = "secret-place"
	hash := []byte(strings.Repeat("h", 32))
	q := PageQuery{List: "keys", Filters: []string{"a/"}}
	part := placed{snapshotWith(t, hash, &access.Sight{}), q, true}
	all := part
	all.Snapshot = &Snapshot{Reader: part.Reader, At: part.At}
	token := part.token(t, place)
	if data, err := DecodeToken(token); err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("the token has its place: %q, %v", data, err)
	}
	if again := part.token(t, place); again == token {
		t.Error("two tokens of one place are the same, and tell that it is")
	}
	if long := part.token(t, place+place); len(long) != len(token) {
		t.Errorf("its length is %d, that of a longer place %d", len(token), len(long))
	}
	leads := func(what string, by placed, token, want string) {
		t.Helper()
		if _, got, err := by.ask(t, token); err != nil || got != want {
			t.Errorf("%s leads to %q, %v; want %q", what, got, err, want)
		}
	}
	for _, at := range []string{"", "x", place, strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 4096)} {
		leads("a token", part, part.token(t, at), at)
	}
	leads("no token", part, "", "")
	leads("a token whose caller sees all now", all, token, place)
	leads("a token whose caller sees a part now", part, all.token(t, place), place)
	refuse := func(what string, by placed, token string) {
		t.Helper()
		if _, got, err := by.ask(t, token); err == nil {
			t.Errorf("%s leads to %q", what, got)
		}
	}
	whole, other := all, part
	whole.visible, other.query.Filters = false, []string{"b/"}
	known := placed{snapshotWith(t, nil, nil), q, true}
	for name, by := range map[string]placed{"a part": part, "a part that is all": all} {
		seen := by.query
		seen.List = "visible keys"
		refuse("one that anybody makes who knows the cluster, for "+name, by, seen.Token(by.At, place))
		if data, err := DecodeToken(by.token(t, place)); err != nil || strings.Contains(string(data), "secret") {
			t.Errorf("the token of %s has its place: %q, %v", name, data, err)
		}
	}
	refuse("one that was changed", part, token[:len(token)-4]+"AAAA")
	refuse("a short one", part, token[:8])
	refuse("one of another listing", other, token)
	refuse("one of a part, for the whole", whole, token)
	refuse("one of a part that is all, for the whole", whole, all.token(t, place))
	refuse("one of the whole, for a part", part, whole.token(t, place))
	refuse("one whose key clients know", part, known.token(t, place))
}

// TestAPartHasNoSecondPageWhileItsKeyIsKnown lists with a first token that a restore has left out.
func TestAPartHasNoSecondPageWhileItsKeyIsKnown(t *testing.T) {
	all := placed{snapshotWith(t, nil, nil), PageQuery{List: "keys"}, true}
	part := all
	part.Snapshot = &Snapshot{Reader: all.Reader, At: all.At, Sight: &access.Sight{}}
	token := all.token(t, "place")
	if _, got, err := all.ask(t, token); err != nil || got != "place" {
		t.Errorf("the token of a caller that sees all leads to %q, %v", got, err)
	}
	wantRestored := func(what string, err error) {
		t.Helper()
		if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_AUTH_NOT_BOOTSTRAPPED || !strings.Contains(e.Message, "bootstrap again") {
			t.Errorf("%s: got %v, want that it says to bootstrap again", what, err)
		}
	}
	pages, _, err := part.ask(t, "")
	if err != nil {
		t.Fatalf("the first page: %v", err)
	}
	_, err = pages.Token("place")
	wantRestored("a token", err)
	_, _, err = part.ask(t, token)
	wantRestored("the second page", err)
}
