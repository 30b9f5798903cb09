package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/rig"
)

// run runs a command of the program on a member and returns what it printed; fails tells whether it is to fail.
func run(ctx context.Context, t *testing.T, m *rig.Member, fails bool, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "TENURE_ENDPOINTS="+m.Addresses.GRPC)
	out, err := cmd.CombinedOutput()
	if (err != nil) != fails {
		t.Fatalf("tenure %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A backup taken through a follower while clients write is of one revision, and what is restored of it has everything
// that stood then, under revisions and a history of its own.
func TestBackupUnderLoadIsRestored(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	follower := followers(c, c.Leader(ctx))[0]
	cl := dial(t, follower, "")
	const keys = 200
	for i := range keys {
		_, err := cl.Put(ctx, &tenurev1.PutRequest{Key: fmt.Sprintf("stable/%03d", i), Content: &tenurev1.PutRequest_Text{Text: fmt.Sprint(i)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	load, stop := context.WithCancel(ctx)
	var writing, begun sync.WaitGroup
	for i := range 4 {
		begun.Add(1)
		first := sync.OnceFunc(begun.Done)
		writing.Go(func() {
			for n := 0; load.Err() == nil; n++ {
				// Both keys change in one revision, so a backup has them equal.
				_, err := cl.Txn(load, &tenurev1.TxnRequest{Then: []*tenurev1.Op{
					{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: fmt.Sprintf("pair/%d/a", i), Content: &tenurev1.PutRequest_Text{Text: fmt.Sprint(n)}}}},
					{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: fmt.Sprintf("pair/%d/b", i), Content: &tenurev1.PutRequest_Text{Text: fmt.Sprint(n)}}}},
				}})
				if n > 10 || err != nil {
					first()
				}
			}
		})
	}
	begun.Wait()
	file := filepath.Join(t.TempDir(), "one.backup")
	run(ctx, t, follower, false, "backup", file)
	overREST := download(ctx, t, follower)
	stop()
	writing.Wait()
	if out := run(ctx, t, follower, false, "backup", "verify", file); !strings.Contains(out, "Revision") {
		t.Errorf("verify says %q", out)
	}
	if info, err := storage.VerifyBackup(bytes.NewReader(overREST)); err != nil || info.Keys < keys {
		t.Errorf("backup over REST: %+v, %v", info, err)
	}
	refuseDamaged(ctx, t, follower, file)

	info := infoOf(t, file)
	var histories []string
	for range 2 {
		m := c.Prepare(ctx)
		run(ctx, t, follower, false, "restore", file, "--data-dir", m.Dir(), "--no-freeze")
		m.Restart(ctx)
		restored := dial(t, m, "")
		list, err := restored.List(ctx, &tenurev1.ListRequest{Prefix: "stable/", PageSize: 1000})
		if err != nil || len(list.GetKvs()) != keys {
			t.Fatalf("restored %d keys, %v; want %d", len(list.GetKvs()), err, keys)
		}
		for i, kv := range list.GetKvs() {
			if string(kv.GetValue()) != fmt.Sprint(i) {
				t.Errorf("%s is %q", kv.GetKey(), kv.GetValue())
			}
		}
		if got := list.GetHeader().GetRevision(); got < info.Revision+1<<40 {
			t.Errorf("restored revision is %d, and the backup's was %d", got, info.Revision)
		}
		checkPairs(ctx, t, restored)
		histories = append(histories, list.GetHeader().GetHistoryId())
	}
	if histories[0] == histories[1] || histories[0] == fmt.Sprintf("%x", info.HistoryID) {
		t.Errorf("histories are %v, and the backup's was %x", histories, info.HistoryID)
	}
}

// infoOf tells what a backup file holds.
func infoOf(t *testing.T, path string) storage.BackupInfo {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := storage.VerifyBackup(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// download takes a backup over REST.
func download(ctx context.Context, t *testing.T, m *rig.Member) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Addresses.HTTP+"/v1/admin/backup", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "application/octet-stream" {
		t.Fatalf("got %s of %q, %v", r.Status, r.Header.Get("Content-Type"), err)
	}
	return data
}

// refuseDamaged checks that a file that is cut off or changed is no backup.
func refuseDamaged(ctx context.Context, t *testing.T, m *rig.Member, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(data)
	flipped[len(flipped)/2] ^= 1
	for name, damaged := range map[string][]byte{"cut": data[:len(data)-1], "flipped": flipped} {
		path := file + "." + name
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		run(ctx, t, m, true, "backup", "verify", path)
	}
}

// checkPairs checks that keys that always change together are equal.
func checkPairs(ctx context.Context, t *testing.T, c *client) {
	t.Helper()
	list, err := c.List(ctx, &tenurev1.ListRequest{Prefix: "pair/"})
	if err != nil || len(list.GetKvs()) == 0 || len(list.GetKvs())%2 != 0 {
		t.Fatalf("got %d keys of pairs, %v", len(list.GetKvs()), err)
	}
	for i := 0; i < len(list.GetKvs()); i += 2 {
		a, b := list.GetKvs()[i], list.GetKvs()[i+1]
		if !bytes.Equal(a.GetValue(), b.GetValue()) || a.GetModRevision() != b.GetModRevision() {
			t.Errorf("%s is %q, and %s is %q", a.GetKey(), a.GetValue(), b.GetKey(), b.GetValue())
		}
	}
}

// Members come and go by the command line, asked of a member that does not lead.
func TestMembersAreChangedThroughAFollower(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	follower := followers(c, c.Leader(ctx))[0]
	cl := dial(t, follower, "")
	if _, err := cl.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Text{Text: "v"}}); err != nil {
		t.Fatal(err)
	}
	joined := c.Join(ctx)
	awaitVoters(ctx, t, cl, 4)
	run(ctx, t, follower, false, "member", "add", joined.Name(), joined.Addresses.Peer) // It is one already.
	run(ctx, t, follower, true, "member", "add", "zz", joined.Addresses.Peer)           // It says another name.
	run(ctx, t, follower, true, "member", "promote", "nobody")
	leader := c.Leader(ctx).Name()
	run(ctx, t, follower, false, "member", "transfer-leader", joined.Name())
	if got := c.Leader(ctx).Name(); got != joined.Name() {
		t.Errorf("%s leads, want %s", got, joined.Name())
	}
	run(ctx, t, follower, false, "member", "remove", leader)
	awaitVoters(ctx, t, cl, 3)
	spare := c.Join(ctx, "--learner")
	run(ctx, t, follower, false, "member", "replace", joined.Name(), spare.Name(), spare.Addresses.Peer, "--timeout", "60s")
	awaitVoters(ctx, t, cl, 3)
	out := run(ctx, t, follower, false, "member", "list")
	if strings.Contains(out, "\n"+joined.Name()+" ") || !strings.Contains(out, "\n"+spare.Name()+" ") || strings.Contains(out, "\n"+leader+" ") {
		t.Errorf("members are\n%s\nwant %s, and neither %s nor %s", out, spare.Name(), leader, joined.Name())
	}
	got, err := dial(t, spare, "").Get(ctx, &tenurev1.GetRequest{Key: "k"})
	if err != nil || string(got.GetKv().GetValue()) != "v" {
		t.Errorf("the new member answers %v, %v", got, err)
	}
}

// awaitVoters waits until so many members vote.
func awaitVoters(ctx context.Context, t *testing.T, c *client, want int) {
	t.Helper()
	awaitStatus(ctx, t, c, func(s *tenurev1.GetStatusResponse) bool {
		voters := 0
		for _, m := range s.GetMembers() {
			if !m.GetLearner() {
				voters++
			}
		}
		return voters == want && s.GetLeader() != ""
	})
}
