package server_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// child makes a child of a token as a caller with the text by.
func (m *member) child(t *testing.T, by, parent string, policies ...string) *tenurev1.CreateTokenResponse {
	t.Helper()
	made, err := m.auth().CreateToken(as(t.Context(), by), &tenurev1.CreateTokenRequest{Name: "child", Parent: parent, Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestTheHolderOfATokenMakesAChild lets a token without the right to change tokens make a child of itself, and nothing else.
func TestTheHolderOfATokenMakesAChild(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	m.token(t, admin, "wide", `key * rw`)
	web := m.token(t, admin, "web", `key "a"* rw`)
	own := web.GetToken().GetAccessor()
	made := m.child(t, web.GetText(), own)
	if got := made.GetToken(); got.GetParent() != own || !slices.Equal(got.GetPolicies(), []string{"web"}) || got.GetCreatedBy() != "token:"+own {
		t.Errorf("got %v, want a child of %s with its policies", got, own)
	}
	if end := made.GetToken().GetExpireTime().AsTime(); end.After(web.GetToken().GetExpireTime().AsTime()) {
		t.Errorf("it ends at %v, after its parent, which ends at %v", end, web.GetToken().GetExpireTime().AsTime())
	}
	ctx := as(t.Context(), made.GetText())
	if _, err := m.Put(ctx, &tenurev1.PutRequest{Key: "a1", Content: text("v")}); err != nil {
		t.Errorf("what its parent may do: %v", err)
	}
	who, err := m.auth().WhoAmI(ctx, &tenurev1.WhoAmIRequest{})
	if err != nil || who.GetParent() != own {
		t.Errorf("got %v, %v, want the parent %s", who, err, own)
	}
	grandchild := m.child(t, made.GetText(), made.GetToken().GetAccessor(), "web")
	if got := grandchild.GetToken().GetParent(); got != made.GetToken().GetAccessor() {
		t.Errorf("got the parent %s of the child's child", got)
	}
	for sentence, r := range map[string]*tenurev1.CreateTokenRequest{
		"a policy that it lacks":      {Name: "x", Parent: own, Policies: []string{"web", "wide"}},
		"a policy that is not there":  {Name: "x", Parent: own, Policies: []string{"none"}},
		"the built-in policy":         {Name: "x", Parent: own, Policies: []string{"admin"}},
		"no parent":                   {Name: "x", Policies: []string{"web"}},
		"a child of its child":        {Name: "x", Parent: made.GetToken().GetAccessor(), Policies: []string{"web"}},
		"a child of one that is none": {Name: "x", Parent: "0190b5a4-0000-7000-8000-000000000001", Policies: []string{"web"}},
	} {
		_, err = m.auth().CreateToken(as(t.Context(), web.GetText()), r)
		t.Run(sentence, func(t *testing.T) { wantDenied(t, err, "admin write") })
	}
	_, err = m.auth().CreateToken(as(t.Context(), admin), &tenurev1.CreateTokenRequest{
		Name: "x", Parent: "0190b5a4-0000-7000-8000-000000000001", Policies: []string{"web"},
	})
	if status.Code(err) != codes.NotFound || infoOf(err).GetReason() != "TOKEN_NOT_FOUND" {
		t.Errorf("an administrator names a parent that is not there: got %v", err)
	}
	_, err = m.auth().CreateToken(as(t.Context(), admin), &tenurev1.CreateTokenRequest{Name: "x", Parent: "me", Policies: []string{"web"}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a parent that is no accessor: got %v", err)
	}
	third := m.child(t, grandchild.GetText(), grandchild.GetToken().GetAccessor())
	_, err = m.auth().CreateToken(as(t.Context(), third.GetText()), &tenurev1.CreateTokenRequest{Name: "x", Parent: third.GetToken().GetAccessor()})
	if infoOf(err).GetReason() != "LIMIT_EXCEEDED" || infoOf(err).GetMetadata()["limit"] != "token_line_max" {
		t.Errorf("a fifth in a line: got %v, %v", err, infoOf(err).GetMetadata())
	}
}

// TestAChildHasWhatBothAllow changes the policies of a parent, and looks at what its child may do from the answer on.
func TestAChildHasWhatBothAllow(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	m.token(t, admin, "wide", "key * rw\noperator read")
	parent := m.token(t, admin, "web", `key "a"* rw`)
	child := m.child(t, admin, parent.GetToken().GetAccessor(), "wide").GetText()
	rule := func(rule string, want bool) {
		t.Helper()
		can, err := m.auth().CheckAccess(as(t.Context(), child), &tenurev1.CheckAccessRequest{Rule: rule})
		if err != nil || can.GetAllowed() != want {
			t.Errorf("%s: got %v, %v, want %v", rule, can.GetAllowed(), err, want)
		}
	}
	put := func(key string) error {
		_, err := m.Put(as(t.Context(), child), &tenurev1.PutRequest{Key: key, Content: text("v")})
		return err
	}
	if err := put("a1"); err != nil {
		t.Errorf("what both allow: %v", err)
	}
	wantDenied(t, put("b"), `key "b" write`)
	rule(`key "a"* write`, true)
	rule(`operator read`, false)
	edit := func(name, rules string) {
		t.Helper()
		if _, err := m.auth().PutPolicy(as(t.Context(), admin), &tenurev1.PutPolicyRequest{Name: name, Rules: rules}); err != nil {
			t.Fatal(err)
		}
	}
	edit("web", `key "b"* rw`)
	wantDenied(t, put("a1"), `key "a1" write`)
	if err := put("b"); err != nil {
		t.Errorf("what its parent may do now: %v", err)
	}
	edit("wide", `key "c" rw`)
	wantDenied(t, put("b"), `key "b" write`)
	wantDenied(t, put("c"), `key "c" write`)
	edit("wide", `key * rw`)
	if _, err := m.auth().DeletePolicy(as(t.Context(), admin), &tenurev1.DeletePolicyRequest{Name: "web"}); err != nil {
		t.Fatal(err)
	}
	wantDenied(t, put("b"), `key "b" write`)
}

// TestAChildsStreamsEndWithItsParent revokes or rotates a parent while the child's child watches and writes.
func TestAChildsStreamsEndWithItsParent(t *testing.T) {
	for sentence, end := range map[string]func(m *member, admin, accessor string) error{
		"revoked": func(m *member, admin, accessor string) error {
			_, err := m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: accessor})
			return err
		},
		"rotated": func(m *member, admin, accessor string) error {
			_, err := m.auth().RotateToken(as(t.Context(), admin), &tenurev1.RotateTokenRequest{Accessor: accessor})
			return err
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			m := start(t, alone)
			admin := m.bootstrap(t, modeEnforce)
			parent := m.token(t, admin, "web", `key "a"* rw`)
			child := m.child(t, parent.GetText(), parent.GetToken().GetAccessor())
			grandchild := m.child(t, child.GetText(), child.GetToken().GetAccessor())
			ctx := as(t.Context(), grandchild.GetText())
			watch, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{"a"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = watch.Recv(); err != nil {
				t.Fatal(err)
			}
			if err = end(m, admin, parent.GetToken().GetAccessor()); err != nil {
				t.Fatal(err)
			}
			answered := time.Now()
			for _, by := range []string{child.GetText(), grandchild.GetText()} {
				if _, err = m.Put(as(t.Context(), by), &tenurev1.PutRequest{Key: "a", Content: text("v")}); status.Code(err) != codes.Unauthenticated {
					t.Errorf("a child of one that was %s writes: %v", sentence, err)
				}
			}
			for err = nil; err == nil; {
				_, err = watch.Recv()
			}
			if status.Code(err) != codes.Unauthenticated {
				t.Errorf("the watch ends with %v, want UNAUTHENTICATED", err)
			}
			t.Logf("the watch ended %v after the answer", time.Since(answered))
			all, err := m.auth().ListTokens(as(t.Context(), admin), &tenurev1.ListTokensRequest{})
			for _, token := range all.GetTokens() {
				if err != nil || token.GetParent() != "" {
					t.Errorf("%v is left, %v", token, err)
				}
			}
		})
	}
}

// TestAChildEndsNoLaterThanItsParent asks for children that last longer.
func TestAChildEndsNoLaterThanItsParent(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	if _, err := m.auth().PutPolicy(as(t.Context(), admin), &tenurev1.PutPolicyRequest{Name: "web", Rules: `key "a" ro`}); err != nil {
		t.Fatal(err)
	}
	create := func(by string, r *tenurev1.CreateTokenRequest) *tenurev1.CreateTokenResponse {
		t.Helper()
		r.Name = "x"
		made, err := m.auth().CreateToken(as(t.Context(), by), r)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	parent := create(admin, &tenurev1.CreateTokenRequest{Policies: []string{"web"}, Ttl: durationpb.New(time.Hour)})
	end := parent.GetToken().GetExpireTime().AsTime()
	own := parent.GetToken().GetAccessor()
	for sentence, r := range map[string]*tenurev1.CreateTokenRequest{
		"without an end":        {Parent: own, NoExpiry: true},
		"with that of a week":   {Parent: own, Ttl: durationpb.New(168 * time.Hour)},
		"with what others have": {Parent: own},
	} {
		if got := create(parent.GetText(), r).GetToken().GetExpireTime(); got == nil || !got.AsTime().Equal(end) {
			t.Errorf("%s: got %v, want %v", sentence, got.AsTime(), end)
		}
	}
	if got := create(parent.GetText(), &tenurev1.CreateTokenRequest{Parent: own, Ttl: durationpb.New(time.Minute)}).GetToken().GetExpireTime(); !got.AsTime().Before(end) {
		t.Errorf("a shorter life: got %v, want less than %v", got.AsTime(), end)
	}
	first, err := m.auth().WhoAmI(as(t.Context(), admin), &tenurev1.WhoAmIRequest{})
	if err != nil {
		t.Fatal(err)
	}
	forever := create(admin, &tenurev1.CreateTokenRequest{Parent: strings.TrimPrefix(first.GetPrincipal(), "token:"), Policies: []string{"web"}, NoExpiry: true})
	if got := forever.GetToken().GetExpireTime(); got != nil {
		t.Errorf("a child of one without an end: got %v, want none", got.AsTime())
	}
}
