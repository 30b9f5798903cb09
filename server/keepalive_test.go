package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// keeping is one KeepAlive stream under test.
type keeping struct {
	t      *testing.T
	stream tenurev1.SessionService_KeepAliveClient
}

func (m *member) keepAlive(t *testing.T) *keeping {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	stream, err := m.KeepAlive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &keeping{t: t, stream: stream}
}

// renew sends renewals in one message and returns the verdicts by number.
func (k *keeping) renew(renewals ...*tenurev1.SessionRenewal) map[uint64]*tenurev1.RenewalVerdict {
	k.t.Helper()
	if err := k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: renewals}); err != nil {
		k.t.Fatal(err)
	}
	verdicts := map[uint64]*tenurev1.RenewalVerdict{}
	for len(verdicts) < len(renewals) {
		r, err := k.stream.Recv()
		if err != nil {
			k.t.Fatal(err)
		}
		for _, v := range r.GetVerdicts() {
			verdicts[v.GetNumber()] = v
		}
	}
	return verdicts
}

func wantVerdict(t *testing.T, v *tenurev1.RenewalVerdict, want tenurev1.ErrorReason) {
	t.Helper()
	if v.GetRefused() != want {
		t.Errorf("got verdict %v, want refused=%v", v, want)
	}
}

func TestVerdictsOfRenewals(t *testing.T) {
	m := start(t)
	secret := bytes.Repeat([]byte{7}, 32)
	open, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Ttl: seconds(10)})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Ttl: seconds(10), Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	ended := m.openSession(t, "ended")
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: ended}); err != nil {
		t.Fatal(err)
	}
	none := m.openSession(t, "without TTL")
	k := m.keepAlive(t)
	got := k.renew(
		&tenurev1.SessionRenewal{Number: 1, SessionId: open.GetSessionId()},
		&tenurev1.SessionRenewal{Number: 2, SessionId: closed.GetSessionId()},
		&tenurev1.SessionRenewal{Number: 3, SessionId: ended},
		&tenurev1.SessionRenewal{Number: 4, SessionId: "00000000-0000-4000-8000-000000000000"},
		&tenurev1.SessionRenewal{Number: 5, SessionId: "none"},
		&tenurev1.SessionRenewal{Number: 6, SessionId: none},
		&tenurev1.SessionRenewal{Number: 7, SessionId: open.GetSessionId(), Epoch: 1},
	)
	for number, want := range map[uint64]tenurev1.ErrorReason{
		1: tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED,
		2: tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG,
		3: tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		4: tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND,
		5: tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID,
		6: tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED,
		7: tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED,
	} {
		wantVerdict(t, got[number], want)
	}
	if got[1].GetTtl().AsDuration() != 10*time.Second || got[6].GetTtl() != nil {
		t.Errorf("got TTLs %v and %v, want 10s and none", got[1].GetTtl(), got[6].GetTtl())
	}
	// The secret is needed once on each stream.
	for i, want := range []tenurev1.ErrorReason{0, 0} {
		r := &tenurev1.SessionRenewal{Number: uint64(i), SessionId: closed.GetSessionId(), Epoch: 1}
		if i == 0 {
			r.Secret = secret
		}
		wantVerdict(t, k.renew(r)[uint64(i)], want)
	}
	other := m.keepAlive(t)
	wrong := &tenurev1.SessionRenewal{SessionId: closed.GetSessionId(), Secret: bytes.Repeat([]byte{8}, 32)}
	wantVerdict(t, other.renew(wrong)[0], tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG)
}

func TestTooLargeRenewalMessageIsRefused(t *testing.T) {
	m := start(t)
	k := m.keepAlive(t)
	if err := k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: make([]*tenurev1.SessionRenewal, 1025)}); err != nil {
		t.Fatal(err)
	}
	_, err := k.stream.Recv()
	wantError(t, err, codes.ResourceExhausted, "TOO_LARGE")
}

func TestClosedKeepAliveStreamEndsCleanly(t *testing.T) {
	m := start(t)
	k := m.keepAlive(t)
	id := m.openSession(t, "a")
	if err := k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: id, Number: 3}}}); err != nil {
		t.Fatal(err)
	}
	if err := k.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	r, err := k.stream.Recv()
	if err != nil || len(r.GetVerdicts()) != 1 || r.GetVerdicts()[0].GetNumber() != 3 {
		t.Fatalf("got %v, %v, want the verdict of 3", r, err)
	}
	if _, err := k.stream.Recv(); err == nil || err.Error() != "EOF" {
		t.Errorf("got %v, want EOF", err)
	}
}

func TestRenewSessionRestartsTheTTL(t *testing.T) {
	m := start(t)
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Ttl: seconds(60)})
	if err != nil {
		t.Fatal(err)
	}
	before, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: s.GetSessionId()})
	if err != nil {
		t.Fatal(err)
	}
	if before.GetSession().GetLastRenewalTime() != nil {
		t.Errorf("before a renewal: got one at %v", before.GetSession().GetLastRenewalTime())
	}
	r, err := m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: s.GetSessionId()})
	if err != nil {
		t.Fatal(err)
	}
	left := r.GetSession().GetTtlLeft().AsDuration()
	if r.GetSession().GetLastRenewalTime() == nil || left < 55*time.Second || left > 60*time.Second {
		t.Errorf("got %v left, renewed at %v", left, r.GetSession().GetLastRenewalTime())
	}
	_, err = m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: "00000000-0000-4000-8000-000000000000"})
	wantError(t, err, codes.NotFound, "SESSION_NOT_FOUND")
	_, err = m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: "x"})
	wantError(t, err, codes.InvalidArgument, "SESSION_ID_INVALID")
}

// scale says how much of the real load a test runs: a part, or with TENURE_SOAK all of it.
func scale(part, whole int) int {
	if os.Getenv("TENURE_SOAK") != "" {
		return whole
	}
	return part
}

// TestRenewedSessionsLiveAndAbandonedOnesEndInTime keeps many sessions alive over streams, abandons some, and counts log
// entries.
func TestRenewedSessionsLiveAndAbandonedOnesEndInTime(t *testing.T) {
	sessions, abandoned := scale(8000, 100_000), scale(200, 1000)
	ttl := time.Duration(scale(4, 10)) * time.Second
	const streams = 8
	m := start(t)
	events := m.watch(t, &tenurev1.WatchRequest{AllSessions: true})
	ids := m.openMany(t, sessions, ttl)
	index := func() uint64 {
		st, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return st.GetLastIndex()
	}
	before := index()
	sent := make([]time.Time, abandoned)     // last send before the sessions were abandoned
	answered := make([]time.Time, abandoned) // and its answer
	began := time.Now()
	var wg sync.WaitGroup
	renewed := make([]int, streams)
	stop := make(chan struct{})
	for n := range streams {
		wg.Go(func() {
			k := m.keepAlive(t)
			from, to := n*sessions/streams, (n+1)*sessions/streams
			for round := 0; ; round++ {
				for at := from; at < to; at += 512 {
					var batch []*tenurev1.SessionRenewal
					for i := at; i < min(at+512, to); i++ {
						if i < abandoned && time.Since(began) > ttl {
							continue
						}
						batch = append(batch, &tenurev1.SessionRenewal{SessionId: ids[i], Number: uint64(i)})
					}
					send := time.Now()
					verdicts := k.renew(batch...)
					for number, v := range verdicts {
						if v.GetRefused() != 0 {
							t.Errorf("session %d is refused: %v", number, v.GetRefused())
							return
						}
						if int(number) < abandoned {
							sent[number], answered[number] = send, time.Now()
						}
					}
					renewed[n] += len(verdicts)
				}
				select {
				case <-stop:
					return
				case <-time.After(ttl / 4):
				}
			}
		})
	}
	ended := map[string]time.Time{}
	for len(ended) < abandoned {
		for _, e := range events.next().GetEvents().GetEvents() {
			if e.GetType() == tenurev1.EventType_EVENT_TYPE_SESSION_ENDED {
				ended[e.GetSession().GetSessionId()] = time.Now()
			}
		}
	}
	<-time.After(ttl + time.Second)
	close(stop)
	wg.Wait()
	total := 0
	for _, n := range renewed {
		total += n
	}
	for i := range abandoned {
		at, ok := ended[ids[i]]
		if !ok {
			t.Errorf("session %d was abandoned and lives", i)
			continue
		}
		if at.Before(sent[i].Add(ttl)) {
			t.Errorf("session %d ended %v after its last renewal was sent, want at least %v", i, at.Sub(sent[i]), ttl)
		}
		if late := at.Sub(answered[i]) - ttl; late > time.Second {
			t.Logf("session %d ended %v after its TTL", i, late)
		}
	}
	st, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := int(st.GetSessions()), sessions-abandoned; got != want {
		t.Errorf("got %d live sessions, want %d", got, want)
	}
	entries := index() - before
	t.Logf("%d renewals, %d log entries", total, entries)
	if total < 4*sessions || entries > 100 {
		t.Errorf("got %d renewals and %d log entries, want at least %d and at most 100", total, entries, 4*sessions)
	}
}

// openMany opens sessions.
func (m *member) openMany(t *testing.T, n int, ttl time.Duration) []string {
	t.Helper()
	ids := make([]string, n)
	work := make(chan int)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := range work {
				s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{
					Name: fmt.Sprint("s", i), Ttl: durationpb.New(ttl),
				})
				if err != nil {
					t.Error(err)
					continue
				}
				ids[i] = s.GetSessionId()
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	return ids
}
