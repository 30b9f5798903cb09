package server_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/rig"
)

// anyMember returns settings with a certificate for all members' names.
func anyMember(t *testing.T) func(*server.Config) {
	t.Helper()
	dir := t.TempDir()
	a, err := rig.NewAuthority("peers")
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := a.Issue([]string{"member.tenure.internal", "*.member.tenure.internal"})
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, content []byte) string {
		if err := os.WriteFile(dir+"/"+name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	tls := server.TLS{PeerCertFile: file("peer.crt", certificate), PeerKeyFile: file("peer.key", key), PeerCAFile: file("ca.crt", a.PEM())}
	return func(c *server.Config) { c.TLS = tls }
}

// named gives a member a name, on a disk.
func named(name string, disk storage.FS) func(*server.Config) {
	return func(c *server.Config) { c.Name, c.FS = name, disk }
}

// TestANewMemberHasANameThatACertificateProves begins and adds members under names that are no label of DNS, with a certificate that is for all. Those
// that were there before TLS keep theirs, and without TLS each name is as good as before.
func TestANewMemberHasANameThatACertificateProves(t *testing.T) {
	tls := anyMember(t)
	for _, name := range []string{"Node-1", "node_1", "a.b", "-a", "a-"} {
		disk := storage.NewMemFS()
		err := whyNotServed(t, named(name, disk), tls)
		if !errors.Is(err, server.ErrConfig) || !strings.Contains(err.Error(), "lower-case letters, digits or hyphens") {
			t.Errorf("%s begins: got %v, want which names may", name, err)
		}
		old := startMember(t, named(name, disk)) // On the same directory: nothing was begun there.
		if _, err = addMember(t, old, &tenurev1.AddMemberRequest{Name: name + "_2"}); err != nil {
			t.Errorf("%s adds another one without TLS: %v", name, err)
		}
		old.stop()
		if err = old.wait(); err != nil {
			t.Fatal(err)
		}
		m := startMember(t, named(name, disk), tls)
		self, err := m.ListMembers(t.Context(), &tenurev1.ListMembersRequest{})
		if err != nil || len(self.GetMembers()) != 1 || self.GetMembers()[0].GetName() != name {
			t.Fatalf("%s with TLS: got %v, %v", name, self, err)
		}
		_, err = addMember(t, m, &tenurev1.AddMemberRequest{Name: name + "_2"})
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		if _, err = addMember(t, m, &tenurev1.AddMemberRequest{Name: "node-2"}); err != nil {
			t.Errorf("%s adds another one: %v", name, err)
		}
		_, err = m.ReplaceMember(t.Context(), &tenurev1.ReplaceMemberRequest{MemberId: 1, Name: name + "_2"})
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		m.stop()
		if err = m.wait(); err != nil {
			t.Fatal(err)
		}
	}
}
