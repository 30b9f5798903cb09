package provider_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/issuer"
	"github.com/tenure-io/tenure/server/provider"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/stores"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a member with one provider. Its time is that of a bubble, but for tests without one.
type rig struct {
	t      *testing.T
	issuer *issuer.Issuer
	record *storev1.ProviderRecord
	keys   *provider.Keys
	// published is what the provider publishes in place of its keys; nil or empty: its keys.
	published atomic.Pointer[string]
	logs      *observer.ObservedLogs
}

// publish has the provider publish its keys after others.
func (r *rig) publish(others ...any) {
	var set struct {
		Keys []any `json:"keys"`
	}
	if err := json.Unmarshal([]byte(r.issuer.KeySet()), &set); err != nil {
		r.t.Fatal(err)
	}
	set.Keys = append(others, set.Keys...)
	data, err := json.Marshal(set)
	if err != nil {
		r.t.Fatal(err)
	}
	text := string(data)
	r.published.Store(&text)
}

// newRig returns a rig whose provider has its keys where its server says, unless edit says otherwise.
func newRig(t *testing.T, store *storage.Store, record *storev1.ProviderRecord) *rig {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	r := &rig{t: t, issuer: issuer.New(), record: record, logs: logs}
	var err error
	r.keys, err = provider.New(provider.Options{
		Store: func() *storage.Store { return store }, Registerer: prometheus.NewRegistry(), Logger: zap.New(core),
		Fetch: func(context.Context, *storev1.ProviderRecord) ([]byte, error) {
			w := httptest.NewRecorder()
			r.issuer.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/keys", http.NoBody))
			if w.Code != http.StatusOK {
				return nil, errors.New("away")
			}
			if text := r.published.Load(); text != nil && *text != "" {
				return []byte(*text), nil
			}
			return w.Body.Bytes(), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ci returns a provider.
func ci(issuer string) *storev1.ProviderRecord {
	return &storev1.ProviderRecord{
		Name: "ci", Issuer: issuer, Audiences: []string{"other", "tenure"}, Algorithms: []string{"ES256"}, JwksUrl: "https://issuer.test/keys",
	}
}

// storeWith returns a store with a provider.
func storeWith(t testing.TB, p *storev1.ProviderRecord) *storage.Store {
	t.Helper()
	_, newest := storage.ClusterVersions()
	sum := make([]byte, 32)
	return stores.With(t,
		&storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}}},
		change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
			Mode:  storev1.AuthMode_AUTH_MODE_ENFORCE,
			Token: &storev1.TokenRecord{Accessor: sum[:16], TokenSha256: sum, Name: "first", Policies: []string{storage.AdminPolicy}},
		}}}),
		change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{PutProvider: p}}))
}

// inside runs a test in fake time, with a member that has a provider whose keys it fetches.
func inside(t *testing.T, test func(r *rig)) {
	t.Helper()
	record := ci("https://issuer.test")
	within(t, storeWith(t, record), record, test)
}

// within is like inside, with a store that has a provider.
func within(t *testing.T, store *storage.Store, record *storev1.ProviderRecord, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, store, record)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.keys.Run(ctx) }()
		test(r)
		stop()
		<-done
	})
}

// after lets time pass.
func (r *rig) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func change(c *storev1.ChangeAuth) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: c}}
}

// claims are those of a good token.
func (r *rig) claims(edit map[string]any) map[string]any {
	now := time.Now()
	all := map[string]any{"sub": "job:1", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, value := range edit {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return all
}

func (r *rig) verify(text string) (provider.Claims, provider.Cause) {
	return r.keys.Verify([]*storev1.ProviderRecord{r.record}, text)
}

// inline returns a rig whose provider has its keys in itself, and its issuer.
func inline(t *testing.T) (*rig, *issuer.Issuer) {
	t.Helper()
	i := issuer.New()
	record := ci(i.URL())
	record.Jwks, record.JwksUrl = i.KeySet(), ""
	return newRig(t, storeWith(t, record), record), i
}

func TestWhatIsAcceptedAndRefused(t *testing.T) {
	r, i := inline(t)
	second := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := i.Sign(r.claims(nil))
	signature := good[strings.LastIndex(good, "."):]
	elsewhere := i.Sign(r.claims(map[string]any{"sub": "job:2"}))
	for sentence, c := range map[string]struct {
		text string
		want provider.Cause
	}{
		"a good one":                       {good, 0},
		"one of a moment in the future":    {i.Sign(r.claims(map[string]any{"iat": second(20 * time.Second)})), 0},
		"one that ended a moment ago":      {i.Sign(r.claims(map[string]any{"exp": second(-20 * time.Second)})), 0},
		"one of several audiences":         {i.Sign(r.claims(map[string]any{"aud": []string{"x", "tenure"}})), 0},
		"one that has ended":               {i.Sign(r.claims(map[string]any{"exp": second(-40 * time.Second)})), provider.CauseExpired},
		"one without an end":               {i.Sign(r.claims(map[string]any{"exp": nil})), provider.CauseTime},
		"one that ends in two days":        {i.Sign(r.claims(map[string]any{"exp": second(48 * time.Hour)})), provider.CauseTime},
		"one that is not valid yet":        {i.Sign(r.claims(map[string]any{"nbf": second(time.Minute)})), provider.CauseTime},
		"one that was issued in an hour":   {i.Sign(r.claims(map[string]any{"iat": second(time.Hour)})), provider.CauseTime},
		"one for others":                   {i.Sign(r.claims(map[string]any{"aud": "vault"})), provider.CauseAudience},
		"one for nobody":                   {i.Sign(r.claims(map[string]any{"aud": []string{}})), provider.CauseAudience},
		"one of an unknown issuer":         {i.Sign(r.claims(map[string]any{"iss": "https://issuer.test/"})), provider.CauseIssuer},
		"one without an issuer":            {i.Sign(r.claims(map[string]any{"iss": ""})), provider.CauseIssuer},
		"one without a subject":            {i.Sign(r.claims(map[string]any{"sub": nil})), provider.CauseSubject},
		"one with a newline in it":         {i.Sign(r.claims(map[string]any{"sub": "a\nb"})), provider.CauseSubject},
		"one with a long subject":          {i.Sign(r.claims(map[string]any{"sub": strings.Repeat("a", 1025)})), provider.CauseSubject},
		"one with a number as its subject": {i.Sign(r.claims(map[string]any{"sub": 7})), provider.CauseMalformed},
		"one signed by another key of the same name": {
			issuer.Sign(jose.JSONWebKey{Key: other, KeyID: "key1"}, jose.ES256, r.claims(map[string]any{"iss": i.URL(), "aud": "tenure"})),
			provider.CauseSignature,
		},
		"one signed by an unknown key": {
			issuer.Sign(jose.JSONWebKey{Key: other, KeyID: "key2"}, jose.ES256, r.claims(map[string]any{"iss": i.URL(), "aud": "tenure"})),
			provider.CauseKey,
		},
		"one with the signature of another": {elsewhere[:strings.LastIndex(elsewhere, ".")] + signature, provider.CauseSignature},
		"one with a shared secret": {
			issuer.Sign([]byte(strings.Repeat("k", 32)), jose.HS256, r.claims(map[string]any{"iss": i.URL()})), provider.CauseMalformed,
		},
		"one without a signature": {good[:strings.LastIndex(good, ".")+1], provider.CauseSignature},
		"one that says none": {
			"eyJhbGciOiJub25lIn0." + strings.Split(good, ".")[1] + ".", provider.CauseMalformed,
		},
		"nonsense": {"eyJ.a.b", provider.CauseMalformed},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, cause := r.verify(c.text)
			if cause != c.want {
				t.Fatalf("got cause %d, %v, want %d, %v", cause, cause, c.want, c.want)
			}
			if cause == 0 && (got.Provider != "ci" || got.Subject != "job:1" || got.ExpireMs == 0) {
				t.Errorf("got %+v", got)
			}
			if cause != 0 && got.Subject != "" {
				t.Errorf("a refused one says who it is of: %+v", got)
			}
		})
	}
}

func TestAProviderAllowsItsAlgorithmsOnly(t *testing.T) {
	r, i := inline(t)
	r.record.Algorithms = []string{"RS256"}
	if _, cause := r.verify(i.Sign(r.claims(nil))); cause != provider.CauseAlgorithm {
		t.Errorf("got %v, want the algorithm", cause)
	}
}

// TestJWKSAwayForADay is the lock-out script of a provider that is away: its keys stay, tokens are accepted, and status says so.
func TestJWKSAwayForADay(t *testing.T) {
	inside(t, func(r *rig) {
		r.after(0)
		if s := r.keys.State("ci"); s.Keys != 1 || s.Failure != "" {
			t.Fatalf("got %+v", s)
		}
		r.issuer.Away(true)
		r.after(50 * time.Minute)
		if problem := r.keys.Problem(); problem != "" {
			t.Errorf("after less than an hour: %q", problem)
		}
		r.after(24 * time.Hour)
		if _, cause := r.verify(r.issuer.Sign(r.claims(nil))); cause != 0 {
			t.Errorf("after a day: %v", cause)
		}
		if problem := r.keys.Problem(); !strings.Contains(problem, "providers ci") || !strings.Contains(problem, "last at 2000-01-01T00:00:00Z") {
			t.Errorf("got %q", problem)
		}
		r.issuer.Away(false)
		r.issuer.AddKey()
		r.after(2 * time.Minute)
		if s := r.keys.State("ci"); s.Keys != 2 || r.keys.Problem() != "" {
			t.Errorf("it is back: %+v, %q", s, r.keys.Problem())
		}
	})
}

func TestAKeyIsForgottenOnlyWhenTheProviderSaysSo(t *testing.T) {
	inside(t, func(r *rig) {
		r.after(0)
		old, cause := r.verify(r.issuer.Sign(r.claims(nil)))
		if cause != 0 || !r.keys.Holds("ci", old.Key) {
			t.Fatalf("got %v", cause)
		}
		r.issuer.AddKey()
		text := r.issuer.Sign(r.claims(nil))
		if _, cause = r.verify(text); cause != provider.CauseKey {
			t.Errorf("a new key: got %v", cause)
		}
		r.keys.Ask(r.t.Context(), "ci") // A short time after the first attempt it does nothing.
		if got := r.issuer.Gets(); got != 1 {
			t.Errorf("the keys were asked for %d times, want once", got)
		}
		r.after(11 * time.Second)
		r.keys.Ask(r.t.Context(), "ci")
		if _, cause = r.verify(text); cause != 0 || !r.keys.Holds("ci", old.Key) {
			t.Errorf("after asking: got %v", cause)
		}
		r.issuer.Withdraw()
		r.after(10*time.Minute + time.Second)
		if r.keys.Holds("ci", old.Key) {
			t.Error("a key that was withdrawn is still there")
		}
	})
}

// TestWhatCannotBeUsedIsLeftOut has a provider that publishes a new key among others that do not belong there, and no longer the one before.
func TestWhatCannotBeUsedIsLeftOut(t *testing.T) {
	inside(t, func(r *rig) {
		r.after(0)
		old, cause := r.verify(r.issuer.Sign(r.claims(nil)))
		if cause != 0 {
			t.Fatalf("got %v", cause)
		}
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		leaked := jose.JSONWebKey{Key: private, KeyID: "leaked"}
		public := leaked.Public()
		r.issuer.AddKey()
		r.issuer.Withdraw()
		r.publish(leaked, public, json.RawMessage(`{"kty":"oct","k":"c2VjcmV0"}`), json.RawMessage(`{"kty":"XYZ"}`), json.RawMessage(`7`))
		r.after(30 * time.Minute)
		now, cause := r.verify(r.issuer.Sign(r.claims(nil)))
		if cause != 0 {
			t.Fatalf("the new key is not taken: %v", cause)
		}
		if s := r.keys.State("ci"); s.Keys != 1 || s.Failure != "" || r.keys.Problem() != "" || r.keys.Holds("ci", old.Key) {
			t.Errorf("got %+v, %q, want the new key only", s, r.keys.Problem())
		}
		text := issuer.Sign(leaked, jose.ES256, r.claims(map[string]any{"iss": r.issuer.URL(), "aud": "tenure"}))
		if _, cause = r.verify(text); cause != provider.CauseKey {
			t.Errorf("the key that everybody knows: got %v, want that it is unknown", cause)
		}
		left := r.logs.FilterMessage("a provider publishes keys that are left out").All()
		if len(left) != 1 || left[0].ContextMap()["private_or_symmetric"] != int64(3) || left[0].ContextMap()["unknown"] != int64(2) {
			t.Errorf("got the warnings %v, want one, of 3 and 2 keys", left)
		}
		r.publish(leaked)
		r.after(30 * time.Minute)
		if n := r.logs.FilterMessage("a provider publishes keys that are left out").Len(); n != 2 || !r.keys.Holds("ci", now.Key) {
			t.Errorf("got %d warnings, want another one for the change", n)
		}
		none := `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`
		r.published.Store(&none)
		r.after(30 * time.Minute)
		if s := r.keys.State("ci"); s.Failure != provider.ErrPrivateKey.Error() || !r.keys.Holds("ci", now.Key) {
			t.Errorf("nothing else is published: got %+v, want that the key stays", s)
		}
	})
}

// A key in use whose private key is published is not used any more, although nothing else in that set can be used and other keys stay.
func TestAKeyInUseIsPublishedWithItsPrivateKey(t *testing.T) {
	inside(t, func(r *rig) {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		leaked := jose.JSONWebKey{Key: private, KeyID: "leaked"}
		r.publish(leaked.Public())
		r.after(30 * time.Minute) // The keys may have been fetched before.
		other, cause := r.verify(r.issuer.Sign(r.claims(nil)))
		if cause != 0 {
			t.Fatalf("got %v", cause)
		}
		text := issuer.Sign(leaked, jose.ES256, r.claims(map[string]any{"iss": r.issuer.URL(), "aud": "tenure"}))
		if _, cause = r.verify(text); cause != 0 {
			t.Fatalf("before its private key is published: got %v", cause)
		}
		data, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{leaked}})
		if err != nil {
			t.Fatal(err)
		}
		only := string(data)
		r.published.Store(&only)
		r.after(11 * time.Minute)
		if _, cause = r.verify(text); cause != provider.CauseKey {
			t.Errorf("the key that everybody knows: got %v, want that it is unknown", cause)
		}
		if s := r.keys.State("ci"); s.Keys != 1 || s.Failure != provider.ErrPrivateKey.Error() || !r.keys.Holds("ci", other.Key) {
			t.Errorf("got %+v, want that the other key stays", s)
		}
	})
}

// TestKeysStayWhenTheirSourceIsEdited edits where the keys of a provider are while its server is away.
func TestKeysStayWhenTheirSourceIsEdited(t *testing.T) {
	record := ci("https://issuer.test")
	store := storeWith(t, record)
	put := func(edit func(p *storev1.ProviderRecord)) {
		t.Helper()
		edit(record)
		stores.Apply(t, store, change(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{PutProvider: record}}))
	}
	within(t, store, record, func(r *rig) {
		r.after(0)
		long := map[string]any{"exp": time.Now().Add(20 * time.Hour).Unix()}
		first, cause := r.verify(r.issuer.Sign(r.claims(long)))
		if cause != 0 {
			t.Fatalf("got %v", cause)
		}
		fetched := r.keys.State("ci").Fetched
		r.issuer.Away(true)
		for sentence, edit := range map[string]func(p *storev1.ProviderRecord){
			"another URL":           func(p *storev1.ProviderRecord) { p.JwksUrl = "https://issuer.test/other" },
			"where the issuer says": func(p *storev1.ProviderRecord) { p.JwksUrl = "" },
			"another CA":            func(p *storev1.ProviderRecord) { p.CaCertificates = "another" },
		} {
			gets := r.issuer.Gets()
			put(edit)
			r.after(2 * time.Second)
			if _, cause = r.verify(r.issuer.Sign(r.claims(long))); cause != 0 || !r.keys.Holds("ci", first.Key) {
				t.Errorf("%s: a token is refused: %v", sentence, cause)
			}
			if s := r.keys.State("ci"); s.Failure == "" || s.Fetched != fetched || r.issuer.Gets() == gets {
				t.Errorf("%s: got %+v after %d attempts, want one that failed", sentence, s, r.issuer.Gets()-gets)
			}
		}
		put(func(p *storev1.ProviderRecord) { p.Issuer = "https://another.test" })
		r.after(2 * time.Second)
		if r.keys.Holds("ci", first.Key) {
			t.Error("another issuer has the keys of the one before")
		}
	})
}

// TestASetWithoutAKeyForgetsThem has a provider that withdraws its last key, answers what is no key set, and has a key again.
func TestASetWithoutAKeyForgetsThem(t *testing.T) {
	inside(t, func(r *rig) {
		r.after(0)
		text := r.issuer.Sign(r.claims(map[string]any{"exp": time.Now().Add(20 * time.Hour).Unix()}))
		old, cause := r.verify(text)
		if cause != 0 {
			t.Fatalf("got %v", cause)
		}
		for _, none := range []string{`{}`, `{"keys":null}`, `{"error":"no"}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`} {
			r.published.Store(&none)
			r.after(11 * time.Minute)
			if _, cause = r.verify(text); cause != 0 || r.keys.State("ci").Failure == "" {
				t.Errorf("%s is taken for a key set: %v, %+v", none, cause, r.keys.State("ci"))
			}
		}
		for _, none := range []string{`{"keys":[]}`, `{"keys":[{"kty":"XYZ"}]}`} {
			r.published.Store(nil)
			r.after(11 * time.Minute)
			if _, cause = r.verify(text); cause != 0 || r.keys.Problem() != "" {
				t.Errorf("it has its key again: %v, %q", cause, r.keys.Problem())
			}
			r.published.Store(&none)
			r.after(11 * time.Minute)
			if _, cause = r.verify(text); cause != provider.CauseKey || r.keys.Holds("ci", old.Key) {
				t.Errorf("%s: the key is still there, %v", none, cause)
			}
			if s := r.keys.State("ci"); s.Keys != 0 || s.Failure != provider.ErrNoKey.Error() || time.Since(s.Fetched) > 2*time.Minute {
				t.Errorf("%s: got %+v, want that it was fetched, and has no key", none, s)
			}
			const want = "providers of JSON Web Tokens without a key that can be used, whose tokens are refused: ci"
			if got := r.keys.Problem(); got != want {
				t.Errorf("%s: got the problem %q, want %q", none, got, want)
			}
		}
	})
}

func TestKeySetsThatAreNone(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want error
	}{
		"a good one":      {issuer.New().KeySet(), nil},
		"no JSON":         {"{", provider.ErrKeySet},
		"no key":          {`{"keys":[]}`, provider.ErrNoKey},
		"no keys at all":  {`{}`, provider.ErrKeySet},
		"a symmetric key": {`{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, provider.ErrPrivateKey},
		"a private key":   {`{"keys":[{"kty":"OKP","crv":"Ed25519","d":"x","x":"y"}]}`, provider.ErrPrivateKey},
		"a private key beside a good one": {
			strings.Replace(issuer.New().KeySet(), `[`, `[{"kty":"OKP","crv":"Ed25519","d":"x","x":"y"},`, 1), provider.ErrPrivateKey,
		},
		"what is no key beside a good one": {strings.Replace(issuer.New().KeySet(), `[`, `[7,`, 1), provider.ErrKeySet},
		"an unknown kind":                  {`{"keys":[{"kty":"XYZ"}]}`, provider.ErrNoKey},
		"a key for encryption": {
			strings.Replace(issuer.New().KeySet(), `"use":"sig"`, `"use":"enc"`, 1), provider.ErrNoKey,
		},
	} {
		if err := provider.CheckKeySet(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", sentence, err, c.want)
		}
	}
}

func TestURLsOfKeys(t *testing.T) {
	for text, good := range map[string]bool{
		"https://a/keys": true, "http://127.0.0.1:80/keys": true, "http://[::1]/": true, "http://localhost/k": true, "http://LocalHost/k": true,
		"http://a/keys": false, "http://localhost./k": false, "ftp://a": false, "https://u:p@a/": false, "https:///keys": false, "keys": false, "https://a/#b": false,
	} {
		if err := provider.CheckURL(text); (err == nil) != good {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// FuzzVerify verifies texts: whatever they are, it does not panic, and accepts nothing that the issuer did not say.
func FuzzVerify(f *testing.F) {
	i := issuer.New()
	record := ci(i.URL())
	record.Jwks, record.JwksUrl, record.Algorithms = i.KeySet(), "", provider.Algorithms()
	store := storeWith(f, record)
	f.Add(i.Sign(map[string]any{"sub": "a", "exp": time.Now().Add(time.Hour).Unix()}))
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, text string) {
		if claims, cause := newRig(t, store, record).verify(text); cause == 0 && claims.Subject != "a" {
			t.Errorf("%q is accepted", text)
		}
	})
}
