package server_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// sightWatch is a watch whose end is awaited.
type sightWatch struct {
	ctx    context.Context
	r      *tenurev1.WatchRequest
	stream interface {
		Recv() (*tenurev1.WatchResponse, error)
	}
	token string
}

// sightWatches are the watches of several callers.
type sightWatches struct {
	m     *member
	t     *testing.T
	admin context.Context
	all   map[string]*sightWatch
	puts  int
}

// open opens a watch of a caller; empty for one without a credential.
func (s *sightWatches) open(name, token string, r *tenurev1.WatchRequest) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(as(s.t.Context(), token), 2*patience)
	s.t.Cleanup(cancel)
	w := &sightWatch{ctx: ctx, r: r}
	s.all[name] = w
	s.again(w)
}

// again opens a watch where it is.
func (s *sightWatches) again(w *sightWatch) {
	s.t.Helper()
	w.r.ResumeToken = w.token
	stream, err := tenurev1.NewWatchServiceClient(s.m.conn).Watch(w.ctx, w.r)
	if err != nil {
		s.t.Fatal(err)
	}
	w.stream = stream
	first, err := stream.Recv()
	if err != nil || first.GetStarted() == nil {
		s.t.Fatalf("got %v, %v, want that it has started", first, err)
	}
	w.token = first.GetResumeToken()
}

// put changes a key that all see, and checks that each watch shows it, once.
func (s *sightWatches) put() {
	s.t.Helper()
	s.puts++
	if _, err := s.m.Put(s.admin, &tenurev1.PutRequest{Key: "a/1", Content: text(fmt.Sprint(s.puts))}); err != nil {
		s.t.Fatal(err)
	}
	for name, w := range s.all {
		for shown := false; !shown; {
			message, err := w.stream.Recv()
			if err != nil {
				s.t.Fatalf("%s: got %v, want it to go on", name, err)
			}
			w.token = message.GetResumeToken()
			for _, e := range message.GetEvents().GetEvents() {
				if e.GetKey() != "a/1" || string(e.GetKv().GetValue()) != fmt.Sprint(s.puts) {
					s.t.Errorf("%s: got %v, want the put %d of a/1", name, e, s.puts)
				}
				shown = true
			}
		}
	}
}

// ended waits for the end of a watch.
func (s *sightWatches) ended(w *sightWatch) error {
	s.t.Helper()
	for {
		message, err := w.stream.Recv()
		if err != nil {
			return err
		}
		w.token = message.GetResumeToken()
	}
}

// edit gives a policy other rules.
func (s *sightWatches) edit(name, rules string) {
	s.t.Helper()
	if _, err := s.m.auth().PutPolicy(s.admin, &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sightWatches) drop(name string) {
	s.t.Helper()
	if _, err := s.m.auth().DeletePolicy(s.admin, &tenurev1.DeletePolicyRequest{Name: name}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sightWatches) bind(policies ...string) {
	s.t.Helper()
	if _, err := s.m.auth().PutBinding(s.admin, &tenurev1.PutBindingRequest{
		Name: "anonymous", Kind: tenurev1.BindingKind_BINDING_KIND_ANONYMOUS, Policies: policies,
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sightWatches) mode(mode tenurev1.AuthMode) {
	s.t.Helper()
	if _, err := s.m.auth().SetAuthMode(s.admin, &tenurev1.SetAuthModeRequest{Mode: mode}); err != nil {
		s.t.Fatal(err)
	}
}

// some watches all keys, of which its caller sees some.
func some() *tenurev1.WatchRequest {
	return &tenurev1.WatchRequest{
		Prefixes: []string{""}, VisibleOnly: true, Filter: &tenurev1.WatchFilter{NoDeletes: true}, ProgressInterval: durationpb.New(time.Minute),
	}
}

// TestAWatchOfAPartEndsWithItsRights changes rights in every way, and looks whose watches end. Each time a witness's rights are changed after that, so that
// whatever a review ends has ended once the witness's watch has.
func TestAWatchOfAPartEndsWithItsRights(t *testing.T) {
	m := start(t, alone)
	text := m.bootstrap(t, modeEnforce)
	s := &sightWatches{m: m, t: t, admin: as(t.Context(), text), all: map[string]*sightWatch{}}
	const narrow, wide = `key "a/"* ro`, `key * ro`
	s.edit("late", narrow)
	own := m.token(t, text, "own", narrow).GetText()
	child := m.child(t, text, m.token(t, text, "parent", narrow).GetToken().GetAccessor(), "own").GetText()
	s.bind("late")
	s.open("part", own, some())
	s.open("child", child, some())
	s.open("anonymous", "", some())
	s.open("all", m.token(t, text, "all", wide).GetText(), some())
	s.open("witness", m.token(t, text, "witness", narrow).GetText(), some())
	exact := some()
	exact.Prefixes, exact.Keys = nil, []string{"a/1"}
	s.open("by name", own, exact)
	whole := some()
	whole.VisibleOnly, whole.Prefixes = false, []string{"a/"}
	s.open("whole", own, whole)
	everybody := []string{"part", "child", "anonymous", "all", "by name"}
	for i, step := range []struct {
		what string
		do   func()
		ends []string
	}{
		{"nothing", func() {}, nil},
		{"another policy is made, and a token with it", func() { m.token(t, text, "stranger", wide) }, nil},
		{"another policy is edited", func() { s.edit("stranger", narrow) }, nil},
		{"another policy is deleted", func() { s.drop("stranger") }, nil},
		{"the same rules in other words", func() { s.edit("own", "# the same\nkey \"a/\"* read list\nkey \"a/\"* watch read") }, nil},
		{"one's own policy gives more", func() { s.edit("own", narrow+"\n"+`key "b" ro`) }, []string{"part", "child", "by name"}},
		{"one's own policy gives less", func() { s.edit("own", narrow) }, []string{"part", "child", "by name"}},
		{"the parent's policy gives more", func() { s.edit("parent", wide) }, []string{"child"}},
		{"the parent's policy gives less", func() { s.edit("parent", narrow) }, []string{"child"}},
		{"who saw all sees a part", func() { s.edit("all", narrow) }, []string{"all"}},
		{"who saw a part sees all", func() { s.edit("all", wide) }, []string{"all"}},
		{"a binding gives more", func() { s.bind("late", "own") }, nil},
		{"a binding gives still more", func() { s.edit("more", `key "b" ro`); s.bind("late", "more") }, []string{"anonymous"}},
		{"a policy of a binding is deleted", func() { s.drop("more") }, []string{"anonymous"}},
		{"a policy of a binding is made", func() { s.edit("more", `key "c" ro`) }, []string{"anonymous"}},
		{"rules are not enforced", func() { s.mode(modeWarn) }, append(everybody, "witness")},
		{"rules are enforced", func() { s.mode(modeEnforce) }, append(everybody, "witness")},
		{"credentials are not looked at", func() { s.mode(tenurev1.AuthMode_AUTH_MODE_OFF) }, append(everybody, "witness")},
		{"rules are enforced again", func() { s.mode(modeEnforce) }, append(everybody, "witness", "whole")},
	} {
		s.put()
		step.do()
		answered := time.Now()
		if !slices.Contains(step.ends, "witness") {
			s.edit("witness", fmt.Sprintf("%s\nkey \"w/%d\" ro", narrow, i))
		}
		for _, name := range append(step.ends, "witness") {
			w := s.all[name]
			if err := s.ended(w); status.Code(err) != codes.Unavailable || infoOf(err).GetReason() != "RIGHTS_CHANGED" || infoOf(err).GetMetadata()["resume_token"] != "" {
				t.Errorf("%s: %s ends with %v, %v, want RIGHTS_CHANGED and no resume token, which would skip what was left out", step.what, name, err, infoOf(err).GetMetadata())
			}
			if name == "witness" {
				break
			}
			s.again(w)
		}
		s.again(s.all["witness"])
		t.Logf("%s: %v ended within %v", step.what, step.ends, time.Since(answered))
	}
	s.put()
	if _, err := m.auth().RevokeToken(s.admin, &tenurev1.RevokeTokenRequest{Accessor: m.accessor(t, own)}); err != nil {
		t.Fatal(err)
	}
	if err := s.ended(s.all["part"]); status.Code(err) != codes.Unauthenticated || infoOf(err).GetMetadata()["resume_token"] != "" {
		t.Errorf("a revoked token: got %v, want UNAUTHENTICATED and no resume token", err)
	}
}

// accessor returns the accessor of a token.
func (m *member) accessor(t *testing.T, token string) string {
	t.Helper()
	who, err := m.auth().WhoAmI(as(t.Context(), token), &tenurev1.WhoAmIRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return who.GetPrincipal()[len("token:"):]
}

// TestAPartOfASlowInitialStateEndsWithItsRights lets a client read nothing of a large state while its rights change.
func TestAPartOfASlowInitialStateEndsWithItsRights(t *testing.T) {
	m := start(t, alone)
	token := m.bootstrap(t, modeEnforce)
	s := &sightWatches{m: m, t: t, admin: as(t.Context(), token), all: map[string]*sightWatch{}}
	value := make([]byte, 256<<10)
	for i := range 60 {
		if _, err := m.Put(s.admin, &tenurev1.PutRequest{
			Key: fmt.Sprintf("a/%02d", i), Content: &tenurev1.PutRequest_Value{Value: value},
		}); err != nil {
			t.Fatal(err)
		}
	}
	r := some()
	r.Initial = true
	s.open("slow", m.token(t, token, "slow", `key "a/"* ro`).GetText(), r)
	s.open("witness", m.token(t, token, "witness", `key "a/"* ro`).GetText(), some())
	s.edit("slow", `key "a/0"* ro`)
	s.edit("witness", `key "a/0"* ro`)
	wantError(t, s.ended(s.all["witness"]), codes.Unavailable, "RIGHTS_CHANGED")
	for {
		message, err := s.all["slow"].stream.Recv()
		if err != nil {
			wantError(t, err, codes.Unavailable, "RIGHTS_CHANGED")
			if again := infoOf(err).GetMetadata()["resume_token"]; again != "" {
				t.Errorf("got the resume token %s, behind parts that were not sent", again)
			}
			return
		}
		if message.GetInitial().GetComplete() {
			t.Fatal("the whole state was sent")
		}
	}
}
