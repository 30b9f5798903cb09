package hostile_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// callAttacks are those by calls of gRPC that are well-formed each.
func callAttacks() []attack {
	return []attack{
		{
			entry: "S9", name: "waits for one lock", attack: func(ctx context.Context, a *attacker) error { return waitOften(ctx, a, 1) },
			// As many wait for many locks, ten for each.
			alike: func(ctx context.Context, a *attacker) error { return waitOften(ctx, a, waits(a.Long)/10) },
			pins:  func(long bool) int { return waits(long) * 32 >> 10 },
		},
		{
			entry: "S17", name: "sessions without end", attack: openSessions, prepare: limitSessions,
			shows: `tenure_server_shared_refused_total{limit="sessions_max"}`, after: othersOpenSessions,
			pins: func(long bool) int { return sessionsMax(long)>>10 + writes(long) }, // With metadata, for a moment.
		},
		{entry: "S14", name: "renewals without the secret", attack: renewWithoutSecret},
		{entry: "renewals", name: "renewals of sessions that nobody has", three: true, attack: renewUnknown, pins: func(bool) int {
			return 8 // Two streams for each of four clients.
		}},
		{entry: "S15", name: "a key that is overwritten", attack: overwrite, prepare: limitStore, pins: func(bool) int { return writeMiB }},
		{entry: "S16", name: "limits that are odd", attack: limitAll},
		{entry: "S8", name: "transactions that list everything", attack: listOften, prepare: putMany},
		{entry: "S10", name: "sessions with large values queued", attack: queueValues, pins: func(long bool) int {
			return 64 + writes(long) // Pages of the largest answers, and the log's cache.
		}},
	}
}

// waits is how often one caller waits for a lock.
func waits(long bool) int {
	if long {
		return 20_000
	}
	return 1500
}

// waitOften waits over and over, on ten connections, for so many locks in turn.
func waitOften(ctx context.Context, a *attacker, locked int) error {
	const conns, owners = 10, 1000 // A session can have some 4 000 places.
	var all []*grpc.ClientConn
	for range conns {
		conn, err := a.dial(a.Members[0].GRPC)
		if err != nil {
			return err
		}
		all = append(all, conn)
	}
	sessions, locks := tenurev1.NewSessionServiceClient(all[0]), tenurev1.NewLockServiceClient(all[0])
	open := func() (string, error) {
		s, err := sessions.CreateSession(ctx, &tenurev1.CreateSessionRequest{})
		return s.GetSessionId(), err
	}
	holder, err := open()
	if err != nil {
		return err
	}
	key := func(i int) string { return fmt.Sprintf("hostile/lock/%d", i%locked) }
	for i := range locked {
		if _, err = locks.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{Key: key(i), SessionId: holder}); err != nil {
			return err
		}
	}
	for first := 0; first < waits(a.Long); first += owners {
		session, err := open()
		if err != nil {
			return err
		}
		for i := range min(owners, waits(a.Long)-first) {
			go func() { // It ends with the process.
				_, err := tenurev1.NewLockServiceClient(all[i%conns]).TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
					Key: key(first + i), SessionId: session, Wait: durationpb.New(time.Minute),
					Options: &tenurev1.CallOptions{Owner: fmt.Sprint(i)},
				})
				a.answered("wait", err)
			}()
		}
	}
	return a.until(ctx, func() (bool, error) {
		got, err := locks.GetLock(ctx, &tenurev1.GetLockRequest{Key: key(0)})
		return int(got.GetLock().GetWaiters()) >= waits(a.Long)/locked*9/10 || a.refused() > 0, err
	})
}
