package access

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// cut is a member that can lose the others.
type cut struct {
	store  *storage.Store
	lost   bool
	proofs int
}

func (c *cut) Store() *storage.Store { return c.store }

func (c *cut) ReadIndex(context.Context) error {
	c.proofs++
	if c.lost {
		return errors.New("no leader")
	}
	return nil
}

// enforcing returns a member of a cluster in a mode, its authority, and what moves its clock on.
func enforcing(t testing.TB, mode storev1.AuthMode) (*cut, *Authority, func(time.Duration)) {
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
	node := &cut{store: store}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Mode: mode, Token: &storev1.TokenRecord{
			Accessor: make([]byte, 16), TokenSha256: make([]byte, 32), Name: "bootstrap", Policies: []string{storage.AdminPolicy},
		},
	}}})
	a, err := New(Options{Node: node, Registerer: prometheus.NewRegistry(), Noted: true})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	a.fresh.now = func() time.Time { return now }
	return node, a, func(d time.Duration) { now = now.Add(d) }
}

// admin is the caller with the first token.
func admin() *identity.Client { return &identity.Client{Caller: identity.Caller{Kind: identity.Token}} }

func TestAMemberThatIsCutOffShowsNothingForLong(t *testing.T) {
	node, a, sleep := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	stale := &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{Stale: true}}
	get := func() error {
		_, err := a.Call(t.Context(), admin(), tenurev1.KVService_Get_FullMethodName, stale)
		return err
	}
	watch := func() error {
		ctx, stream := a.Open(t.Context(), admin, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
		defer stream.Close()
		return stream.Message(ctx, &tenurev1.WatchRequest{})
	}
	pool := func() error {
		_, err := a.Call(t.Context(), admin(), tenurev1.PoolService_ListPool_FullMethodName, &tenurev1.ListPoolRequest{})
		return err
	}
	refused := func(err error) bool {
		e := reason.Of(err)
		return e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_NO_LEADER
	}
	if err := get(); err != nil || node.proofs != 1 {
		t.Fatalf("the first stale read: %v after %d proofs, want one", err, node.proofs)
	}
	node.lost = true
	sleep(StaleMaxDefault)
	if err := errors.Join(get(), pool()); err != nil || node.proofs != 1 {
		t.Errorf("a stale read within the time: %v after %d proofs, want one", err, node.proofs)
	}
	sleep(time.Millisecond)
	if err := get(); !refused(err) {
		t.Errorf("a stale read after it: %v, want that there is no leader", err)
	}
	if err := pool(); !refused(err) || node.proofs != 2 {
		t.Errorf("a list of the pool after it: %v after %d proofs, want a refusal without another attempt", err, node.proofs)
	}
	if err := watch(); !refused(err) || node.proofs != 2 {
		t.Errorf("a new watch after it: %v after %d proofs, want a refusal without another attempt", err, node.proofs)
	}
	linearizable := &tenurev1.GetRequest{Key: "a"}
	if _, err := a.Call(t.Context(), admin(), tenurev1.KVService_Get_FullMethodName, linearizable); err != nil {
		t.Errorf("a linearizable read proves by itself: %v", err)
	}
	if _, err := a.Call(t.Context(), admin(), tenurev1.ClusterService_GetStatus_FullMethodName, &tenurev1.GetStatusRequest{}); err != nil {
		t.Errorf("an operator sees the status: %v", err)
	}
	node.lost = false
	sleep(proofPause + time.Millisecond)
	if err := errors.Join(get(), pool(), watch()); err != nil || node.proofs != 3 {
		t.Errorf("back again: %v after %d proofs, want one more", err, node.proofs)
	}
}

// TestAMemberThatIsCutOffBeforeRulesAreEnforced cannot know what became of the mode: in mode warn it shows nothing for long either. Where
// credentials are not looked at, nothing asks for a proof.
func TestAMemberThatIsCutOffBeforeRulesAreEnforced(t *testing.T) {
	stale := &tenurev1.GetRequest{Key: "a", Read: &tenurev1.ReadOptions{Stale: true}}
	for mode, want := range map[storev1.AuthMode]tenurev1.ErrorReason{
		storev1.AuthMode_AUTH_MODE_OFF:  tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED,
		storev1.AuthMode_AUTH_MODE_WARN: tenurev1.ErrorReason_ERROR_REASON_NO_LEADER,
	} {
		node, a, sleep := enforcing(t, mode)
		if err := a.current(t.Context()); err != nil {
			t.Fatal(err)
		}
		node.lost = true
		sleep(StaleMaxDefault + time.Millisecond)
		_, err := a.Call(t.Context(), admin(), tenurev1.KVService_Get_FullMethodName, stale)
		if got := reason.Of(err); (got == nil) != (want == 0) || got != nil && got.Reason != want {
			t.Errorf("%v: got %v, want %v", mode, err, want)
		}
	}
}

// TestModeWarnServesWithoutALeader has a member that just lost its leader, in mode warn: callers without a right, and with a token that this member
// does not know, are served what they were served before. Whether the call itself needs a leader is for its service to say.
func TestModeWarnServesWithoutALeader(t *testing.T) {
	unknown := &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: identity.Hash{1}}}
	for name, caller := range map[string]*identity.Client{"nobody": {}, "an unknown token": unknown, "an administrator": admin()} {
		node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_WARN)
		if err := a.current(t.Context()); err != nil {
			t.Fatal(err)
		}
		node.lost = true
		for method, request := range map[string]proto.Message{
			tenurev1.KVService_Put_FullMethodName:                &tenurev1.PutRequest{Key: "a"},
			tenurev1.KVService_Get_FullMethodName:                &tenurev1.GetRequest{Key: "a"},
			tenurev1.SessionService_CreateSession_FullMethodName: &tenurev1.CreateSessionRequest{},
			tenurev1.ClusterService_GetStatus_FullMethodName:     &tenurev1.GetStatusRequest{},
			tenurev1.ClusterService_ListMembers_FullMethodName:   &tenurev1.ListMembersRequest{},
			tenurev1.ClusterService_AddMember_FullMethodName:     &tenurev1.AddMemberRequest{},
			tenurev1.PoolService_ListPool_FullMethodName:         &tenurev1.ListPoolRequest{},
		} {
			if _, err := a.Call(t.Context(), caller, method, request); err != nil {
				t.Errorf("%s calls %s: %v", name, method, err)
			}
		}
		for method, request := range map[string]proto.Message{
			tenurev1.WatchService_Watch_FullMethodName:       &tenurev1.WatchRequest{},
			tenurev1.ElectionService_Observe_FullMethodName:  &tenurev1.ObserveRequest{Key: "a"},
			tenurev1.SessionService_KeepAlive_FullMethodName: &tenurev1.KeepAliveRequest{},
			tenurev1.LockService_AcquireLock_FullMethodName:  &tenurev1.AcquireLockRequest{Key: "a"},
		} {
			ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, method, func(error) {})
			if err := stream.Message(ctx, request); err != nil {
				t.Errorf("%s opens %s: %v", name, method, err)
			}
			stream.Close()
		}
	}
}

// late is a member whose proofs take some time.
type late struct {
	*cut

	takes func()
}

func (l late) ReadIndex(ctx context.Context) error {
	l.takes()
	return l.cut.ReadIndex(ctx)
}

// TestWhatIsShownIsProvedWhenItIsAllowed has a caller without a right come within the time of the last proof, in mode warn. Before the member lets
// it pass it asks what the cluster has, and the answer takes long: by then the mode may be another one for longer than that time.
func TestWhatIsShownIsProvedWhenItIsAllowed(t *testing.T) {
	stale := &tenurev1.ReadOptions{Stale: true}
	calls := map[string]func(a *Authority) error{
		"a stale read": func(a *Authority) error {
			_, err := a.Call(t.Context(), &identity.Client{}, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a", Read: stale})
			return err
		},
		"a list of the pool": func(a *Authority) error {
			_, err := a.Call(t.Context(), &identity.Client{}, tenurev1.PoolService_ListPool_FullMethodName, &tenurev1.ListPoolRequest{})
			return err
		},
		"a new stream": func(a *Authority) error {
			nobody := func() *identity.Client { return &identity.Client{} }
			ctx, stream := a.Open(t.Context(), nobody, tenurev1.WatchService_Watch_FullMethodName, func(error) {})
			defer stream.Close()
			return stream.Message(ctx, &tenurev1.WatchRequest{})
		},
	}
	for name, c := range map[string]struct {
		age, takes time.Duration // of the last proof, and until the next has an answer
		lost       bool
		want       tenurev1.ErrorReason
	}{
		"no proof, in time":        {time.Second, time.Second, true, 0},
		"no proof, too late":       {time.Second, StaleMaxDefault, true, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER},
		"a proof, in time":         {StaleMaxDefault, time.Second, false, 0},
		"a proof that is too late": {time.Second, StaleMaxDefault + 1, false, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER},
	} {
		for what, call := range calls {
			node, a, sleep := enforcing(t, storev1.AuthMode_AUTH_MODE_WARN)
			if err := a.current(t.Context()); err != nil {
				t.Fatal(err)
			}
			sleep(c.age)
			node.lost, a.node = c.lost, late{node, func() { sleep(c.takes) }}
			err := call(a)
			if got := reason.Of(err); (got == nil) != (c.want == 0) || got != nil && got.Reason != c.want {
				t.Errorf("%s, %s: got %v, want %v", what, name, err, c.want)
			}
		}
	}
}

// TestAStreamEndsWithItsCredential looks at an open stream before and after the token of its caller ends.
func TestAStreamEndsWithItsCredential(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	wall := time.UnixMilli(1000)
	a.now = func() time.Time { return wall }
	at := node.store.Applied()
	a.cache.put(stateOf(at.Rights()), admin(), &Who{Principal: "token:x", ExpireTimeMs: 2000, rights: authz.NewRights("token:x", "", authz.AdminPolicy())})
	var ended error
	ctx, stream := a.Open(t.Context(), admin, tenurev1.WatchService_Watch_FullMethodName, func(err error) { ended = err })
	defer stream.Close()
	if err := stream.Message(ctx, &tenurev1.WatchRequest{}); err != nil {
		t.Fatal(err)
	}
	wall = time.UnixMilli(1999)
	if a.review(t.Context(), at.Rights(), false); ended != nil {
		t.Errorf("before the end: %v", ended)
	}
	wall = time.UnixMilli(2000)
	a.review(t.Context(), at.Rights(), false)
	if e := reason.Of(ended); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED {
		t.Errorf("at the end: %v, want that the credential is not accepted", e)
	}
}

// TestAStreamInModeWarnIsDecidedOnceWhenItsCredentialEnds lets the token of an open stream end where nothing is enforced: that is counted once,
// and costs one proof, however often the member looks.
func TestAStreamInModeWarnIsDecidedOnceWhenItsCredentialEnds(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_WARN)
	wall := time.UnixMilli(1000)
	a.now = func() time.Time { return wall }
	at := node.store.Applied()
	short := &Who{Principal: "token:x", ExpireTimeMs: 2000, rights: authz.NewRights("token:x", "", authz.AdminPolicy())}
	a.cache.put(stateOf(at.Rights()), admin(), short)
	var ended error
	ctx, stream := a.Open(t.Context(), admin, tenurev1.WatchService_Watch_FullMethodName, func(err error) { ended = err })
	defer stream.Close()
	if err := stream.Message(ctx, &tenurev1.WatchRequest{}); err != nil {
		t.Fatal(err)
	}
	before := node.proofs // The new stream took one.
	wall = time.UnixMilli(2000)
	for range 10 {
		a.review(t.Context(), at.Rights(), false)
	}
	counted := &dto.Metric{}
	if err := a.metrics.wouldDeny.Write(counted); err != nil {
		t.Fatal(err)
	}
	if ended != nil || node.proofs != before+1 || counted.GetCounter().GetValue() != 1 {
		t.Errorf("got %v after %d proofs, counted %v times; want an open stream, one proof, counted once", ended, node.proofs-before,
			counted.GetCounter().GetValue())
	}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: storev1.AuthMode_AUTH_MODE_ENFORCE}})
	a.cache.put(stateOf(node.store.Rights.Now()), admin(), short)
	a.review(t.Context(), node.store.Rights.Now(), true)
	if e := reason.Of(ended); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED {
		t.Errorf("in mode enforce: got %v, want that the credential is not accepted", ended)
	}
}

// TestWhoseARevokedTokenWasIsKnown has a token that was accepted here before it was revoked: the audit log says whose it was.
func TestWhoseARevokedTokenWasIsKnown(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	get := func() (*Note, error) {
		ctx, note := WithNote(t.Context())
		_, err := a.Call(ctx, admin(), tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"})
		return note, err
	}
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: make([]byte, 16)}})
	note, err := get()
	if e := reason.Of(err); e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED {
		t.Errorf("got %v, want that the token is refused", err)
	}
	g := note.Grant()
	if want := "token:00000000-0000-0000-0000-000000000000"; g.Who().Principal != want || g.Principal() != "" {
		t.Errorf("noted %q, and on behalf of %q; want %s, on behalf of nobody", g.Who().Principal, g.Principal(), want)
	}
	ctx, unknown := WithNote(t.Context())
	other := &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: identity.Hash{1}}}
	if _, err = a.Call(ctx, other, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"}); err == nil {
		t.Error("a token that never was is accepted")
	}
	if got := unknown.Grant().Who().Principal; got != "" {
		t.Errorf("a token that never was: noted %q", got)
	}
}

// A call that came before this member knew of any rights has no grant. It must not see a state that came with rights meanwhile, such as
// the first that a new member gets from the leader.
func TestACallFromBeforeThereWereRightsSeesNoneOfTheirStates(t *testing.T) {
	for _, c := range []struct {
		mode   storev1.AuthMode
		reason tenurev1.ErrorReason
	}{
		{storev1.AuthMode_AUTH_MODE_UNSPECIFIED, tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED},
		{storev1.AuthMode_AUTH_MODE_OFF, tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED},
		{storev1.AuthMode_AUTH_MODE_WARN, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED},
		{storev1.AuthMode_AUTH_MODE_ENFORCE, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED},
	} {
		err := Of(t.Context()).At(nil, storage.Applied{AuthMode: c.mode})
		if got := reason.Of(err); got == nil != (c.reason == 0) || got != nil && got.Reason != c.reason {
			t.Errorf("mode %v: got %v, want %v", c.mode, err, c.reason)
		}
	}
}

// TestAMemberWhoseClockIsAYearAhead refuses what has an end too early, and nothing else: a token without an end works there, and once the
// clock is right so do the others. Nothing is deleted by one clock; see TestTheTimeOfAMajority.
func TestAMemberWhoseClockIsAYearAhead(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	wall := time.UnixMilli(1000)
	a.now = func() time.Time { return wall }
	soon := &identity.Client{Caller: identity.Caller{Kind: identity.Token, Token: identity.Hash{1}}}
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: bytes.Repeat([]byte{1}, 16), TokenSha256: soon.Token[:], Name: "web", Policies: []string{storage.AdminPolicy},
		ExpireTimeMs: wall.Add(90 * 24 * time.Hour).UnixMilli(),
	}}})
	get := func(who *identity.Client) tenurev1.ErrorReason {
		_, err := a.Call(t.Context(), who, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k"})
		if e := reason.Of(err); e != nil {
			return e.Reason
		}
		return 0
	}
	for _, tc := range []struct {
		ahead time.Duration
		want  tenurev1.ErrorReason
	}{{0, 0}, {365 * 24 * time.Hour, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED}, {0, 0}} {
		wall = time.UnixMilli(1000).Add(tc.ahead)
		if got := get(soon); got != tc.want {
			t.Errorf("%v ahead, a token of 90 days: got %v, want %v", tc.ahead, got, tc.want)
		}
		if got := get(admin()); got != 0 {
			t.Errorf("%v ahead, a token without an end: got %v", tc.ahead, got)
		}
	}
}
