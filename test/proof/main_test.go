package proof_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// patience is how long a test waits for what must come.
const patience = 5 * time.Minute

// binary is the tenure under test; TestMain sets it before any test runs.
var binary string

func TestMain(m *testing.M) {
	rig.Main(m, &binary, func() error { return goleak.Find() })
}

// scaled returns the size of a test's long form under TENURE_SOAK=1, and of its short form otherwise.
func scaled(short, long int) int {
	if os.Getenv("TENURE_SOAK") == "1" {
		return long
	}
	return short
}

// client calls one member over one connection.
type client struct {
	tenurev1.SessionServiceClient
	tenurev1.KVServiceClient
	tenurev1.LockServiceClient
	tenurev1.ElectionServiceClient
	tenurev1.WatchServiceClient
	tenurev1.ClusterServiceClient
	conn *grpc.ClientConn
}

// connect returns a client of the member as it runs now; close it before the test ends.
func connect(m *rig.Member) *client {
	conn := m.Dial()
	return &client{
		SessionServiceClient:  tenurev1.NewSessionServiceClient(conn),
		KVServiceClient:       tenurev1.NewKVServiceClient(conn),
		LockServiceClient:     tenurev1.NewLockServiceClient(conn),
		ElectionServiceClient: tenurev1.NewElectionServiceClient(conn),
		WatchServiceClient:    tenurev1.NewWatchServiceClient(conn),
		ClusterServiceClient:  tenurev1.NewClusterServiceClient(conn),
		conn:                  conn,
	}
}

func (c *client) close() { _ = c.conn.Close() }

// session creates a session that only a request ends. A forced loss of its locks has no delay.
func (c *client) session(ctx context.Context, t *testing.T, name string) string {
	t.Helper()
	s, err := c.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: name, LockDelay: durationpb.New(0)})
	if err != nil {
		t.Fatalf("create session: %v", err)
	}
	return s.GetSessionId()
}

// status returns what the member says of itself.
func (c *client) status(ctx context.Context, t *testing.T) *tenurev1.GetStatusResponse {
	t.Helper()
	s, err := c.GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatalf("get status: %v", err)
	}
	return s
}

// restart kills the member with SIGKILL, starts it again and returns a client of it.
func restart(ctx context.Context, m *rig.Member, old *client) *client {
	old.close()
	m.Kill()
	m.Restart(ctx)
	return connect(m)
}

// wantError fails unless err has a code and a reason.
func wantError(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || rig.ErrorInfo(err).GetReason() != reason {
		t.Errorf("got %v, reason %q; want %v, reason %q", err, rig.ErrorInfo(err).GetReason(), code, reason)
	}
}
