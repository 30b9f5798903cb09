package server_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// keeping is one KeepAlive stream under test.
type keeping struct {
	t      *testing.T
	stream tenurev1.SessionService_KeepAliveClient
	hinted []*tenurev1.SessionHint // hints that came, and nobody took
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
	var r *tenurev1.RenewSessionResponse
	waitUntil(t, func() bool { // What only the leader knows is left out of an answer that would have to wait for it.
		r, err = m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: s.GetSessionId()})
		return err != nil || r.GetSession().GetTtlLeft() != nil
	})
	if err != nil {
		t.Fatal(err)
	}
	left := r.GetSession().GetTtlLeft().AsDuration()
	if r.GetSession().GetLastRenewalTime() == nil || left < 30*time.Second || left > 60*time.Second {
		t.Errorf("got %v left, renewed at %v", left, r.GetSession().GetLastRenewalTime())
	}
	_, err = m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: "00000000-0000-4000-8000-000000000000"})
	wantError(t, err, codes.NotFound, "SESSION_NOT_FOUND")
	_, err = m.RenewSession(t.Context(), &tenurev1.RenewSessionRequest{SessionId: "x"})
	wantError(t, err, codes.InvalidArgument, "SESSION_ID_INVALID")
}

// TestLongSessionIDsAreNotEchoed renews with an id of 1.4 MB.
func TestLongSessionIDsAreNotEchoed(t *testing.T) {
	k := start(t).keepAlive(t)
	v := k.renew(&tenurev1.SessionRenewal{Number: 7, SessionId: strings.Repeat("s", 1_400_000)})[7]
	wantVerdict(t, v, tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID)
	if n := len(v.GetSessionId()); n > 256 {
		t.Errorf("%d bytes came back, want at most 256", n)
	}
}
