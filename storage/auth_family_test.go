package storage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// createChild returns the command that makes token n a child of another, or of none.
func createChild(n, parent uint64, endMs int64, policies ...string) *storev1.Command {
	cmd := createToken(n, fmt.Sprint("child ", n), policies...)
	t := cmd.GetChangeAuth().GetCreateToken()
	t.ExpireTimeMs = endMs
	if parent != 0 {
		t.Parent = numberedID(parent)
	}
	return cmd
}

func revokeToken(n uint64) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{RevokeToken: numberedID(n)}})
}

func rotateToken(n uint64, text string) *storev1.Command {
	return authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{RotateToken: &storev1.RotateToken{
		Accessor: numberedID(n), TokenSha256: hashOf(text),
	}}})
}

// family returns which of the tokens up to most there are, and demands that the head counts them and that parents and children agree.
func (r *rig) family(most uint64) []uint64 {
	r.t.Helper()
	reader := r.store.NewReader()
	defer closeReader(r.t, reader)
	head, err := reader.AuthHead()
	if err != nil {
		r.t.Fatal(err)
	}
	var there []uint64
	below := map[string]uint32{} // how many descend from a token
	for n := uint64(1); n <= most; n++ {
		token, err := reader.Token(numberedID(n))
		if err != nil {
			r.t.Fatal(err)
		}
		byHash, err := reader.TokenByHash(hashOf(fmt.Sprint("child ", n)))
		if err != nil || (byHash != nil) != (token != nil) && n > 1 {
			r.t.Errorf("token %d: got %v by its text, %v by its accessor, %v", n, byHash, token, err)
		}
		if token == nil {
			continue
		}
		there = append(there, n)
		for at := token; len(at.GetParent()) > 0; {
			parent, err := reader.Token(at.GetParent())
			if err != nil || parent == nil {
				r.t.Fatalf("token %d: its parent is %v, %v", n, parent, err)
			}
			if !slices.ContainsFunc(parent.GetChildren(), func(c []byte) bool { return string(c) == string(at.GetAccessor()) }) {
				r.t.Errorf("token %d is not among the children of its parent", n)
			}
			below[string(parent.GetAccessor())]++
			at = parent
		}
	}
	for _, n := range there {
		token, err := reader.Token(numberedID(n))
		if err != nil {
			r.t.Fatal(err)
		}
		if want := below[string(token.GetAccessor())]; len(token.GetParent()) == 0 && token.GetDescendants() != want {
			r.t.Errorf("token %d counts %d descendants, and has %d", n, token.GetDescendants(), want)
		}
		for _, child := range token.GetChildren() {
			if c, err := reader.Token(child); err != nil || c == nil {
				r.t.Errorf("token %d has the child %x, which is not there: %v", n, child, err)
			}
		}
	}
	if int(head.GetTokens()) != len(there) {
		r.t.Errorf("the head counts %d tokens, there are %v", head.GetTokens(), there)
	}
	return there
}

// TestAChildEndsWithItsParent makes a family and ends parts of it in each way.
func TestAChildEndsWithItsParent(t *testing.T) {
	// 2 has the children 3 and 4, 3 has 5, and 5 has 6.
	for sentence, c := range map[string]struct {
		end  *storev1.Command
		want []uint64
	}{
		"the first one is revoked":         {revokeToken(2), []uint64{1, 7}},
		"one in the middle is revoked":     {revokeToken(3), []uint64{1, 2, 4, 7}},
		"the last one is revoked":          {revokeToken(6), []uint64{1, 2, 3, 4, 5, 7}},
		"one without children is revoked":  {revokeToken(4), []uint64{1, 2, 3, 5, 6, 7}},
		"the first one gets another text":  {rotateToken(2, "child 2b"), []uint64{1, 2, 7}},
		"a middle one gets another text":   {rotateToken(3, "child 3b"), []uint64{1, 2, 3, 4, 7}},
		"the first one ended long ago":     {endTokens(0, 2), []uint64{1, 7}},
		"all ended long ago, in any order": {endTokens(0, 5, 2, 3, 6, 4), []uint64{1, 7}},
		"the last ones ended long ago":     {endTokens(0, 6, 4), []uint64{1, 2, 3, 5, 7}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			r.apply(bootstrapCommand("a", authEnforce), createChild(2, 0, 9, "admin"), createChild(3, 2, 9, "admin"), createChild(4, 2, 9),
				createChild(5, 3, 9), createChild(6, 5, 0), createChild(7, 0, 9, "admin"))
			if got := r.family(9); len(got) != 7 {
				t.Fatalf("got %v, want all 7", got)
			}
			before := r.store.Applied()
			ended := c.end.GetEndTokens()
			if ended != nil {
				ended.Term = before.Term
			}
			result, reason := r.try(c.end)
			if reason != 0 || result.GetChangeAuth().GetToken().GetChildren() != nil || result.GetChangeAuth().GetToken().GetDescendants() != 0 {
				t.Fatalf("got %v, %v", result, reason)
			}
			if c.end.GetChangeAuth().GetRevokeToken() != nil { // The answer names all that are gone, and begins with the one that was asked for.
				var gone []uint64
				for _, accessor := range result.GetChangeAuth().GetRevoked() {
					gone = append(gone, uint64(accessor[15]))
				}
				if len(gone) == 0 || gone[0] != uint64(c.end.GetChangeAuth().GetRevokeToken()[15]) {
					t.Fatalf("got the accessors of %v", gone)
				}
				all := append(slices.Clone(c.want), gone...)
				if slices.Sort(all); !slices.Equal(all, []uint64{1, 2, 3, 4, 5, 6, 7}) {
					t.Errorf("got the accessors of %v as gone, and %v are left", gone, c.want)
				}
			}
			if rotated := c.end.GetChangeAuth().GetRotateToken(); rotated != nil { // Its old text is gone, and the family's check asks for that.
				text := map[byte]string{2: "child 2", 3: "child 3"}[rotated.GetAccessor()[15]]
				r.apply(authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{RotateToken: &storev1.RotateToken{
					Accessor: rotated.GetAccessor(), TokenSha256: hashOf(text),
				}}}))
			}
			if got := r.family(9); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if after := r.store.Applied(); after.DenyRevision > before.DenyRevision != (ended == nil) {
				t.Errorf("the deny revision was %d and is %d", before.DenyRevision, after.DenyRevision)
			}
			checkBytesOf(t, r.store)
			s := restored(t, backupOf(t, r.store), restoreOptions(1))
			if got := (&rig{t: t, store: s}).family(9); !slices.Equal(got, c.want) {
				t.Errorf("after a restore: got %v, want %v", got, c.want)
			}
		})
	}
}

// TestAChildInheritsWhatItDoesNotSay looks at what a child has of its parent: an end that is no later, and policies and node unless it has its own.
func TestAChildInheritsWhatItDoesNotSay(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	parent := createChild(2, 0, 9, "p", "q")
	parent.GetChangeAuth().GetCreateToken().Node = "h1"
	r.apply(bootstrapCommand("a", authEnforce), putPolicy("p", "r"), putPolicy("q", "r"), parent,
		authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{DeletePolicy: "q"}}))
	for i, c := range []struct {
		policies     []string
		node         string
		end, wantEnd int64
		wantPolicies []string
		wantNode     string
		parent       uint64
	}{
		{policies: nil, end: 0, wantEnd: 9, wantPolicies: []string{"p", "q"}, wantNode: "h1", parent: 2},
		{policies: []string{"p"}, end: 10, wantEnd: 9, wantPolicies: []string{"p"}, wantNode: "h1", parent: 2},
		{policies: []string{"admin"}, node: "h2", end: 8, wantEnd: 8, wantPolicies: []string{"admin"}, wantNode: "h2", parent: 2},
		{policies: []string{"p"}, end: 0, wantEnd: 0, wantPolicies: []string{"p"}, parent: 1},
	} {
		n := uint64(10 + i)
		cmd := createChild(n, c.parent, c.end, c.policies...)
		cmd.GetChangeAuth().GetCreateToken().Node = c.node
		cmd.GetChangeAuth().GetCreateToken().Children = [][]byte{numberedID(1)} // Not for a command to say.
		result, reason := r.try(cmd)
		got := result.GetChangeAuth().GetToken()
		if reason != 0 || got.GetExpireTimeMs() != c.wantEnd || got.GetNode() != c.wantNode || !slices.Equal(got.GetPolicies(), c.wantPolicies) ||
			string(got.GetParent()) != string(numberedID(c.parent)) {
			t.Errorf("child %d: got %v, %v, want %+v", i, got, reason, c)
		}
	}
	for name, c := range map[string]struct {
		cmd  *storev1.Command
		want storev1.FailureReason
	}{
		"a policy that is not there": {createChild(30, 2, 9, "q"), storev1.FailureReason_FAILURE_REASON_POLICY_NOT_FOUND},
		"a parent that is not there": {createChild(30, 29, 9, "p"), storev1.FailureReason_FAILURE_REASON_TOKEN_NOT_FOUND},
		"no policies and no parent":  {createChild(30, 0, 9), storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND},
		"its own parent":             {createChild(30, 30, 9), storev1.FailureReason_FAILURE_REASON_TOKEN_NOT_FOUND},
	} {
		before := r.store.Applied()
		if _, reason := r.try(c.cmd); reason != c.want || r.store.Applied().AuthChanges != before.AuthChanges {
			t.Errorf("%s: got %v, want %v", name, reason, c.want)
		}
	}
	r.family(30)
}

// TestFamiliesAreBounded makes a family as long and as large as one can be, and ends it in one command.
func TestFamiliesAreBounded(t *testing.T) {
	r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	r.apply(bootstrapCommand("a", authEnforce), createChild(2, 0, 0, "admin"), createChild(3, 2, 0), createChild(4, 3, 0), createChild(5, 4, 0))
	refused := func(cmd *storev1.Command, limit string, value uint64) {
		t.Helper()
		result, reason := r.try(cmd)
		if f := result.GetFailure(); reason != storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED || f.GetLimitName() != limit || f.GetLimit() != value {
			t.Errorf("got %v, want LIMIT_EXCEEDED of %s %d", result, limit, value)
		}
	}
	refused(createChild(6, 5, 0), "token_line_max", 4)
	for n := uint64(6); n <= 257; n++ {
		r.apply(createChild(n, 2+n%3, 0))
	}
	refused(createChild(258, 2, 0), "token_family_max", 256)
	refused(createChild(258, 4, 0), "token_family_max", 256)
	if got := r.family(258); len(got) != 257 {
		t.Fatalf("got %d tokens, want 257", len(got))
	}
	r.apply(revokeToken(257), createChild(258, 3, 0)) // There is room again.
	refused(createChild(259, 2, 0), "token_family_max", 256)
	r.apply(revokeToken(2))
	if got := r.family(258); !slices.Equal(got, []uint64{1}) {
		t.Errorf("got %v, want the first one", got)
	}
}

// TestRevocationsOfOneEntryDoNotDenyEachOther applies commands that were all authorised under the same rights, in one entry.
func TestRevocationsOfOneEntryDoNotDenyEachOther(t *testing.T) {
	const old = storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD
	put := &storev1.Command{Principal: "token:x", Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k", Value: []byte("v")}}}
	for sentence, c := range map[string]struct {
		entry []*storev1.Command
		want  []storev1.FailureReason
	}{
		"revocations":                  {[]*storev1.Command{revokeToken(2), revokeToken(3), revokeToken(4)}, []storev1.FailureReason{0, 0, 0}},
		"a write after a revocation":   {[]*storev1.Command{revokeToken(2), put, revokeToken(3)}, []storev1.FailureReason{0, old, 0}},
		"a token after a revocation":   {[]*storev1.Command{revokeToken(2), createChild(9, 3, 9)}, []storev1.FailureReason{0, old}},
		"a rotation after a rotation":  {[]*storev1.Command{rotateToken(2, "x"), rotateToken(2, "y")}, []storev1.FailureReason{0, old}},
		"a revocation after a change":  {[]*storev1.Command{rotateToken(2, "x"), revokeToken(3)}, []storev1.FailureReason{0, old}},
		"a change between revocations": {[]*storev1.Command{revokeToken(2), rotateToken(3, "x"), revokeToken(4)}, []storev1.FailureReason{0, old, 0}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
			r.apply(bootstrapCommand("a", authEnforce), createChild(2, 0, 9, "admin"), createChild(3, 0, 9, "admin"), createChild(4, 0, 9, "admin"))
			at := r.store.Applied()
			env := &storev1.Envelope{}
			for _, cmd := range c.entry {
				cmd.AuthorisedBelow = at.DenyRevision + 1
				env.Commands = append(env.Commands, cmd)
			}
			data, err := storage.EncodeEnvelope(env)
			if err != nil {
				t.Fatal(err)
			}
			out, err := r.store.Apply([]storage.Entry{{Index: at.Index + 1, Term: at.Term, Data: data}})
			if err != nil {
				t.Fatal(err)
			}
			for i, result := range out.Entries[0].Results {
				if got := result.GetFailure().GetReason(); got != c.want[i] {
					t.Errorf("command %d: got %v, want %v", i, got, c.want[i])
				}
			}
			late := revokeToken(4)
			late.AuthorisedBelow = at.DenyRevision + 1
			if _, reason := r.try(late); reason != old {
				t.Errorf("in the next entry: got %v, want %v", reason, old)
			}
		})
	}
}

// TestARestoreDropsTokens restores with and without tokens. Without, none is left, by its accessor or its text, and the old first one is not made again or
// taken for one that is there; what else decides who may do what is as it was.
func TestARestoreDropsTokens(t *testing.T) {
	live := &rig{t: t, store: newStore(t, vfs.NewMem(), "sm")}
	live.apply(bootstrapCommand("a", authEnforce), putPolicy("p", "r"), putProvider("ci", "https://ci"), bindJWT("jwt:ci/x"),
		createChild(2, 0, 9, "admin"), createChild(3, 2, 9, "admin"))
	backup := backupOf(t, live.store)
	for _, drop := range []bool{false, true} {
		o := restoreOptions(1)
		o.DropTokens = drop
		r := &rig{t: t, store: restored(t, backup, o)}
		want := []uint64{1, 2, 3}
		if drop {
			want = nil
		}
		if got := r.family(9); !slices.Equal(got, want) {
			t.Errorf("drop %v: got tokens %v, want %v", drop, got, want)
		}
		checkBytesOf(t, r.store)
		if got, want := dumpOf(t, restored(t, backup, o)), dumpOf(t, r.store); got != want {
			t.Errorf("drop %v: two restores differ: got\n%s\nwant\n%s", drop, got, want)
		}
		after := r.store.Applied()
		if after.AuthMode != authEnforce || after.DenyRevision <= live.store.Applied().DenyRevision {
			t.Errorf("drop %v: got mode %v and deny revision %d, which was %d", drop, after.AuthMode, after.DenyRevision, live.store.Applied().DenyRevision)
		}
		reader := r.store.NewReader()
		head, err := reader.AuthHead()
		bindings, failed := reader.Bindings("", 9)
		if err != nil || failed != nil || head.GetPolicies() != 1 || head.GetProviders() != 1 || head.GetBindings() != 1 || len(bindings) != 1 {
			t.Errorf("drop %v: got %v and bindings %v (%v, %v), want the policy, the provider and the binding", drop, head, bindings, err, failed)
		}
		byText, err := reader.TokenByHash(hashOf("a"))
		if err != nil || (byText == nil) != drop {
			t.Errorf("drop %v: got %v, %v by the text of the first token", drop, byText, err)
		}
		closeReader(t, reader)
		if _, reason := r.try(bootstrapCommand("a", authEnforce)); (reason == storev1.FailureReason_FAILURE_REASON_AUTH_BOOTSTRAPPED) != drop {
			t.Errorf("drop %v: the old bootstrap again: got %v", drop, reason)
		}
		first := &storev1.TokenRecord{Accessor: numberedID(8), TokenSha256: hashOf("b"), Name: "reset", Policies: []string{storage.AdminPolicy}}
		r.apply(authCommand(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_MakeFirst{MakeFirst: first}}))
		reader = r.store.NewReader()
		if byText, err = reader.TokenByHash(hashOf("b")); err != nil || byText == nil {
			t.Errorf("drop %v: got %v, %v of a reset, want its token", drop, byText, err)
		}
		closeReader(t, reader)
	}
}
