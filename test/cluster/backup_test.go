package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// stableKeys are written before the load begins.
	stableKeys = 200
	// loadBefore and loadAfter are how many transactions of each writer precede the backup, and how many follow it.
	loadBefore, loadAfter = 25, 10
	backupWriters         = 4
	// restoreJump is by how much a restore moves revisions at least.
	restoreJump = 1 << 40
)

// backedUp is what a backup has to bring back, and what was true when it was taken.
type backedUp struct {
	file, historyID, clusterID string
	revision, lastRevision     uint64
	keys                       map[string]*tenurev1.KeyValue // at the revision
	holder, waiter             string                        // sessions; the first holds the lock, and owns an ephemeral key
	held                       *tenurev1.Sequencer
}

// A backup taken through a follower while clients write is of one revision. Restored to three fresh members, each serves
// exactly what stood then; revisions and tokens only go up, proofs from before are refused, and a second cluster made of the
// same file has a history of its own.
func TestBackupUnderLoadIsRestored(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	was := backUpUnderLoad(ctx, t, c)
	for _, m := range c.Members {
		if err := m.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	first := restoreCluster(ctx, t, c.Members[0], was.file)
	awaitVoters(ctx, t, dial(t, first.Members[0], ""), 3)
	one := checkRestored(ctx, t, first, was, false)
	checkSessionsEnded(ctx, t, first, was)
	for _, m := range first.Members {
		m.Kill()
	}
	second := restoreCluster(ctx, t, c.Members[0], was.file, "--keep-sessions", "--no-freeze")
	two := checkRestored(ctx, t, second, was, true)
	checkSessionsKept(ctx, t, second, was)

	for what, ids := range map[string][]string{
		"history": {was.historyID, one.GetHistoryId(), two.GetHistoryId()},
		"cluster": {was.clusterID, one.GetClusterId(), two.GetClusterId()},
	} {
		if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
			t.Errorf("the cluster and what was restored twice have each %s id: %v", what, ids)
		}
	}
}

// backUpUnderLoad takes a backup while clients write, and learns from a watch what the keys were at its revision.
func backUpUnderLoad(ctx context.Context, t *testing.T, c *rig.Cluster) *backedUp {
	t.Helper()
	follower := followers(c, c.Leader(ctx))[0]
	cl := dial(t, follower, "")
	for i := range stableKeys {
		put(ctx, t, cl, fmt.Sprintf("stable/%03d", i), fmt.Sprint(i))
	}
	was := &backedUp{file: filepath.Join(t.TempDir(), "one.backup")}
	was.holder, was.waiter = hold(ctx, t, cl, was), open(ctx, t, cl)
	_, err := messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.AcquireLockResponse], error) {
		return cl.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: "held", SessionId: was.waiter})
	})(ctx)
	if err != nil {
		t.Fatal(err)
	}
	states := followKeys(ctx, t, cl)

	before, after := writeInPairs(ctx, t, cl)
	before.Wait()
	run(ctx, t, follower, false, "backup", was.file)
	overREST := download(ctx, t, follower)
	after()
	was.lastRevision = put(ctx, t, cl, "last", "").GetHeader().GetRevision()

	info := infoOf(t, was.file)
	was.revision, was.historyID, was.clusterID = info.Revision, fmt.Sprintf("%x", info.HistoryID), fmt.Sprintf("%x", info.ClusterID)
	was.keys = states(info.Revision)
	if got := uint64(len(was.keys)); got != info.Keys || got < stableKeys+2*backupWriters {
		t.Errorf("the backup has %d keys, and a watch saw %d", info.Keys, got)
	}
	if was.revision >= was.lastRevision-backupWriters*loadAfter/2 {
		t.Errorf("nothing was written while the backup was taken: it is of revision %d, the last was %d", was.revision, was.lastRevision)
	}
	if out := run(ctx, t, follower, false, "backup", "verify", was.file); !strings.Contains(out, fmt.Sprint(was.revision)) {
		t.Errorf("verify says %q", out)
	}
	if info, err := storage.VerifyBackup(bytes.NewReader(overREST)); err != nil || info.Keys < stableKeys {
		t.Errorf("backup over REST: %+v, %v", info, err)
	}
	refuseDamaged(ctx, t, follower, was.file)
	return was
}

// hold opens a session that holds the lock "held" and owns the key "ephemeral".
func hold(ctx context.Context, t *testing.T, cl *client, was *backedUp) string {
	t.Helper()
	put(ctx, t, cl, "held", "by one")
	id := open(ctx, t, cl)
	got, err := cl.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "held", SessionId: id})
	if err != nil || !got.GetAcquired() {
		t.Fatalf("acquire: %v, %v", got, err)
	}
	was.held = got.GetHold().GetSequencer()
	if _, err = cl.Put(ctx, &tenurev1.PutRequest{Key: "ephemeral", BindSession: id}); err != nil {
		t.Fatal(err)
	}
	return id
}

// open creates a session without lock-delay and without secret.
func open(ctx context.Context, t *testing.T, cl *client) string {
	t.Helper()
	s, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(time.Hour), LockDelay: durationpb.New(0)})
	if err != nil {
		t.Fatal(err)
	}
	return s.GetSessionId()
}

func put(ctx context.Context, t *testing.T, cl *client, key, value string) *tenurev1.PutResponse {
	t.Helper()
	r, err := cl.Put(ctx, &tenurev1.PutRequest{Key: key, Content: &tenurev1.PutRequest_Text{Text: value}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// writeInPairs changes two keys at a time, and makes and deletes others. The first result is done when there is enough to
// back up; the second ends the load after some more of it.
func writeInPairs(ctx context.Context, t *testing.T, cl *client) (before *sync.WaitGroup, end func()) {
	before = &sync.WaitGroup{}
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for i := range backupWriters {
		before.Add(1)
		writing.Go(func() {
			started := sync.OnceFunc(before.Done)
			defer started()
			answered := time.Now()
			for n, left := 0, loadAfter; left > 0; n++ {
				value := &tenurev1.PutRequest_Text{Text: fmt.Sprint(n)}
				_, err := cl.Txn(ctx, &tenurev1.TxnRequest{Then: []*tenurev1.Op{
					{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: fmt.Sprintf("pair/%d/a", i), Content: value}}},
					{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: fmt.Sprintf("pair/%d/b", i), Content: value}}},
					{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: fmt.Sprintf("new/%d/%d", i, n), Content: value}}},
					{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: fmt.Sprintf("new/%d/%d", i, n-5)}}},
				}})
				if status.Code(err) == codes.Unavailable && time.Since(answered) < noLeaderPatience {
					pause(ctx, 20*time.Millisecond)
					continue // The leader changes. The next transaction says as much as this one, whatever became of it.
				}
				if err != nil {
					t.Errorf("load: %v", err)
					return
				}
				answered = time.Now()
				if n >= loadBefore {
					started()
				}
				select {
				case <-stop:
					left--
				default:
				}
			}
		})
	}
	return before, func() { close(stop); writing.Wait() }
}

// followKeys watches all keys. The result waits for the key "last" and tells what all keys were at a revision before.
func followKeys(ctx context.Context, t *testing.T, cl *client) func(revision uint64) map[string]*tenurev1.KeyValue {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	stream, err := cl.Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{""}, Initial: true})
	if err != nil {
		t.Fatal(err)
	}
	begin := map[string]*tenurev1.KeyValue{}
	var events []*tenurev1.Event
	done := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				done <- err
				return
			}
			for _, kv := range m.GetInitial().GetKvs() {
				begin[kv.GetKey()] = kv
			}
			events = append(events, m.GetEvents().GetEvents()...)
			if n := len(events); n > 0 && events[n-1].GetKey() == "last" {
				done <- nil
				return
			}
		}
	}()
	return func(revision uint64) map[string]*tenurev1.KeyValue {
		t.Helper()
		defer cancel()
		if err := <-done; err != nil {
			t.Fatalf("watch: %v", err)
		}
		state := maps.Clone(begin)
		for _, e := range events {
			switch {
			case e.GetRevision() > revision:
				return state
			case e.GetType() == tenurev1.EventType_EVENT_TYPE_DELETED:
				delete(state, e.GetKey())
			case e.GetKv() != nil:
				state[e.GetKey()] = e.GetKv()
			}
		}
		return state
	}
}

// restoreCluster makes a cluster of three fresh members of a backup, as the runbook says.
func restoreCluster(ctx context.Context, t *testing.T, asker *rig.Member, file string, flags ...string) *rig.Cluster {
	t.Helper()
	c := rig.StartClusterFrom(ctx, t, binary, 3, func(dir string) {
		run(ctx, t, asker, false, slices.Concat([]string{"restore", file, "--data-dir", dir}, flags)...)
	})
	return c
}

// checkRestored compares what each member serves with what was backed up, and returns the header of an answer.
func checkRestored(ctx context.Context, t *testing.T, c *rig.Cluster, was *backedUp, keepsSessions bool) *tenurev1.ResponseHeader {
	t.Helper()
	want := maps.Clone(was.keys)
	if !keepsSessions {
		delete(want, "ephemeral")
	}
	var header *tenurev1.ResponseHeader
	for _, m := range c.Members {
		list, err := dial(t, m, "").List(ctx, &tenurev1.ListRequest{PageSize: 1000})
		if err != nil {
			t.Fatal(err)
		}
		header = list.GetHeader()
		if header.GetRevision() < was.revision+restoreJump {
			t.Errorf("%s is at revision %d, and the backup was of %d", m.Name(), header.GetRevision(), was.revision)
		}
		got := map[string]*tenurev1.KeyValue{}
		for _, kv := range list.GetKvs() {
			got[kv.GetKey()] = kv
		}
		// With its session, the holder of a key goes, which moves the key's revision.
		if kv := got["held"]; !keepsSessions && kv.GetSessionId() == "" && kv.GetModRevision() > was.revision+restoreJump {
			kv.SessionId, kv.ModRevision, kv.ModTime = want["held"].GetSessionId(), want["held"].GetModRevision(), want["held"].GetModTime()
		}
		for key := range want {
			if !proto.Equal(got[key], want[key]) {
				t.Errorf("%s has %v, and the backup was taken of %v", m.Name(), got[key], want[key])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s has %d keys, want %d", m.Name(), len(got), len(want))
		}
	}
	return header
}

// checkOldProofIsRefused checks that a proof from before the restore opens nothing.
func checkOldProofIsRefused(ctx context.Context, t *testing.T, cl *client, was *backedUp) {
	t.Helper()
	_, err := cl.CheckSequencer(ctx, &tenurev1.CheckSequencerRequest{Proof: &tenurev1.CheckSequencerRequest_Sequencer{Sequencer: was.held}})
	if reason, _ := reasonOf(err); reason != "HISTORY_CHANGED" {
		t.Errorf("check of an old sequencer: %v, want HISTORY_CHANGED", err)
	}
	_, err = cl.Put(ctx, &tenurev1.PutRequest{Key: "guarded", Options: &tenurev1.CallOptions{Guards: []*tenurev1.Guard{
		{Condition: &tenurev1.Guard_Held{Held: was.held}},
	}}})
	if reason, _ := reasonOf(err); reason != "HISTORY_CHANGED" {
		t.Errorf("write guarded by an old sequencer: %v, want HISTORY_CHANGED", err)
	}
	_, err = messages(1, func(ctx context.Context) (grpc.ServerStreamingClient[tenurev1.WatchResponse], error) {
		return cl.Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{""}, AfterRevision: was.revision, HistoryId: was.historyID})
	})(ctx)
	if reason, _ := reasonOf(err); reason != "HISTORY_CHANGED" {
		t.Errorf("watch that goes on after an old revision: %v, want HISTORY_CHANGED", err)
	}
}

// checkSessionsEnded checks a cluster restored without sessions: they are told how they ended, nothing is granted until an
// operator says so, and then the token is larger than all before.
func checkSessionsEnded(ctx context.Context, t *testing.T, c *rig.Cluster, was *backedUp) {
	t.Helper()
	for _, id := range []string{was.holder, was.waiter} {
		for _, m := range c.Members {
			s, err := dial(t, m, "").GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: id})
			if err != nil || s.GetSession().GetEnd().GetCause() != tenurev1.SessionEndCause_SESSION_END_CAUSE_RESTORED {
				t.Errorf("%s says of a session from before: %v, %v", m.Name(), s, err)
			}
		}
	}
	last := c.Members[2]
	cl := dial(t, last, "")
	if _, err := cl.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: was.holder}); err == nil {
		t.Error("a session from before was renewed")
	}
	checkOldProofIsRefused(ctx, t, cl, was)
	if out := run(ctx, t, last, false, "status"); !strings.Contains(out, "grants-frozen") {
		t.Errorf("status does not say that grants are frozen:\n%s", out)
	}
	id := open(ctx, t, cl)
	try := func() *tenurev1.TryAcquireLockResponse {
		r, err := cl.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: "held", SessionId: id})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := try(); r.GetAcquired() || !r.GetLock().GetFrozen() {
		t.Errorf("a lock was granted in a cluster just restored: %v", r)
	}
	run(ctx, t, last, false, "unfreeze", "--reason", "all who held one were stopped")
	r := try()
	if got := r.GetHold().GetSequencer(); got.GetFencingToken() < was.held.GetFencingToken()+restoreJump || got.GetLockIndex() <= was.held.GetLockIndex() {
		t.Errorf("got %v, and before the restore %v was given", r, was.held)
	}
	checkUpwards(ctx, t, cl, was)
}

// checkSessionsKept checks a cluster restored with its sessions: they hold what they held, and queue where they queued.
func checkSessionsKept(ctx context.Context, t *testing.T, c *rig.Cluster, was *backedUp) {
	t.Helper()
	for _, m := range c.Members {
		lock, err := dial(t, m, "").GetLock(ctx, &tenurev1.GetLockRequest{Key: "held"})
		holds, places := lock.GetLock().GetHolds(), lock.GetLock().GetPlaces()
		if err != nil || len(holds) != 1 || holds[0].GetSequencer().GetSessionId() != was.holder || len(places) != 1 {
			t.Errorf("%s says of the lock: %v, %v", m.Name(), lock, err)
		}
	}
	cl := dial(t, c.Members[1], "")
	checkOldProofIsRefused(ctx, t, cl, was)
	for _, id := range []string{was.holder, was.waiter} {
		if _, err := cl.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: id}); err != nil {
			t.Errorf("renewal of a kept session: %v", err)
		}
	}
	if _, err := cl.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: "held", SessionId: was.holder}); err != nil {
		t.Fatal(err)
	}
	lock, err := cl.GetLock(ctx, &tenurev1.GetLockRequest{Key: "held"})
	holds := lock.GetLock().GetHolds()
	if err != nil || len(holds) != 1 || holds[0].GetSequencer().GetSessionId() != was.waiter ||
		holds[0].GetSequencer().GetFencingToken() < was.held.GetFencingToken()+restoreJump {
		t.Errorf("after the release: %v, %v; want the waiter with a token above %d", lock, err, was.held.GetFencingToken())
	}
	checkUpwards(ctx, t, cl, was)
}

// checkUpwards checks that revisions go on above all that were ever given.
func checkUpwards(ctx context.Context, t *testing.T, cl *client, was *backedUp) {
	t.Helper()
	one := put(ctx, t, cl, "stable/000", "new").GetHeader().GetRevision()
	two := put(ctx, t, cl, "stable/000", "newer").GetHeader().GetRevision()
	if one <= was.lastRevision || two <= one {
		t.Errorf("new revisions are %d and %d, and the last before was %d", one, two, was.lastRevision)
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
	header, data, err := m.Fetch(ctx, "/v1/admin/backup")
	if err != nil || header.Get("Content-Type") != "application/octet-stream" {
		t.Fatalf("got %q, %v", header.Get("Content-Type"), err)
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
