package storage_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	authOff     = storev1.AuthMode_AUTH_MODE_OFF
	authWarn    = storev1.AuthMode_AUTH_MODE_WARN
	authEnforce = storev1.AuthMode_AUTH_MODE_ENFORCE
)

// try applies a command, and returns its result or its failure's reason.
func (r *rig) try(cmd *storev1.Command) (*storev1.Result, storev1.FailureReason) {
	r.t.Helper()
	data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{cmd}})
	if err != nil {
		r.t.Fatal(err)
	}
	at := r.store.Applied()
	out, err := r.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
	if err != nil {
		r.t.Fatal(err)
	}
	at = r.store.Applied()
	if got, want := r.store.Rights.Now(), at.Rights(); got != want {
		r.t.Fatalf("rights are as far as %+v, want %+v", got, want)
	}
	result := out.Entries[0].Results[0]
	return result, result.GetFailure().GetReason()
}

func authCommand(change *storev1.ChangeAuth) *storev1.Command {
	return &storev1.Command{WallTimeMs: 7, Principal: "token:maker", Kind: &storev1.Command_ChangeAuth{ChangeAuth: change}}
}

func bootstrapCommand(text string, mode storev1.AuthMode) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Mode: mode, Token: &storev1.TokenRecord{
			Accessor: numberedID(1), TokenSha256: hashOf(text), Name: "bootstrap", Policies: []string{storage.AdminPolicy},
		},
	}}})
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

func createToken(n uint64, text string, policies ...string) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: &storev1.TokenRecord{
		Accessor: numberedID(n), TokenSha256: hashOf(text), Name: "t", Policies: policies, ExpireTimeMs: 9,
	}}})
}

func putPolicy(name, rules string) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{PutPolicy: &storev1.PolicyRecord{Name: name, Rules: rules}}})
}

func putProvider(name, issuer string) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{PutProvider: &storev1.ProviderRecord{
		Name: name, Issuer: issuer, Audiences: []string{"tenure"}, Algorithms: []string{"ES256"},
	}}})
}

func bindJWT(principal string) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
		Name: "j", Kind: storev1.BindingKind_BINDING_KIND_JWT, Principal: principal, Policies: []string{"p"}, IssuedAfterMs: 7,
	}}})
}

func setMode(mode storev1.AuthMode) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{SetMode: mode}})
}

// TestWhatTakesRightsAway applies changes one after the other, and looks whether each raises the deny revision.
func TestWhatTakesRightsAway(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	binding := authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
		Name: "b", Kind: storev1.BindingKind_BINDING_KIND_ANONYMOUS, Policies: []string{"p"},
	}}})
	revoke := func(n uint64) *storev1.Command {
		return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: numberedID(n)}})
	}
	rotate := func(n uint64, text string) *storev1.Command {
		return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{RotateToken: &storev1.RotateToken{
			Accessor: numberedID(n), TokenSha256: hashOf(text),
		}}})
	}
	for i, step := range []struct {
		name   string
		cmd    *storev1.Command
		reason storev1.FailureReason
		raises bool
	}{
		{"a policy before the bootstrap", putPolicy("p", "r"), storev1.FailureReason_FAILURE_REASON_AUTH_NOT_BOOTSTRAPPED, false},
		{"the bootstrap", bootstrapCommand("a", authWarn), 0, true},
		{"the same again", bootstrapCommand("a", authEnforce), 0, false},
		{"another bootstrap", bootstrapCommand("b", authWarn), storev1.FailureReason_FAILURE_REASON_AUTH_BOOTSTRAPPED, false},
		{"a new policy", putPolicy("p", "r"), 0, false},
		{"the built-in policy", putPolicy("admin", "r"), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, false},
		{"another policy's text", putPolicy("p", "s"), 0, true},
		{"a token", createToken(2, "t", "p"), 0, false},
		{"a token with the same text", createToken(3, "t", "p"), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, false},
		{"a token without such a policy", createToken(3, "u", "q"), storev1.FailureReason_FAILURE_REASON_POLICY_NOT_FOUND, false},
		{"another text of a token", rotate(2, "v"), 0, true},
		{"of one that there is not", rotate(4, "w"), storev1.FailureReason_FAILURE_REASON_TOKEN_NOT_FOUND, false},
		{"a revoked token", revoke(2), 0, true},
		{"one that is revoked already", revoke(2), 0, false},
		{"a binding", binding, 0, false},
		{"the binding again", binding, 0, true},
		{"a stricter mode", setMode(authEnforce), 0, true},
		{"a milder mode", setMode(authOff), 0, false},
		{"no binding", authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteBinding{DeleteBinding: "b"}}), 0, true},
		{"a provider", putProvider("ci", "https://a"), 0, false},
		{"another with its issuer", putProvider("cj", "https://a"), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, false},
		{"the provider again", putProvider("ci", "https://b"), 0, true},
		{"one with a name that none has", putProvider("C", "https://c"), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, false},
		{"a binding of its callers", bindJWT("jwt:ci/a"), 0, false},
		{"one of all callers of all providers", bindJWT("jwt:"), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, false},
		{"no provider", authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteProvider{DeleteProvider: "ci"}}), 0, true},
		{"none already", authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteProvider{DeleteProvider: "ci"}}), 0, false},
		{"no policy", authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: "p"}}), 0, true},
		{"nothing", authCommand(&storev1.ChangeAuth{}), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND, false},
	} {
		before := r.store.Applied()
		_, reason := r.try(step.cmd)
		after := r.store.Applied()
		if reason != step.reason || after.DenyRevision > before.DenyRevision != step.raises || after.Revision != before.Revision {
			t.Errorf("step %d, %s: got %v, deny revision %d to %d, want %v, raised %v", i, step.name, reason,
				before.DenyRevision, after.DenyRevision, step.reason, step.raises)
		}
	}
	checkBytesOf(t, r.store)
}

// TestADenialSaysWhatChanged applies changes that are denied as rights were taken away, as something else is under an id that they name, and for both.
func TestADenialSaysWhatChanged(t *testing.T) {
	const (
		rights = "authorised under deny revision 0, which is 1 by now"
		other  = "what an id in the request names has changed since the call was decided about"
	)
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(bootstrapCommand("a", authWarn))
	now := r.store.Applied().DenyRevision
	if now != 1 {
		t.Fatalf("the deny revision is %d, want 1", now)
	}
	there := []*storev1.Finding{{Kind: storev1.FindingKind_FINDING_KIND_QUERY, Id: make([]byte, 16), Name: "q", Found: true}}
	for sentence, c := range map[string]struct {
		below    uint64
		findings []*storev1.Finding
		want     string
	}{
		"rights were taken away":      {now, nil, rights},
		"what was found is not there": {now + 1, there, other},
		"both":                        {now, there, rights},
	} {
		result, reason := r.try(&storev1.Command{
			AuthorisedBelow: c.below, Findings: c.findings, Principal: "token:x", Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}},
		})
		got := storage.FailureText(result.GetFailure())
		if reason != storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD || got != c.want {
			t.Errorf("%s: got %v %q, want DENY_REVISION_OLD %q", sentence, reason, got, c.want)
		}
	}
}

// TestACommandOfOldRightsDoesNothing applies changes that were authorised before rights were taken away: they do nothing and nothing
// remembers them, so that the same request under new rights is the first.
func TestACommandOfOldRightsDoesNothing(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	digest := hashOf("request")
	put := func(below uint64) *storev1.Command {
		return &storev1.Command{
			AuthorisedBelow: below, Principal: "token:x", IdempotencyKey: []byte("sixteen bytes key"), RequestDigest: digest,
			Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k", Value: []byte("v")}},
		}
	}
	old := r.store.Applied().DenyRevision + 1
	r.apply(bootstrapCommand("a", authWarn))
	before := r.store.Applied()
	if _, reason := r.try(put(old)); reason != storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD {
		t.Errorf("got %v, want DENY_REVISION_OLD", reason)
	}
	if after := r.store.Applied(); after.KeyedRequests != before.KeyedRequests || after.Revision != before.Revision {
		t.Errorf("something was done: %+v, then %+v", before, after)
	}
	first, reason := r.try(put(before.DenyRevision + 1))
	if reason != 0 || !first.GetChanged() {
		t.Fatalf("under new rights: got %v, %v", first, reason)
	}
	r.apply(setMode(authEnforce))
	if _, reason = r.try(put(before.DenyRevision + 1)); reason != storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD {
		t.Errorf("the remembered result: got %v, want DENY_REVISION_OLD", reason)
	}
	if again, _ := r.try(put(r.store.Applied().DenyRevision + 1)); again.GetRevision() != first.GetRevision() {
		t.Errorf("got %v, want the result of %v", again, first)
	}
	enforced, other := put(r.store.Applied().DenyRevision+1), put(r.store.Applied().DenyRevision+1)
	enforced.IdempotencyKey, other.IdempotencyKey, other.Principal = []byte("another key of 25 letters"), []byte("another key of 25 letters"), "token:y"
	r.apply(enforced)
	its := r.store.Applied().Revision
	var own *storev1.Result
	if own, reason = r.try(other); reason != 0 || own.GetRevision() == its {
		t.Errorf("another principal's key: got %v, %v, want a request of its own", own, reason)
	}
	if _, reason = r.try(&storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "leader"}}}); reason != 0 {
		t.Errorf("a leader's own command: got %v", reason)
	}
}

// endTokens returns the command of a leader that found that tokens ended at 9.
func endTokens(term uint64, tokens ...uint64) *storev1.Command {
	e := &storev1.EndTokens{Term: term}
	for _, n := range tokens {
		e.Tokens = append(e.Tokens, &storev1.EndedToken{Accessor: numberedID(n), ExpireTimeMs: 9})
	}
	return &storev1.Command{Kind: &storev1.Command_EndTokens{EndTokens: e}}
}

// TestEndedTokensAreDeleted deletes what ended as the command says, in its term, and takes no right away by that.
func TestEndedTokensAreDeleted(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(bootstrapCommand("a", authEnforce), createToken(2, "t", "admin"), createToken(3, "u", "admin"))
	before := r.store.Applied()
	if _, reason := r.try(endTokens(before.Term+1, 2)); reason != storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH {
		t.Errorf("of another term: got %v, want TERM_MISMATCH", reason)
	}
	other := endTokens(before.Term, 3)
	other.GetEndTokens().Tokens[0].ExpireTimeMs = 8
	endless := endTokens(before.Term, 1)
	endless.GetEndTokens().Tokens[0].ExpireTimeMs = 0
	r.apply(endTokens(before.Term, 1, 2, 4), other, endless)
	if at := r.store.Applied(); at.DenyRevision != before.DenyRevision || at.AuthChanges != before.AuthChanges+1 {
		t.Errorf("got deny revision %d and change %d, want %d and %d", at.DenyRevision, at.AuthChanges, before.DenyRevision, before.AuthChanges+1)
	}
	reader := r.store.NewReader()
	defer closeReader(t, reader)
	head, err := reader.AuthHead()
	tokens, failed := reader.Tokens("", 9)
	gone, wrong := reader.TokenByHash(hashOf("t"))
	if err != nil || failed != nil || wrong != nil || head.GetTokens() != 2 || len(tokens) != 2 || gone != nil {
		t.Errorf("got %d tokens by the head, %v, and %v (%v, %v, %v); want those without an end or with another one", head.GetTokens(), tokens,
			gone, err, failed, wrong)
	}
	r.apply(createToken(4, "t", "admin")) // The hash is free again: nothing of the deleted token is left.
	checkBytesOf(t, r.store)
}

func TestTokensNeedTheirClusterVersion(t *testing.T) {
	r := &rig{t: t, store: newStoreOf(t, vfs.NewMem(), "sm", 2)}
	if _, reason := r.try(bootstrapCommand("a", authWarn)); reason != storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED {
		t.Errorf("got %v, want FEATURE_NOT_ENABLED", reason)
	}
	if _, reason := r.try(endTokens(r.store.Applied().Term, 1)); reason != storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED {
		t.Errorf("deletion: got %v, want FEATURE_NOT_ENABLED", reason)
	}
	if _, reason := r.try(tokensUsed(5, numberedID(1))); reason != storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED {
		t.Errorf("use: got %v, want FEATURE_NOT_ENABLED", reason)
	}
	if at := r.store.Applied(); at.AuthMode != 0 || at.DenyRevision != 0 || at.AuthChanges != 0 {
		t.Errorf("got %+v, want nothing done", at)
	}
}

// TestTokensComeBackWithABackup restores a backup: what was revoked since is back, and no command of before counts.
func TestTokensComeBackWithABackup(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(bootstrapCommand("secret text", authEnforce), putPolicy("p", "r"), createToken(2, "other secret", "p"))
	backup := backupOf(t, r.store)
	for _, text := range []string{"secret text", "other secret"} {
		if bytes.Contains(backup, []byte(text)) {
			t.Error("the backup has the text of a token")
		}
	}
	s := restored(t, backup, restoreOptions(1))
	before, after := r.store.Applied(), s.Applied()
	if after.AuthMode != authEnforce || after.DenyRevision <= before.DenyRevision || after.AuthChanges <= before.AuthChanges {
		t.Errorf("got %v at deny revision %d, change %d; before %d, %d", after.AuthMode, after.DenyRevision, after.AuthChanges,
			before.DenyRevision, before.AuthChanges)
	}
	reader := s.NewReader()
	defer closeReader(t, reader)
	token, err := reader.TokenByHash(hashOf("other secret"))
	if err != nil || token.GetCreatedBy() != "token:maker" || token.GetCreateTimeMs() != 7 || token.GetExpireTimeMs() != 9 {
		t.Errorf("got %v, %v", token, err)
	}
	checkBytesOf(t, s)
}

// TestRandomAuthChangesAreDeterministic applies random changes to two stores, in entries of one and of many.
func TestRandomAuthChangesAreDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	many := newStore(t, vfs.NewMem(), "sm")
	var entries []storage.Entry
	for n := range 400 {
		name, id := fmt.Sprint("p", rng.IntN(4)), uint64(2+rng.IntN(5))
		cmd := []*storev1.Command{
			bootstrapCommand(fmt.Sprint(rng.IntN(2)), authWarn), putPolicy(name, fmt.Sprint(n)), createToken(id, fmt.Sprint(n), name, "admin"),
			setMode(storev1.AuthMode(rng.IntN(4))),
			authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: numberedID(id)}}),
			authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: name}}),
			authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteBinding{DeleteBinding: name}}),
			authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{
				RotateToken: &storev1.RotateToken{Accessor: numberedID(id), TokenSha256: hashOf(fmt.Sprint("r", n))},
			}}),
			authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{PutBinding: &storev1.BindingRecord{
				Name: name, Kind: storev1.BindingKind_BINDING_KIND_CERTIFICATE, Principal: "cert:", Policies: []string{name},
			}}}),
			{AuthorisedBelow: uint64(rng.IntN(40)), Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k"}}},
			putProvider(name, fmt.Sprint("https://", rng.IntN(4))),
			authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteProvider{DeleteProvider: name}}),
			endTokens(one.store.Applied().Term, id), tokensUsed(uint32(1+rng.IntN(9)), numberedID(id), numberedID(1)),
		}[rng.IntN(14)]
		at := one.store.Applied()
		data, err := storage.EncodeEnvelope(&storev1.Envelope{Commands: []*storev1.Command{proto.CloneOf(cmd)}})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, storage.Entry{Index: at.Index + 1, Term: at.Term, Data: data})
		one.try(cmd)
	}
	if _, err := many.Apply(entries); err != nil {
		t.Fatal(err)
	}
	if one.store.Applied().Checksum != many.Applied().Checksum || one.store.Applied().DenyRevision == 0 {
		t.Errorf("got %+v and %+v, want the same", one.store.Applied(), many.Applied())
	}
	r := many.NewReader()
	defer closeReader(t, r)
	head, err := r.AuthHead()
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := r.Tokens("", 1000)
	if err != nil || uint64(len(tokens)) != head.GetTokens() {
		t.Errorf("%d tokens are counted, %d are there, %v", head.GetTokens(), len(tokens), err)
	}
	policies, err := r.Policies("", 1000, 1<<20)
	if err != nil || uint64(len(policies)) != head.GetPolicies() {
		t.Errorf("%d policies are counted, %d are there, %v", head.GetPolicies(), len(policies), err)
	}
	checkBytesOf(t, many)
}

// TestTokensNeedListenersThatAreSafe makes the first token while a member listens in some way, and then wants a stricter mode.
func TestTokensNeedListenersThatAreSafe(t *testing.T) {
	const (
		unknown   = storev1.ListenerSecurity_LISTENER_SECURITY_UNSPECIFIED
		cleartext = storev1.ListenerSecurity_LISTENER_SECURITY_CLEARTEXT
		loopback  = storev1.ListenerSecurity_LISTENER_SECURITY_LOOPBACK
		tls       = storev1.ListenerSecurity_LISTENER_SECURITY_TLS
		both      = storev1.ListenerSecurity_LISTENER_SECURITY_TLS_OR_CLEARTEXT
		off       = storev1.ListenerSecurity_LISTENER_SECURITY_OFF
		unsafe    = storev1.FailureReason_FAILURE_REASON_AUTH_UNSAFE
		notYet    = storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED
	)
	for name, tc := range map[string]struct {
		clients, peers storev1.ListenerSecurity
		want           storev1.FailureReason
	}{
		"TLS everywhere":                      {tls, tls, 0},
		"addresses of its own, and no others": {loopback, off, 0},
		"clients without TLS":                 {cleartext, tls, unsafe},
		"clients with TLS and without":        {both, tls, unsafe},
		"others without TLS":                  {loopback, cleartext, unsafe},
		"others with TLS and without":         {tls, both, unsafe},
		"nothing is known":                    {unknown, unknown, notYet},
		"how it meets others is not known":    {tls, unknown, unsafe},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			record := func(clients, peers storev1.ListenerSecurity) {
				if _, reason := r.try(&storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{
					Member: &storev1.Member{Id: 1, Name: "a", ClientSecurity: clients, PeerSecurity: peers},
				}}}); reason != 0 {
					t.Fatal(reason)
				}
			}
			record(tc.clients, tc.peers)
			if _, got := r.try(bootstrapCommand("a", authWarn)); got != tc.want {
				t.Errorf("the bootstrap: got %v, want %v", got, tc.want)
			}
			record(tls, tls)
			if _, got := r.try(bootstrapCommand("a", authWarn)); got != 0 {
				t.Errorf("the bootstrap of a safe member: got %v", got)
			}
			record(tc.clients, tc.peers)
			if _, got := r.try(setMode(authEnforce)); got != tc.want {
				t.Errorf("a stricter mode: got %v, want %v", got, tc.want)
			}
			if _, got := r.try(setMode(authOff)); got != 0 {
				t.Errorf("a milder mode: got %v", got)
			}
		})
	}
}
