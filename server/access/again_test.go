package access

import (
	"context"
	"crypto/sha256"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/issuer"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// wantReason fails unless err has a reason; zero: no error.
func wantReason(t *testing.T, what string, err error, want tenurev1.ErrorReason) {
	t.Helper()
	if got := reason.Of(err); (err != nil || want != 0) && (got == nil || got.Reason != want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

// withRules replaces the rules of the callers of lagging.
func (c *cut) withRules(t *testing.T, rules string) {
	t.Helper()
	c.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "p", Rules: rules}}})
}

// TestAChangeIsComparedByWhatItWasDecidedUnder takes rights away between the decision about a change and its proposal, at the same member.
func TestAChangeIsComparedByWhatItWasDecidedUnder(t *testing.T) {
	for rules, want := range map[string]tenurev1.ErrorReason{
		`key "other" rw`: tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, `key "k" rw`: 0,
	} {
		member, a, caller := lagging(t, `key * rw`)
		ctx, err := a.Call(t.Context(), caller, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		member.withRules(t, rules)
		var attempts []storev1.FailureReason
		_, err = Ordered(ctx, member.Store, func(_ string, below uint64) (*storev1.Result, error) {
			result := member.result(t, &storev1.Command{AuthorisedBelow: below, Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}})
			attempts = append(attempts, result.GetFailure().GetReason())
			return result, nil
		})
		wantReason(t, rules, err, want)
		if attempts[0] != storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD || (len(attempts) == 2) != (want == 0) {
			t.Errorf("%s: got %v, want that the first attempt is too old, and another one only with the right", rules, attempts)
		}
	}
}

// TestAChangeIsDecidedAboutAFewTimes has every attempt of a change meet rights that were taken away in the meantime.
func TestAChangeIsDecidedAboutAFewTimes(t *testing.T) {
	outdated := &storev1.Result{Failure: &storev1.Failure{Reason: storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD}}
	for method, want := range map[string]int{
		tenurev1.KVService_Put_FullMethodName: ordersAgainMax, tenurev1.AuthService_RevokeToken_FullMethodName: rightsAgainMax,
	} {
		g := remembering(t, "service/15/a", 0)
		g.method = method
		if err := g.Again(t.Context()); err != nil {
			t.Fatal(err)
		}
		attempts := 0
		result, err := Ordered(context.WithValue(t.Context(), grantKey{}, g), g.authority.node.Store, func(string, uint64) (*storev1.Result, error) {
			attempts++
			return outdated, nil
		})
		if attempts != want+1 || result != outdated || err != nil {
			t.Errorf("%s: got %v, %v after %d attempts; want that it is too old after %d", method, result, err, attempts, want+1)
		}
	}
}

// TestAChangeFromBeforeThereWereRightsIsNotMade proposes a change about which nothing was decided.
func TestAChangeFromBeforeThereWereRightsIsNotMade(t *testing.T) {
	for mode, want := range map[storev1.AuthMode]tenurev1.ErrorReason{
		storev1.AuthMode_AUTH_MODE_UNSPECIFIED: 0,
		storev1.AuthMode_AUTH_MODE_OFF:         0,
		storev1.AuthMode_AUTH_MODE_WARN:        tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED,
		storev1.AuthMode_AUTH_MODE_ENFORCE:     tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED,
	} {
		_, _, err := Authorised(t.Context(), storage.RightsState{Mode: mode})
		wantReason(t, mode.String(), err, want)
	}
}

// TestAReadIsDecidedByTheRightsOfItsState reads a key after the right to it was taken away, which the member had not heard of when the call came.
func TestAReadIsDecidedByTheRightsOfItsState(t *testing.T) {
	member, a, caller := lagging(t, `key * ro`)
	ctx, err := a.Call(t.Context(), caller, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		rules string
		want  tenurev1.ErrorReason
	}{{`key "k" ro`, 0}, {`key "other" ro`, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED}} {
		member.withRules(t, step.rules)
		s := member.store.NewReader()
		at, err := s.Applied()
		if err == nil {
			err = Of(ctx).At(s, at)
		}
		wantReason(t, step.rules, err, step.want)
		if err = s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARightThatAMemberHasNotHeardOf calls with a right that was given a moment ago, through a member that has not applied it.
func TestARightThatAMemberHasNotHeardOf(t *testing.T) {
	member, a, caller := lagging(t, `key "other" ro`)
	get := func() error {
		_, err := a.Call(t.Context(), caller, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k"})
		return err
	}
	wantReason(t, "without the right", get(), tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
	member.missed = []*storev1.Command{{Kind: &storev1.Command_ChangeAuth{ChangeAuth: &storev1.ChangeAuth{
		Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: "p", Rules: `key * ro`}},
	}}}}
	wantReason(t, "with it", get(), 0)
}

// renewing opens a stream of renewals of a caller's sessions.
func renewing(t *testing.T, a *Authority, caller *identity.Client, end func(error)) (ctx context.Context, renew func() error) {
	t.Helper()
	ctx, stream := a.Open(t.Context(), func() *identity.Client { return caller }, tenurev1.SessionService_KeepAlive_FullMethodName, end)
	t.Cleanup(stream.Close)
	return ctx, func() error { return stream.Message(ctx, renewals()) }
}

// renewals renew the session of others than the callers of lagging.
func renewals() *tenurev1.KeepAliveRequest {
	return &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: unheardSession.String()}}}
}

// TestADeniedRenewalEndsNoStream takes away the right to a session that a stream renews, and then the token.
func TestADeniedRenewalEndsNoStream(t *testing.T) {
	member, a, caller := lagging(t, `session "other" write`)
	if err := member.ReadIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ended error
	ctx, renew := renewing(t, a, caller, func(err error) { ended = err })
	reviews := a.Reviews()
	if err := renew(); err != nil || Of(ctx).Denies(unheardSession.String()) {
		t.Fatalf("with the right: got %v", err)
	}
	member.withRules(t, `session "mine" write`)
	reviews.Next(t.Context())
	wantReason(t, "without the right, the stream", ended, 0)
	if err := renew(); err != nil || !Of(ctx).Denies(unheardSession.String()) {
		t.Errorf("without the right: got %v, want that the renewal alone is denied", err)
	}
	member.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: append([]byte{1}, make([]byte, 15)...)}})
	reviews.Next(t.Context())
	wantReason(t, "without the token", ended, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED)
}

// TestARenewalIsDecidedAgain decides again about a renewal that the leader found too old, with the right still there and without it.
func TestARenewalIsDecidedAgain(t *testing.T) {
	for rules, denied := range map[string]bool{"session \"other\" write\nkey * ro": false, `session "mine" write`: true} {
		member, a, caller := lagging(t, `session "other" write`)
		if err := member.ReadIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, renew := renewing(t, a, caller, func(error) {})
		if err := renew(); err != nil {
			t.Fatal(err)
		}
		member.withRules(t, rules)
		again, err := Again(ctx, renewals())
		if err != nil || Of(again).Denies(unheardSession.String()) != denied {
			t.Errorf("%s: got %v, want denied %v", rules, err, denied)
		}
		if _, below, err := Authorised(again, member.store.Rights.Now()); err != nil || below != member.store.Rights.Now().DenyRevision+1 {
			t.Errorf("%s: got %d, %v, want what the member knows now", rules, below, err)
		}
	}
}

// TestAStreamFromBeforeThereWereRightsSendsNothing opens streams in mode off, and asks what they send once rules are enforced, before a review.
func TestAStreamFromBeforeThereWereRightsSendsNothing(t *testing.T) {
	node, a, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_OFF)
	open := func(method string, message any) *Stream {
		ctx, stream := a.Open(t.Context(), admin, method, func(error) {})
		t.Cleanup(stream.Close)
		if err := stream.Message(ctx, message); err != nil {
			t.Fatal(err)
		}
		return stream
	}
	watch := open(tenurev1.WatchService_Watch_FullMethodName, &tenurev1.WatchRequest{})
	wait := open(tenurev1.LockService_AcquireLock_FullMethodName, &tenurev1.AcquireLockRequest{})
	wantReason(t, "in mode off", watch.Sends(), 0)
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: storev1.AuthMode_AUTH_MODE_ENFORCE}})
	wantReason(t, "a watch", watch.Sends(), tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED)
	wantReason(t, "what tells of a change", wait.Sends(), 0)
	later := open(tenurev1.WatchService_Watch_FullMethodName, &tenurev1.WatchRequest{})
	wantReason(t, "a watch about which was decided", later.Sends(), 0)
}

// TestAnOlderStateIsNotRemembered has a slow call look a caller up on a snapshot from before its rights were taken away.
func TestAnOlderStateIsNotRemembered(t *testing.T) {
	member, a, caller := lagging(t, `key * ro`)
	s := member.store.NewReader()
	defer func() { _ = s.Close() }()
	at, err := s.Applied()
	if err != nil {
		t.Fatal(err)
	}
	member.withRules(t, `key "other" ro`)
	get := func() error {
		_, failed := a.Call(t.Context(), caller, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "k"})
		return failed
	}
	wantReason(t, "before", get(), tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
	if _, err = a.who(s, at, &identity.Client{Caller: caller.Caller}); err != nil {
		t.Fatal(err)
	}
	wantReason(t, "after", get(), tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED)
}

// TestAStreamEndsWithTheKeyOfItsCredential has a provider withdraw the key that verified the caller of an open stream. No right is taken away in the
// cluster by that.
func TestAStreamEndsWithTheKeyOfItsCredential(t *testing.T) {
	node, _, _ := enforcing(t, storev1.AuthMode_AUTH_MODE_ENFORCE)
	ci := issuer.New()
	ci.At("https://issuer.test")
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{PutProvider: &storev1.ProviderRecord{
		Name: "ci", Issuer: ci.URL(), Audiences: []string{"tenure"}, Algorithms: []string{"ES256"}, JwksUrl: "https://issuer.test/keys",
	}}})
	node.change(t, &storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
		Name: "b", Kind: storev1.BindingKind_BINDING_KIND_JWT, Principal: "jwt:ci/", Policies: []string{storage.AdminPolicy},
	}}})
	synctest.Test(t, func(t *testing.T) {
		keys, err := provider.New(provider.Options{
			Store: node.Store, Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
			Fetch: func(context.Context, *storev1.ProviderRecord) ([]byte, error) { return []byte(ci.KeySet()), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(Options{Node: node, Registerer: prometheus.NewRegistry(), Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go keys.Run(ctx)
		go a.Run(ctx)
		synctest.Wait()
		text := ci.Sign(map[string]any{"sub": "job:1", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()})
		caller := &identity.Client{Caller: identity.Caller{Kind: identity.JWT, Token: sha256.Sum256([]byte(text)), JWT: identity.Text(text)}}
		ended := make(chan error, 1)
		opened, stream := a.Open(ctx, func() *identity.Client { return caller }, tenurev1.WatchService_Watch_FullMethodName, func(err error) {
			select {
			case ended <- err:
			default:
			}
		})
		defer stream.Close()
		if err = stream.Message(opened, &tenurev1.WatchRequest{}); err != nil {
			t.Fatal(err)
		}
		ci.AddKey()
		ci.Withdraw()
		withdrawn := time.Now()
		select {
		case err = <-ended:
			wantReason(t, "at the end", err, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED)
		case <-time.After(30 * time.Minute):
			t.Errorf("the stream is still open %v after the key was withdrawn", time.Since(withdrawn))
		}
		if keys.State("ci").Fetched.Add(5 * time.Second).Before(time.Now()) {
			t.Errorf("the stream ended at %v, more than 5 s after the key was known to be withdrawn, at %v", time.Now(), keys.State("ci").Fetched)
		}
	})
}
