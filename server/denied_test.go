package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestADeniedRenewalLeavesTheOthersOfItsStream takes away the right to renew one session of a stream of two.
func TestADeniedRenewalLeavesTheOthersOfItsStream(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	const both = "session \"web\" write\nsession \"db\" write"
	made := m.token(t, admin, "keeper", both)
	ctx := as(t.Context(), made.GetText())
	ids := map[string]string{}
	for _, name := range []string{"web", "db"} {
		s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		ids[s.GetSessionId()] = name
	}
	keep, err := m.KeepAlive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	number := uint64(0)
	renew := func() map[string]string {
		t.Helper()
		number++
		message := &tenurev1.KeepAliveRequest{}
		for id := range ids {
			message.Renewals = append(message.Renewals, &tenurev1.SessionRenewal{SessionId: id, Number: number})
		}
		if err = keep.Send(message); err != nil {
			t.Fatal(err)
		}
		refused := map[string]string{}
		for len(refused) < len(ids) {
			answer, failed := keep.Recv()
			if failed != nil {
				t.Fatal(failed)
			}
			for _, v := range answer.GetVerdicts() {
				refused[ids[v.GetSessionId()]] = v.GetRefused().String()
			}
		}
		return refused
	}
	const renewed, denied = "ERROR_REASON_UNSPECIFIED", "ERROR_REASON_PERMISSION_DENIED"
	if got := renew(); got["web"] != renewed || got["db"] != renewed {
		t.Errorf("with both rights: got %v", got)
	}
	m.token(t, admin, "keeper", `session "web" write`)
	if got := renew(); got["web"] != renewed || got["db"] != denied {
		t.Errorf("with one right: got %v, want web renewed and db denied", got)
	}
	m.token(t, admin, "keeper", both)
	if got := renew(); got["web"] != renewed || got["db"] != renewed {
		t.Errorf("when the right came back: got %v", got)
	}
	if _, err = m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: made.GetToken().GetAccessor()}); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = keep.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("a revoked token: got %v, want UNAUTHENTICATED", err)
	}
}

// TestADeniedCallOnALineIsAnsweredAlone makes an allowed call behind one that is denied.
func TestADeniedCallOnALineIsAnsweredAlone(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	line := m.openLine(as(t.Context(), m.token(t, admin, "web", `key "a" rw`).GetText()), t)
	for number, key := range []string{"b", "a"} {
		if err := line.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{{
			Number: uint64(number + 1), Request: &tenurev1.LineCall_Put{Put: &tenurev1.PutRequest{Key: key, Content: text("v")}},
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	got := map[uint64]*tenurev1.LineAnswer{}
	for len(got) < 2 {
		answers, err := line.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers.GetAnswers() {
			got[a.GetNumber()] = a
		}
	}
	if code := codes.Code(got[1].GetStatus().GetCode()); code != codes.PermissionDenied {
		t.Errorf("got %v, want PERMISSION_DENIED", got[1])
	}
	if got[2].GetPut().GetHeader().GetRevision() == 0 {
		t.Errorf("got %v, want what was put", got[2])
	}
}
