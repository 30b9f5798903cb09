package auth_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/auth"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// silent says nothing.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(string, ...any) {}

// newChange returns a state that has had its bootstrap, and nothing else.
func newChange(t *testing.T) *auth.Change {
	t.Helper()
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c := &auth.Change{Rows: table.NewOverlay(db, 0), State: &layout.Applied{ClusterVersion: layout.Version3}}
	first := token(0)
	first.ExpireTimeMs = 0
	do(t, c, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Token: first, Mode: storev1.AuthMode_AUTH_MODE_ENFORCE,
	}}})
	return c
}

// do makes a change that is not refused.
func do(t *testing.T, c *auth.Change, change *storev1.ChangeAuth) {
	t.Helper()
	if _, err := c.Do(change); err != nil {
		t.Fatalf("%v: %v", change, err)
	}
}

func name(n int) string { return fmt.Sprintf("n%d", n) }

func hash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// accessor returns the id of a token.
func accessor(n int) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, auth.AccessorBytes-8), uint64(n))
}

func token(n int) *storev1.TokenRecord {
	return &storev1.TokenRecord{
		Accessor: accessor(n), TokenSha256: hash(name(n)), Name: name(n), Policies: []string{auth.AdminPolicy}, ExpireTimeMs: 9,
	}
}

// thereAre says that there are so many tokens, most of which nobody needs to make.
func thereAre(t *testing.T, c *auth.Change, tokens uint64) {
	t.Helper()
	row := []byte{layout.RowAuth}
	value, _, err := c.Rows.Get(row)
	head := &storev1.AuthRecord{}
	if err = errors.Join(err, layout.Decode(value, head)); err != nil {
		t.Fatal(err)
	}
	head.Tokens = tokens
	if value, err = layout.Encode(head); err != nil {
		t.Fatal(err)
	}
	c.Rows.Set(row, value)
}

// TestHowManyObjectsThereMayBe makes as many as there may be of each kind. One more is refused and changes nothing; what is there is replaced as before,
// and what is deleted makes room for another.
func TestHowManyObjectsThereMayBe(t *testing.T) {
	for limit, tc := range map[string]struct {
		most            uint64
		make            func(n int) *storev1.ChangeAuth
		replace, remove *storev1.ChangeAuth // of the one with number 7
	}{
		"policies_max": {
			4096,
			func(n int) *storev1.ChangeAuth {
				return &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: name(n), Rules: "admin read"}}}
			},
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: name(7), Rules: "operator read"}}},
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: name(7)}},
		},
		"bindings_max": {
			1024,
			func(n int) *storev1.ChangeAuth {
				return &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
					Name: name(n), Kind: storev1.BindingKind_BINDING_KIND_CERTIFICATE, Principal: "cert:cn/x", Policies: []string{auth.AdminPolicy},
				}}}
			},
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
				Name: name(7), Kind: storev1.BindingKind_BINDING_KIND_CERTIFICATE, Principal: "cert:cn/y", Policies: []string{auth.AdminPolicy},
			}}},
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteBinding{DeleteBinding: name(7)}},
		},
		"providers_max": {
			16,
			func(n int) *storev1.ChangeAuth { return provider(n, "https://"+name(n)) },
			provider(7, "https://other"),
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteProvider{DeleteProvider: name(7)}},
		},
		"tokens_max": {
			100_000,
			func(n int) *storev1.ChangeAuth {
				return &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: token(n + 1)}}
			},
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{RotateToken: &storev1.RotateToken{Accessor: accessor(8), TokenSha256: hash("other")}}},
			&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: accessor(8)}},
		},
	} {
		t.Run(limit, func(t *testing.T) {
			c := newChange(t)
			made := int(tc.most)
			if limit == "tokens_max" {
				made = 16 // and the first
			}
			for n := range made {
				if n == made-1 && limit == "tokens_max" {
					thereAre(t, c, tc.most-1)
				}
				do(t, c, tc.make(n))
			}
			refused := func(n int) {
				t.Helper()
				before, head := *c.State, headOf(t, c)
				_, err := c.Do(tc.make(n))
				f := rule.Of(err)
				if f.GetReason() != storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED || f.GetLimitName() != limit || f.GetLimit() != tc.most {
					t.Errorf("one more: got %v, want that %s is %d", err, limit, tc.most)
				}
				if !reflect.DeepEqual(*c.State, before) || !bytes.Equal(headOf(t, c), head) {
					t.Error("the refused one changes the state")
				}
			}
			refused(made)
			do(t, c, tc.replace)
			refused(made)
			do(t, c, tc.remove)
			do(t, c, tc.make(made))
			refused(made + 1)
		})
	}
}

// provider returns the change that puts a provider.
func provider(n int, issuer string) *storev1.ChangeAuth {
	return &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{PutProvider: &storev1.ProviderRecord{
		Name: name(n), Issuer: issuer, Audiences: []string{"tenure"}, Algorithms: []string{"ES256"},
	}}}
}

// headOf returns the row that counts the objects.
func headOf(t *testing.T, c *auth.Change) []byte {
	t.Helper()
	value, _, err := c.Rows.Get([]byte{layout.RowAuth})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(value)
}
