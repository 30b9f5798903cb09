package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/storage"
)

// TestOnlyTheUserOfTheMemberReadsTheNonce has others prepare what the member is going to write: a file of which all may read, and a link to one.
func TestOnlyTheUserOfTheMemberReadsTheNonce(t *testing.T) {
	for name, prepare := range map[string]func(path, elsewhere string) error{
		"nothing is there":   func(string, string) error { return nil },
		"a file is there":    func(path, _ string) error { return os.WriteFile(path, []byte("x"), 0o666) },
		"a link is in place": func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, elsewhere := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "other")
			m := startMember(t, alone, func(c *server.Config) { c.FS, c.DataDir = storage.DiskFS(), dir })
			m.bootstrap(t, modeWarn)
			path := filepath.Join(dir, auth.NonceFile)
			if err := prepare(path, elsewhere); err != nil {
				t.Fatal(err)
			}
			_, err := m.auth().ResetAuth(t.Context(), &tenurev1.ResetAuthRequest{Token: identity.NewToken()})
			wantError(t, err, codes.PermissionDenied, "PERMISSION_DENIED")
			for at, mode := range map[string]os.FileMode{path: 0o600, dir: 0o700 | os.ModeDir} {
				info, missing := os.Lstat(at)
				if missing != nil {
					t.Fatal(missing)
				}
				if info.Mode() != mode {
					t.Errorf("%s: got mode %v, want %v", at, info.Mode(), mode)
				}
			}
			if _, missing := os.Lstat(elsewhere); missing == nil {
				t.Error("the nonce is where the link leads")
			}
			text, err := os.ReadFile(path)
			if err != nil || len(text) < 32 {
				t.Errorf("got %q, %v, want the nonce", text, err)
			}
		})
	}
}
