package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// patience bounds every wait. Only a member that does not serve at all lets one reach it.
const patience = 5 * time.Minute

// pause is how long a quiet client does nothing between its rounds.
const pause = 10 * time.Millisecond

// quiet is a client that does what clients do, one call after the other.
type quiet struct {
	conn    *grpc.ClientConn
	kv      tenurev1.KVServiceClient
	locks   tenurev1.LockServiceClient
	renewer tenurev1.SessionServiceClient
	session string
	*rounds

	mu      sync.Mutex // guards what follows
	retried int        // calls that were sent again because there was no leader
	puts    []time.Duration
}

// startQuiet starts a quiet client of a member.
func startQuiet(t *testing.T, m *rig.Member) *quiet {
	t.Helper()
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(quietAddress)}}
	conn, err := grpc.NewClient(m.Addresses.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return from.DialContext(ctx, "tcp", address)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	q := &quiet{
		conn: conn, kv: tenurev1.NewKVServiceClient(conn), locks: tenurev1.NewLockServiceClient(conn),
		renewer: tenurev1.NewSessionServiceClient(conn), rounds: newRounds(),
	}
	if err := q.again(t.Context(), "create session", func(ctx context.Context) error {
		opened, err := q.renewer.CreateSession(ctx, &tenurev1.CreateSessionRequest{
			Name: "quiet", Ttl: durationpb.New(time.Hour), Secret: make([]byte, 32),
		})
		q.session = opened.GetSessionId()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	q.begin(t, q.round)
	return q
}

// round puts and reads a key, takes and releases a lock, and renews the session.
func (q *quiet) round(ctx context.Context, round int) error {
	const key, lock = "quiet/key", "quiet/lock"
	value := fmt.Appendf(nil, "%d", round)
	options := &tenurev1.CallOptions{SessionSecret: make([]byte, 32), Epoch: 1}
	put := q.again(ctx, "put", func(ctx context.Context) error {
		began := time.Now()
		_, err := q.kv.Put(ctx, &tenurev1.PutRequest{Key: key, Content: &tenurev1.PutRequest_Value{Value: value}})
		q.mu.Lock()
		q.puts = append(q.puts, time.Since(began))
		q.mu.Unlock()
		return err
	})
	get := q.again(ctx, "get", func(ctx context.Context) error {
		got, err := q.kv.Get(ctx, &tenurev1.GetRequest{Key: key})
		if err == nil && put == nil && string(got.GetKv().GetValue()) != string(value) {
			return fmt.Errorf("got %q, want %q", got.GetKv().GetValue(), value)
		}
		return err
	})
	acquire := q.again(ctx, "acquire", func(ctx context.Context) error {
		held, err := q.locks.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: lock, SessionId: q.session, Options: options})
		if err == nil && !held.GetAcquired() {
			return fmt.Errorf("the lock is taken: %v", held)
		}
		return err
	})
	release := q.again(ctx, "release", func(ctx context.Context) error {
		_, err := q.locks.ReleaseLock(ctx, &tenurev1.ReleaseLockRequest{Key: lock, SessionId: q.session, Options: options})
		return err
	})
	renew := q.again(ctx, "renew", func(ctx context.Context) error {
		_, err := q.renewer.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: q.session, Options: options})
		return err
	})
	return errors.Join(put, get, acquire, release, renew)
}

// again makes a call until it is served by a leader. Leaders may change at any time, and that is nobody's fault.
func (q *quiet) again(ctx context.Context, what string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := call(ctx)
		if err == nil {
			return nil
		}
		if status.Code(err) != codes.Unavailable || rig.ErrorInfo(err) == nil || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		q.mu.Lock()
		q.retried++
		q.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// forget drops what was measured.
func (q *quiet) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.puts = nil
}

// p99 returns how long the slowest of 100 puts took.
func (q *quiet) p99() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.puts) == 0 {
		return 0
	}
	slices.Sort(q.puts)
	return q.puts[len(q.puts)*99/100]
}
