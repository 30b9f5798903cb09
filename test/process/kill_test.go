package process_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	killClients = 64
	killRounds  = 5
	// killAfter is how many acknowledged writes of a round precede the kill.
	killAfter = 2000
	// writesTime bounds the wait for them.
	writesTime = 3 * time.Minute
)

// acked is what one client was promised. Only its own client writes it, and the test reads it between rounds.
type acked struct {
	session  string
	token    uint64
	sequence int // last acknowledged value of the client's key
	tried    int // last value sent
	revision uint64
	locks    int
}

func TestEveryAcknowledgedWriteSurvivesKill9(t *testing.T) {
	ctx := t.Context()
	m := rig.Start(ctx, t, binary)
	clients := make([]acked, killClients)
	var writes, highest uint64
	for range killRounds {
		writes += runUntilKilled(ctx, t, m, clients)
		m.Restart(ctx)
		highest = verifyAcked(ctx, t, m, clients, highest)
	}
	locks := 0
	for i := range clients {
		locks += clients[i].locks
	}
	t.Logf("%d kills, %d acknowledged writes, %d acknowledged locks, last revision %d", killRounds, writes, locks, highest)
	if floor := uint64(killRounds * killAfter); writes < floor || locks < killClients {
		t.Errorf("floors: got %d writes and %d locks, want at least %d and %d", writes, locks, floor, killClients)
	}
}

// runUntilKilled lets all clients write, kills the member in the middle of it, and returns how many writes were
// acknowledged.
func runUntilKilled(ctx context.Context, t *testing.T, m *rig.Member, clients []acked) uint64 {
	t.Helper()
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var total atomic.Uint64
	enough := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for writeOnce(ctx, conn, i, &clients[i]) == nil {
				if total.Add(1) >= killAfter {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(writesTime):
		t.Errorf("the clients did not get enough writes acknowledged in %v", writesTime)
	}
	m.Kill()
	cancel()
	wg.Wait()
	return total.Load()
}

// writeOnce makes sure that the client has a session and a lock, then writes its key.
func writeOnce(ctx context.Context, conn *grpc.ClientConn, client int, a *acked) error {
	kv := tenurev1.NewKVServiceClient(conn)
	if a.session == "" {
		created, err := tenurev1.NewSessionServiceClient(conn).CreateSession(ctx, &tenurev1.CreateSessionRequest{
			Name: fmt.Sprintf("client %d", client), Ttl: durationpb.New(time.Hour),
		})
		if err != nil {
			return err
		}
		a.session = created.GetSessionId()
		return nil
	}
	if a.token == 0 {
		put, err := kv.Put(ctx, &tenurev1.PutRequest{Key: lockKey(client), Acquire: a.session})
		if err != nil {
			return err
		}
		if !put.GetAcquired() {
			return fmt.Errorf("lock %d refused: %v", client, put.GetLock())
		}
		a.token, a.locks = put.GetSequencer().GetFencingToken(), a.locks+1
		return nil
	}
	a.tried = a.sequence + 1
	put, err := kv.Put(ctx, &tenurev1.PutRequest{
		Key: valueKey(client), Content: &tenurev1.PutRequest_Text{Text: fmt.Sprint(a.tried)},
	})
	if err != nil {
		return err
	}
	a.sequence, a.revision = a.tried, put.GetHeader().GetRevision()
	return nil
}

func lockKey(client int) string  { return fmt.Sprintf("lock/%d", client) }
func valueKey(client int) string { return fmt.Sprintf("value/%d", client) }

// verifyAcked compares the store with what every client was promised, and returns the store's revision.
func verifyAcked(ctx context.Context, t *testing.T, m *rig.Member, clients []acked, before uint64) uint64 {
	t.Helper()
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	kv, sessions := tenurev1.NewKVServiceClient(conn), tenurev1.NewSessionServiceClient(conn)
	highest := before
	for i := range clients {
		a := &clients[i]
		if a.session != "" {
			got, err := sessions.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: a.session})
			if err != nil || got.GetSession().GetEnd() != nil {
				t.Errorf("client %d: its acknowledged session is gone: %v, %v", i, got.GetSession(), err)
			}
		}
		if a.token != 0 {
			got, err := kv.Get(ctx, &tenurev1.GetRequest{Key: lockKey(i)})
			if err != nil || got.GetKv().GetSessionId() != a.session {
				t.Errorf("client %d: its acknowledged lock is gone: %v, %v", i, got.GetKv(), err)
			}
		}
		if a.sequence == 0 {
			continue
		}
		got, err := kv.Get(ctx, &tenurev1.GetRequest{Key: valueKey(i)})
		if err != nil {
			t.Errorf("client %d: %v", i, err)
			continue
		}
		// The write that was under way when the member was killed may have had effect.
		value := string(got.GetKv().GetValue())
		if value != fmt.Sprint(a.sequence) && value != fmt.Sprint(a.tried) {
			t.Errorf("client %d: got value %q, want the acknowledged %d or the attempted %d", i, value, a.sequence, a.tried)
		}
		if value == fmt.Sprint(a.sequence) && got.GetKv().GetModRevision() != a.revision {
			t.Errorf("client %d: got mod_revision %d, want the acknowledged %d", i, got.GetKv().GetModRevision(), a.revision)
		}
		if value == fmt.Sprint(a.tried) {
			a.sequence, a.revision = a.tried, got.GetKv().GetModRevision()
		}
		highest = max(highest, got.GetHeader().GetRevision())
	}
	if highest < before {
		t.Errorf("revision went back from %d to %d", before, highest)
	}
	return highest
}
