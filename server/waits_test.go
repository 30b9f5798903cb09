package server_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs" //nolint:depguard // It makes a disk that is held, in a test.
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// heldDisk is a disk in memory whose writes are not done while it is held, so that changes last as long as a test wants.
type heldDisk struct {
	storage.FS

	mu    sync.RWMutex // held by whoever holds the disk; each sync takes it for reading
	syncs atomic.Int64 // that were asked for
}

func newHeldDisk() *heldDisk { return &heldDisk{FS: storage.NewMemFS()} }

// hold holds the disk until release is called, or the test ends.
func (d *heldDisk) hold(t *testing.T) (release func()) {
	t.Helper()
	d.mu.Lock()
	release = sync.OnceFunc(d.mu.Unlock)
	t.Cleanup(release)
	return release
}

// Create makes a file whose writes are not done while the disk is held.
func (d *heldDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, category)
	return heldFile{File: f, disk: d}, err
}

// ReuseForWrite is Create with the room of an old file.
func (d *heldDisk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(oldname, newname, category)
	return heldFile{File: f, disk: d}, err
}

// heldFile is a file on such a disk.
type heldFile struct {
	vfs.File

	disk *heldDisk
}

func (f heldFile) Sync() error {
	f.disk.syncs.Add(1)
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	return f.File.Sync()
}

func (f heldFile) SyncData() error {
	f.disk.syncs.Add(1)
	f.disk.mu.RLock()
	defer f.disk.mu.RUnlock()
	return f.File.SyncData()
}

// ahead is a stale read that waits for a revision that does not come.
var ahead = &tenurev1.ReadOptions{Stale: true, MinRevision: 1 << 50}

// TestReadsThatWaitAreNoCalls has one address wait for revisions more often than calls are served at a time, over gRPC and over REST. Its other
// calls are served.
func TestReadsThatWaitAreNoCalls(t *testing.T) {
	const callsMax = 4
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.CallsMax = registry, callsMax })
	ctx, stop := context.WithCancel(t.Context())
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()
	for range callsMax {
		under.Go(func() { _, _ = m.Get(ctx, &tenurev1.GetRequest{Key: "k", Read: ahead}) })
		under.Go(func() { _, _ = m.ListSessions(ctx, &tenurev1.ListSessionsRequest{Read: ahead}) })
		under.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.at.HTTP+"/v1/kv/k?read.stale&read.minRevision=1000000", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_ = answer.Body.Close()
			}
		})
	}
	await(t, "all wait", func() bool {
		return sharedValue(t, registry, "tenure_server_shared_used", "limit", "waits_max") == 3*callsMax
	})
	put, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")})
	if err != nil {
		t.Fatalf("a put beside reads that wait: %v", err)
	}
	if n := sharedValue(t, registry, "tenure_server_shared_used", "limit", "calls_max"); n != 0 {
		t.Errorf("%v calls are under way, want none", n)
	}
	// A read that does not have to wait is a call like others.
	if _, err = m.Get(ctx, &tenurev1.GetRequest{Key: "k", Read: &tenurev1.ReadOptions{
		Stale: true, MinRevision: put.GetHeader().GetRevision(),
	}}); err != nil {
		t.Errorf("a read of what is there: %v", err)
	}
}

// TestASessionThatWaitsForItsNodeIsNoCall opens sessions on a machine of which the cluster does not know yet whether it is alive.
func TestASessionThatWaitsForItsNodeIsNoCall(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.CallsMax = registry, 1 })
	if _, err := m.catalog().RegisterNode(t.Context(), &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: "web1", GossipAddress: "192.0.2.1:7404"},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()
	for range 3 {
		under.Go(func() { _, _ = m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Node: "web1"}) })
	}
	await(t, "all wait", func() bool { return sharedValue(t, registry, "tenure_server_shared_used", "limit", "waits_max") == 3 })
	m.put(t, "k", "v")
}

// TestAReadThatWaitsEndsWithItsCallersRights revokes the token of a read that waits, at any rate before the read's own time is over.
func TestAReadThatWaitsEndsWithItsCallersRights(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := startMember(t, alone, func(c *server.Config) { c.Registry = registry })
	admin := m.bootstrap(t, modeEnforce)
	made := m.token(t, admin, "web", "session * write\nkey * rw\n")
	s, err := m.CreateSession(as(t.Context(), made.GetText()), &tenurev1.CreateSessionRequest{Name: "web-1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(as(t.Context(), made.GetText()), 10*patience)
	defer cancel()
	ended := make(chan error, 2)
	go func() {
		_, failed := m.Get(ctx, &tenurev1.GetRequest{Key: "k", Read: ahead})
		ended <- failed
	}()
	go func() {
		_, failed := m.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: s.GetSessionId(), Read: ahead})
		ended <- failed
	}()
	await(t, "both wait", func() bool { return sharedValue(t, registry, "tenure_server_shared_used", "limit", "waits_max") == 2 })
	if _, err = m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: made.GetToken().GetAccessor()}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case err = <-ended:
			wantError(t, err, codes.Unauthenticated, "UNAUTHENTICATED")
		case <-time.After(patience):
			t.Fatal("a read waits on")
		}
	}
}
