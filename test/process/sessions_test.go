package process_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// sessionsPerMessage is the most renewals that one message may carry.
	sessionsPerMessage = 1024
	// lateMax is how long after its TTL a session may still live on a machine that nothing else uses, as in the long form.
	// The short form runs anywhere: there lateBusyMax only tells late from never. That it is exact, the member's clock
	// being equal, is proved in server/expiry.
	lateMax     = time.Second
	lateBusyMax = 30 * time.Second
)

// scale returns full in a soak and short otherwise.
func scale(short, full int) int {
	if os.Getenv("TENURE_SOAK") == "1" {
		return full
	}
	return short
}

// renewedSession is one session and what its client knows of its last acknowledged renewal.
type renewedSession struct {
	id       string
	sent     time.Time // when the last acknowledged renewal was sent
	answered time.Time // when its answer came
}

func TestSessionsLiveWhileRenewedAndEndWithinASecondOfTheirTTL(t *testing.T) {
	const ttl, streams = 10 * time.Second, 8
	total, abandoned := scale(4000, 100_000), scale(200, 1000)
	ctx := t.Context()
	m := rig.Start(ctx, t, binary)
	conn := m.Dial()
	defer func() { _ = conn.Close() }()

	ends := watchSessionEnds(ctx, t, conn)
	renewers := make([]*renewer, streams)
	for i := range renewers {
		renewers[i] = startRenewer(ctx, t, conn, ttl)
	}
	createSessions(ctx, t, conn, renewers, total, ttl)

	// One whole TTL and more in which everybody renews: nobody ends, and nothing is logged.
	before := logIndex(ctx, t, conn)
	wait(ctx, ttl+2*time.Second)
	renewals := awaitRenewals(ctx, renewers, 2*total)
	after := logIndex(ctx, t, conn)
	if after != before {
		t.Errorf("the log grew from %d to %d entries while sessions were only renewed", before, after)
	}
	if renewals < 2*total {
		t.Errorf("floor: got %d renewals of %d sessions, want at least two each", renewals, total)
	}
	select {
	case id := <-ends:
		t.Fatalf("session %s ended though it was renewed", id.id)
	default:
	}

	checkAbandoned(ctx, t, abandon(renewers, abandoned), ends, ttl)
	if got := liveSessions(ctx, t, conn); got != uint64(total-abandoned) {
		t.Errorf("got %d live sessions, want %d", got, total-abandoned)
	}
	for _, r := range renewers {
		if err := r.stop(); err != nil {
			t.Errorf("keepalive stream: %v", err)
		}
	}
	t.Logf("%d sessions, %d renewals, log entries during renewals: %d", total, renewals, after-before)
}

func TestAPausedMemberExpiresNobodyWhoRenewsRightAfter(t *testing.T) {
	t.Parallel() // It mostly waits for TTLs.
	const ttl, pause, sessions = 10 * time.Second, 11 * time.Second, 500
	ctx := t.Context()
	m := rig.Start(ctx, t, binary)
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	ends := watchSessionEnds(ctx, t, conn)
	r := startRenewer(ctx, t, conn, ttl)
	createSessions(ctx, t, conn, []*renewer{r}, sessions, ttl)
	before := r.count()

	// The renewer goes on sending while the member is stopped, so renewals wait for it in the socket.
	m.Pause()
	wait(ctx, pause)
	m.Resume()

	wait(ctx, ttl)
	awaitRenewals(ctx, []*renewer{r}, before+sessions)
	select {
	case e := <-ends:
		t.Errorf("session %s ended though it renewed right after the pause", e.id)
	default:
	}
	if got := liveSessions(ctx, t, conn); got != sessions {
		t.Errorf("got %d live sessions, want %d", got, sessions)
	}
	if got := r.count() - before; got < sessions {
		t.Errorf("floor: got %d renewals, want at least %d", got, sessions)
	}
	if err := r.stop(); err != nil {
		t.Errorf("keepalive stream: %v", err)
	}
}

// awaitRenewals waits until there were so many renewals, and returns how many there were by then.
func awaitRenewals(ctx context.Context, renewers []*renewer, want int) int {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		renewals := 0
		for _, r := range renewers {
			renewals += r.count()
		}
		if renewals >= want || ctx.Err() != nil {
			return renewals
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// wait lets real time pass: the subject of these tests is a process's own clock.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func logIndex(ctx context.Context, t *testing.T, conn *grpc.ClientConn) uint64 {
	t.Helper()
	status, err := tenurev1.NewClusterServiceClient(conn).GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return status.GetLastIndex()
}

func liveSessions(ctx context.Context, t *testing.T, conn *grpc.ClientConn) uint64 {
	t.Helper()
	status, err := tenurev1.NewClusterServiceClient(conn).GetStatus(ctx, &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return status.GetSessions()
}

// sessionEnd is an end as a watcher saw it.
type sessionEnd struct {
	id    string
	seen  time.Time
	cause tenurev1.SessionEndCause
}

// watchSessionEnds streams the ends of all sessions from now on.
func watchSessionEnds(ctx context.Context, t *testing.T, conn *grpc.ClientConn) <-chan sessionEnd {
	t.Helper()
	stream, err := tenurev1.NewWatchServiceClient(conn).Watch(ctx, &tenurev1.WatchRequest{AllSessions: true})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || first.GetStarted() == nil {
		t.Fatalf("first message of the watch: %v, %v", first, err)
	}
	ends := make(chan sessionEnd, 200_000)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(stream.Context())
	t.Cleanup(func() { cancel(); wg.Wait() })
	wg.Go(func() {
		for ctx.Err() == nil {
			msg, err := stream.Recv()
			if err != nil {
				return
			}
			for _, e := range msg.GetEvents().GetEvents() {
				if e.GetType() == tenurev1.EventType_EVENT_TYPE_SESSION_ENDED {
					ends <- sessionEnd{e.GetSession().GetSessionId(), time.Now(), e.GetSession().GetEnd().GetCause()}
				}
			}
		}
	})
	return ends
}

// createSessions makes sessions and hands each to a renewer at once, so that none waits for the others.
func createSessions(
	ctx context.Context, t *testing.T, conn *grpc.ClientConn, renewers []*renewer, total int, ttl time.Duration,
) {
	t.Helper()
	const creators = 64
	var wg sync.WaitGroup
	for c := range creators {
		wg.Go(func() {
			client := tenurev1.NewSessionServiceClient(conn)
			for i := c; i < total; i += creators {
				sent := time.Now()
				got, err := client.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(ttl)})
				if err != nil {
					t.Errorf("create session: %v", err)
					return
				}
				renewers[i%len(renewers)].add(renewedSession{id: got.GetSessionId(), sent: sent, answered: time.Now()})
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// abandon takes n sessions away from the renewers and returns who renewed each of them.
func abandon(renewers []*renewer, n int) map[string]*renewer {
	out := make(map[string]*renewer, n)
	for i := range n {
		r := renewers[i%len(renewers)]
		out[r.drop()] = r
	}
	return out
}

// checkAbandoned waits for the ends of the abandoned sessions: not before TTL after the last renewal was sent, and within
// lateMax of TTL after its answer came.
func checkAbandoned(
	ctx context.Context, t *testing.T, left map[string]*renewer, ends <-chan sessionEnd, ttl time.Duration,
) {
	t.Helper()
	allowed := time.Duration(scale(int(lateBusyMax), int(lateMax)))
	deadline := time.NewTimer(ttl + 2*lateBusyMax)
	defer deadline.Stop()
	var early, late, total int
	var worst time.Duration
	for total = 0; len(left) > 0; total++ {
		select {
		case e := <-ends:
			r, ok := left[e.id]
			if !ok {
				t.Fatalf("session %s ended though it was renewed", e.id)
			}
			delete(left, e.id)
			s := r.last(e.id)
			if e.seen.Before(s.sent.Add(ttl)) || e.cause != tenurev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED {
				early++
			}
			over := e.seen.Sub(s.answered.Add(ttl))
			if over > allowed {
				late++
			}
			worst = max(worst, over)
		case <-deadline.C:
			t.Fatalf("%d abandoned sessions did not end", len(left))
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		}
	}
	t.Logf("%d abandoned sessions ended; the latest %v after its TTL", total, worst)
	if early > 0 || late > 0 {
		t.Errorf("got %d ends before the TTL and %d more than %v after it, want none", early, late, allowed)
	}
}
