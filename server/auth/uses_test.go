package auth_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

// uses is a member whose tokens are used as its test says.
type uses struct {
	*auth.Uses
	t      *testing.T
	store  *storage.Store
	now    time.Time
	used   map[access.Accessor]struct{}
	err    error // of the next orders
	orders []int // the number of tokens of each
}

func newUses(t *testing.T, commands ...*storev1.Command) *uses {
	u := &uses{t: t, store: stores.With(t, append(bootstrap(), commands...)...), now: begin, used: map[access.Accessor]struct{}{}}
	u.Uses = auth.NewUses(auth.UsesOptions{
		Store: func() *storage.Store { return u.store }, Order: u.order, Logger: zap.NewNop(), Now: func() time.Time { return u.now },
		Used: func() map[access.Accessor]struct{} {
			used := u.used
			u.used = map[access.Accessor]struct{}{}
			return used
		},
	})
	return u
}

func accessorOf(name string) access.Accessor {
	sum := sha256.Sum256([]byte(name))
	return access.Accessor(sum[:16])
}

// order applies a command, as the leader would have it done.
func (u *uses) order(_ context.Context, c *storev1.Command) (*storev1.Result, error) {
	u.orders = append(u.orders, len(c.GetChangeAuth().GetTokensUsed().GetAccessors()))
	if u.err != nil {
		return nil, u.err
	}
	return u.apply(c), nil
}

func (u *uses) apply(c *storev1.Command) *storev1.Result {
	u.t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{c}})
	if err != nil {
		u.t.Fatal(err)
	}
	at := u.store.Applied()
	out, err := u.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		u.t.Fatal(err)
	}
	return out.Entries[0].Results[0]
}

// next uses tokens, and looks once. It returns how many tokens were in each order.
func (u *uses) next(names ...string) (orders string, err error) {
	for _, name := range names {
		u.used[accessorOf(name)] = struct{}{}
	}
	u.orders = nil
	err = u.Next(u.t.Context())
	return fmt.Sprint(u.orders), err
}

// day returns the day of a token, counted from that of begin, which is 1; zero: none.
func (u *uses) day(name string) int {
	u.t.Helper()
	s := u.store.NewReader()
	defer func() {
		if err := s.Close(); err != nil {
			u.t.Error(err)
		}
	}()
	accessor := accessorOf(name)
	record, err := s.Token(accessor[:])
	if err != nil {
		u.t.Fatal(err)
	}
	return max(0, int(record.GetLastUsedDay())-int(storage.DayOf(begin.UnixMilli()))+1)
}

func (u *uses) want(what, orders string, got string, err error, days ...int) {
	u.t.Helper()
	if have := []int{u.day("a"), u.day("b")}; got != orders || err != nil || fmt.Sprint(have) != fmt.Sprint(days) {
		u.t.Errorf("%s: the orders %s, %v and the days %v; want %s and %v", what, got, err, have, orders, days)
	}
}

// TestATokenIsWrittenOnceADay uses tokens over some days, with errors, a midnight, a revocation and a change of the mode.
func TestATokenIsWrittenOnceADay(t *testing.T) {
	u := newUses(t, token("a", "web", 0), token("b", "web", 0))
	got, err := u.next()
	u.want("none is used", "[]", got, err, 0, 0)
	got, err = u.next("a", "revoked")
	u.want("one is used, and one that there is not", "[1]", got, err, 1, 0)
	got, err = u.next("a")
	u.want("the same on the same day", "[]", got, err, 1, 0)

	u.err = errors.New("no leader")
	if got, err = u.next("a", "b"); got != "[1]" || !errors.Is(err, u.err) {
		t.Errorf("without a leader: the orders %s, %v", got, err)
	}
	u.now, u.err = u.now.Add(24*time.Hour), nil
	got, err = u.next("a")
	u.want("on the next day: what could not be written keeps its day", "[1 1]", got, err, 2, 1)

	u.err = errors.New("no leader")
	_, _ = u.next("b")
	u.apply(revoke("b"))
	u.err = nil
	got, err = u.next()
	u.want("a token is revoked before it could be written", "[]", got, err, 2, 0)

	u.now = u.now.Add(24 * time.Hour)
	setMode := func(mode storev1.AuthMode) {
		u.apply(change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: mode}}))
	}
	setMode(storev1.AuthMode_AUTH_MODE_OFF)
	got, err = u.next("a")
	u.want("in mode off", "[]", got, err, 2, 0)
	setMode(storev1.AuthMode_AUTH_MODE_WARN)
	got, err = u.next()
	u.want("what was used then is not written later", "[]", got, err, 2, 0)

	u.now = u.now.Add(24 * time.Hour)
	u.apply(&storev1.Command{WallTimeMs: u.now.UnixMilli(), Kind: &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{
		Change: &storev1.ChangeAuth_TokensUsed{TokensUsed: &storev1.TokensUsed{
			Day: storage.DayOf(u.now.UnixMilli()), Accessors: [][]byte{record("a", "", 0).GetAccessor()},
		}},
	}}})
	got, err = u.next("a")
	u.want("another member has written it", "[]", got, err, 4, 0)
}

// TestManyTokensAreWrittenInBatches uses more tokens than one command may name.
func TestManyTokensAreWrittenInBatches(t *testing.T) {
	var commands []*storev1.Command
	var names []string
	for n := range storage.TokensUsedMax + 1 {
		names = append(names, fmt.Sprint(n))
		commands = append(commands, token(names[n], "web", 0))
	}
	u := newUses(t, commands...)
	if got, err := u.next(names...); got != fmt.Sprintf("[%d 1]", storage.TokensUsedMax) || err != nil {
		t.Errorf("the orders %s, %v", got, err)
	}
	for _, name := range names {
		if u.day(name) != 1 {
			t.Fatalf("token %s is not written", name)
		}
	}
}
