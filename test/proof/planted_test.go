package proof_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted is a bug that is put into the program, and the test that must fail then.
type planted struct {
	file, right, wrong string
	test               string
}

// TestPlantedBugsAreCaught builds members with a bug each and lets the tests find them. It is part of the long form: every
// bug is a build of its own.
func TestPlantedBugsAreCaught(t *testing.T) {
	if scaled(0, 1) == 0 {
		t.Skip("only with TENURE_SOAK=1: every bug is a build of its own")
	}
	const window, once = "TestTheWindowOfRequestsIsExact", "TestAChangeIsMadeOnceHoweverOftenItIsSent"
	tests := map[string]planted{
		"the window has one place too many": {
			"storage/once.go", "head.GetRequests() >= limits.GetRequestWindowMax()", "head.GetRequests() > limits.GetRequestWindowMax()", window,
		},
		"the mark is off by one": {
			"storage/once.go", "m.request.GetSequence() < head.GetDoneBelow()", "m.request.GetSequence()+1 < head.GetDoneBelow()", window,
		},
		"digests are not compared": {
			"storage/once.go", "!bytes.Equal(r.GetDigest(), digest)", "len(digest) == 0 && !bytes.Equal(r.GetDigest(), digest)",
			"TestOneIdentityIsForOneRequest",
		},
		"no result is remembered": {"storage/once.go", "return r.GetResult(), nil", "return nil, nil", once},
		"tokens are not compared": {
			"storage/guard.go", "h.GetFencingToken() == g.GetFencingToken() &&", "", "TestALostLockGuardsNothing",
		},
	}
	for name, bug := range tests {
		t.Run(name, func(t *testing.T) {
			member := filepath.Join(t.TempDir(), "tenure")
			bug.build(t, member)
			run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^"+bug.test+"$", ".")
			run.Env = append(os.Environ(), "TENURE_BINARY="+member, "TENURE_SOAK=0")
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+bug.test) {
				t.Errorf("%s did not fail: %v\n%s", bug.test, err, out)
			}
		})
	}
}

// build builds a member with the bug.
func (b planted) build(t *testing.T, member string) {
	t.Helper()
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join("..", "..", b.file))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), b.right); n != 1 {
		t.Fatalf("%q is %d times in %s, want once: the bug must be planted anew", b.right, n, b.file)
	}
	wrong := filepath.Join(dir, "wrong.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: wrong}})
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string]string{
		wrong: strings.Replace(string(code), b.right, b.wrong, 1), filepath.Join(dir, "overlay.json"): string(overlay),
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", member,
		"github.com/tenure-io/tenure/cmd/tenure")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
}
