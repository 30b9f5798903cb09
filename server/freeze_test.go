package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2" //nolint:depguard // It makes a store that was restored, in a test.
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// freezeStore makes the store of a stopped member one that was restored: grants are frozen.
func freezeStore(t *testing.T, fs storage.FS, length time.Duration) {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	dir := ""
	for _, name := range names {
		if strings.HasPrefix(name, "sm-") {
			dir = fs.PathJoin("data", name)
		}
	}
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	record, err := proto.Marshal(&storev1.FreezeRecord{FormatVersion: 1, FreezeMs: length.Milliseconds()})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte("f"), record, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// silent is a logger for Pebble that logs nothing.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// startFrozen starts a member whose grants are frozen.
func startFrozen(t *testing.T, length time.Duration) *member {
	t.Helper()
	m := start(t)
	m.stop()
	if err := m.wait(); err != nil {
		t.Fatal(err)
	}
	freezeStore(t, m.fs, length)
	return start(t, func(c *server.Config) { c.FS = m.fs })
}

func TestFreezeEndsByItself(t *testing.T) {
	t.Parallel()
	m := startFrozen(t, 5*time.Second) // It must still run when the lock is asked for.
	waiter := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "waiter")})
	if queued := waiter.next().GetQueued(); !queued.GetLock().GetFrozen() {
		t.Fatalf("got %v, want to wait for the end of the freeze", queued)
	}
	if waiter.ended().GetGranted() == nil {
		t.Error("the lock was not granted at the end of the freeze")
	}
}

func TestAnOperatorEndsTheFreeze(t *testing.T) {
	m := startFrozen(t, time.Hour)
	session := m.openSession(t, "waiter")
	try, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: session})
	if err != nil || try.GetAcquired() || !try.GetLock().GetFrozen() {
		t.Fatalf("got %v, %v; want that it is frozen", try, err)
	}
	short, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{
		Key: "k", SessionId: session, Wait: durationpb.New(time.Millisecond),
	})
	if err != nil || short.GetAcquired() || !short.GetLock().GetFrozen() {
		t.Fatalf("got %v, %v; want that it is frozen after a wait", short, err)
	}
	waiter := m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: session})
	waiter.next()
	wantFrozen(t, m, true)
	end := func(reason string) (*tenurev1.EndFreezeResponse, error) {
		return m.EndFreeze(t.Context(), &tenurev1.EndFreezeRequest{Reason: reason})
	}
	_, err = end("")
	wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	wantFrozen(t, m, true)
	ended, err := end("all clients are new")
	if err != nil || !ended.GetEnded() {
		t.Fatalf("got %v, %v; want that it ended", ended, err)
	}
	if waiter.ended().GetGranted() == nil {
		t.Error("who waited was not granted the lock")
	}
	wantFrozen(t, m, false)
	if ended, err = end("again"); err != nil || ended.GetEnded() {
		t.Errorf("got %v, %v; want that there was nothing to end", ended, err)
	}
	if m.logs.FilterMessage("freeze ended by an operator").FilterFieldKey("reason").Len() != 1 {
		t.Error("the log does not say who ended the freeze, and why")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://"+m.at.HTTP+"/v1/admin/freeze?reason=again", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("over REST: got %s, want 200", answer.Status)
	}
}

// wantFrozen fails unless the status says that grants are frozen, or not.
func wantFrozen(t *testing.T, m *member, want bool) {
	t.Helper()
	status, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, p := range status.GetProblems() {
		told = told || p.GetName() == "grants-frozen"
	}
	if left := status.GetFreezeLeft(); (left != nil) != want || told != want || left.AsDuration() > time.Hour {
		t.Errorf("got %v left and problems %v, want frozen %v", left, status.GetProblems(), want)
	}
}
