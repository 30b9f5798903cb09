package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// lineCredit is enough for any test.
const lineCredit = 1 << 20

// lineWait returns a call that waits for a lock.
func lineWait(number uint64, r *tenurev1.AcquireLockRequest) *tenurev1.LineCall {
	return &tenurev1.LineCall{Number: number, CreditMessages: lineCredit, CreditBytes: lineCredit, Request: &tenurev1.LineCall_AcquireLock{AcquireLock: r}}
}

// lineWatch returns a call that watches.
func lineWatch(number uint64, r *tenurev1.WatchRequest) *tenurev1.LineCall {
	return &tenurev1.LineCall{Number: number, CreditMessages: lineCredit, CreditBytes: lineCredit, Request: &tenurev1.LineCall_Watch{Watch: r}}
}

// lineReader sorts what comes on a line by call. It keeps what nobody has asked for yet.
type lineReader struct {
	t       *testing.T
	line    tenurev1.LineService_LineClient
	parts   map[uint64][]*tenurev1.LinePart
	answers map[uint64]*tenurev1.LineAnswer
	sent    int // parts on the line
}

func (m *member) readLine(ctx context.Context, t *testing.T, calls ...*tenurev1.LineCall) *lineReader {
	t.Helper()
	r := &lineReader{t: t, line: m.openLine(ctx, t), parts: map[uint64][]*tenurev1.LinePart{}, answers: map[uint64]*tenurev1.LineAnswer{}}
	r.send(&tenurev1.LineRequest{Calls: calls})
	return r
}

func (r *lineReader) send(m *tenurev1.LineRequest) {
	r.t.Helper()
	if err := r.line.Send(m); err != nil {
		r.t.Fatal(err)
	}
}

// more reads one message.
func (r *lineReader) more() error {
	m, err := r.line.Recv()
	if err != nil {
		return err
	}
	for _, p := range m.GetParts() {
		r.sent++
		for _, n := range p.GetNumbers() {
			r.parts[n] = append(r.parts[n], p)
		}
	}
	for _, a := range m.GetAnswers() {
		r.answers[a.GetNumber()] = a
	}
	return nil
}

// next returns the next part of a call.
func (r *lineReader) next(number uint64) *tenurev1.LinePart {
	r.t.Helper()
	for len(r.parts[number]) == 0 {
		if r.answers[number] != nil {
			r.t.Fatalf("%d ended with %v, want a part", number, r.answers[number])
		}
		if err := r.more(); err != nil {
			r.t.Fatal(err)
		}
	}
	p := r.parts[number][0]
	r.parts[number] = r.parts[number][1:]
	return p
}

// end returns the answer of a call.
func (r *lineReader) end(number uint64) *tenurev1.LineAnswer {
	r.t.Helper()
	for r.answers[number] == nil {
		if err := r.more(); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.answers[number]
}

func TestWaitsOnALine(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := start(t, func(c *server.Config) { c.Registry = registry })
	holder, waiter := m.openSession(t, "holder"), m.openSession(t, "waiter")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: holder}).ended()
	place := func(owner string, leaves bool) *tenurev1.AcquireLockRequest {
		return &tenurev1.AcquireLockRequest{
			Key: "k", SessionId: waiter, Options: &tenurev1.CallOptions{Owner: owner}, LeaveOnDisconnect: &leaves,
		}
	}
	timed := lineWait(5, place("timed", false))
	timed.GetAcquireLock().Wait = durationpb.New(1)
	r := m.readLine(t.Context(), t, lineWait(1, place("stays", false)))
	for n := range uint64(3) {
		if p := r.next(n + 1); p.GetAcquireLock().GetQueued() == nil {
			t.Errorf("%d: got %v, want it queued", n+1, p)
		}
		if n == 0 { // The first has the first place. Calls of one message come in any order.
			r.send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{lineWait(2, place("leaves", true)), lineWait(3, place("kept", false)), timed}})
		}
	}
	for r.next(5).GetAcquireLock().GetRejected() == nil {
	}
	if a := r.end(5); a.GetStatus() != nil {
		t.Errorf("its time is over: got %v, want no error", a)
	}
	// Each is canceled by itself, and gives up what it said it would.
	r.send(&tenurev1.LineRequest{Cancels: []uint64{2, 3}})
	for n := range uint64(2) {
		if a := r.end(n + 2); codes.Code(a.GetStatus().GetCode()) != codes.Canceled {
			t.Errorf("%d: got %v, want CANCELLED", n+2, a)
		}
	}
	m.awaitWaiters(t, "k", 2)
	// A line that breaks gives up no place of a call that did not say so.
	ctx, gone := context.WithCancel(t.Context())
	other := m.readLine(ctx, t, lineWait(1, place("gone", true)), lineWait(2, place("stays too", false)))
	other.next(1)
	other.next(2)
	m.awaitWaiters(t, "k", 4)
	gone()
	m.awaitWaiters(t, "k", 3)
	m.release(t, "k", holder)
	for p := r.next(1); p.GetAcquireLock().GetGranted() == nil; p = r.next(1) {
		if p.GetAcquireLock().GetMoved() == nil {
			t.Fatalf("got %v, want the lock", p)
		}
	}
	if a := r.end(1); a.GetStatus() != nil {
		t.Errorf("got %v, want no error", a)
	}
	if err := r.line.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := r.more(); !errors.Is(err, io.EOF) {
		t.Errorf("the line ended with %v", err)
	}
	awaitGauge(t, registry, "tenure_watch_watchers", 0)
}

func TestCandidatesAndObserversOnALine(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "candidate")
	r := m.readLine(t.Context(), t, &tenurev1.LineCall{Number: 1, CreditMessages: lineCredit, CreditBytes: lineCredit, Request: &tenurev1.LineCall_Observe{
		Observe: &tenurev1.ObserveRequest{Key: "e"},
	}})
	if p := r.next(1).GetObserve(); p == nil || p.GetLeader() != nil {
		t.Errorf("got %v, want no leader", p)
	}
	r.send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{{Number: 2, Request: &tenurev1.LineCall_Campaign{
		Campaign: &tenurev1.CampaignRequest{Key: "e", SessionId: session, Content: &tenurev1.CampaignRequest_Text{Text: "here"}},
	}}}})
	if p := r.next(2).GetCampaign(); p.GetElected() == nil {
		t.Errorf("got %v, want it elected", p)
	}
	r.end(2)
	if p := r.next(1).GetObserve(); string(p.GetLeader().GetValue()) != "here" {
		t.Errorf("got %v, want the leader", p)
	}
}

// TestWatchesOnALine has many watches of one key, one of which gets no credit.
func TestWatchesOnALine(t *testing.T) {
	const watchers = 200
	m := start(t)
	var calls []*tenurev1.LineCall
	for n := range uint64(watchers) {
		calls = append(calls, lineWatch(n+1, &tenurev1.WatchRequest{Keys: []string{"k"}}))
	}
	still := lineWatch(watchers+1, &tenurev1.WatchRequest{Keys: []string{"k"}})
	still.CreditMessages = 1
	calls = append(calls, still, lineWatch(watchers+2, &tenurev1.WatchRequest{Keys: []string{"k"}, ResumeToken: "none"}))
	r := m.readLine(t.Context(), t, calls...)
	for n := range uint64(watchers + 1) {
		if p := r.next(n + 1).GetWatch(); p.GetStarted() == nil {
			t.Fatalf("got %v, want that it has started", p)
		}
	}
	if a := r.end(watchers + 2); codes.Code(a.GetStatus().GetCode()) != codes.InvalidArgument || len(a.GetStatus().GetDetails()) == 0 {
		t.Errorf("got %v, want that its token is invalid", a)
	}
	before := r.sent
	const puts = 20
	last := uint64(0)
	for n := range puts {
		last = m.put(t, "k", fmt.Sprint(n)).GetHeader().GetRevision()
		for w := range uint64(watchers) { // All have it, before the next: how many join does not depend on who is late.
			events := r.next(w + 1).GetWatch().GetEvents().GetEvents()
			if len(events) != 1 || events[0].GetRevision() != last || string(events[0].GetKv().GetValue()) != fmt.Sprint(n) {
				t.Fatalf("%d: got %v, want put %d", w+1, events, n)
			}
		}
	}
	if sent := r.sent - before; sent > puts*watchers/2 {
		t.Errorf("%d parts were sent for %d puts to %d watches", sent, puts, watchers)
	}
	if len(r.parts[watchers+1]) > 0 {
		t.Errorf("%v was sent to a watch without credit", r.parts[watchers+1])
	}
	r.send(&tenurev1.LineRequest{Credits: []*tenurev1.LineCredit{{Number: watchers + 1, Messages: puts}}})
	for seen := uint64(0); seen < last; {
		events := r.next(watchers + 1).GetWatch().GetEvents().GetEvents()
		if len(events) == 0 || events[0].GetRevision() <= seen {
			t.Fatalf("got %v after revision %d", events, seen)
		}
		seen = events[len(events)-1].GetRevision()
	}
}

// TestAWatchOnALineEndsWithItsRights takes the right to read one key away from a caller with a watch that gets no credit, and another one.
func TestAWatchOnALineEndsWithItsRights(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", `key "a" read watch`)
	other := m.token(t, admin, "other", `key "a" read watch`)
	r := m.readLine(as(t.Context(), web.GetText()), t)
	blocked, own, stranger := lineWatch(1, &tenurev1.WatchRequest{Keys: []string{"a"}}), lineWatch(2, &tenurev1.WatchRequest{Keys: []string{"a"}}), lineWatch(3, &tenurev1.WatchRequest{Keys: []string{"b"}})
	blocked.CreditMessages = 0
	lasting := lineWatch(4, &tenurev1.WatchRequest{Keys: []string{"a"}})
	lasting.Credential = 1
	r.send(&tenurev1.LineRequest{
		Credentials: []*tenurev1.LineCredential{{Number: 1, Token: other.GetText()}}, Calls: []*tenurev1.LineCall{blocked, own, stranger, lasting},
	})
	if a := r.end(3); codes.Code(a.GetStatus().GetCode()) != codes.PermissionDenied {
		t.Errorf("got %v, want PERMISSION_DENIED", a)
	}
	r.next(2)
	r.next(4)
	if _, err := m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: web.GetToken().GetAccessor()}); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(2) {
		a := r.end(n + 1)
		if n == 0 && codes.Code(a.GetStatus().GetCode()) == codes.Unavailable {
			// Nothing tells that a watch without credit is open: it may have been decided about when the right was taken away. It is made again.
			r.send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{lineWatch(5, &tenurev1.WatchRequest{Keys: []string{"a"}})}})
			a = r.end(5)
		}
		if codes.Code(a.GetStatus().GetCode()) != codes.Unauthenticated {
			t.Errorf("%d: got %v, want UNAUTHENTICATED", n+1, a)
		}
	}
	if _, err := m.Put(as(t.Context(), admin), &tenurev1.PutRequest{Key: "a", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	for len(r.next(4).GetWatch().GetEvents().GetEvents()) == 0 {
	}
}

// TestAStoppingMemberEndsWaitsOnLines stops a member that has a watch without credit, and a wait.
func TestAStoppingMemberEndsWaitsOnLines(t *testing.T) {
	m := start(t)
	holder := m.openSession(t, "holder")
	m.acquire(t, &tenurev1.AcquireLockRequest{Key: "k", SessionId: holder}).ended()
	still := lineWatch(1, &tenurev1.WatchRequest{Keys: []string{"k"}})
	still.CreditMessages = 0
	r := m.readLine(t.Context(), t, still,
		lineWait(2, &tenurev1.AcquireLockRequest{Key: "k", SessionId: m.openSession(t, "waiter")}))
	r.next(2)
	m.stop()
	for n := range uint64(2) {
		if a := r.end(n + 1); codes.Code(a.GetStatus().GetCode()) != codes.Unavailable {
			t.Errorf("%d: got %v, want UNAVAILABLE", n+1, a)
		}
	}
	if err := m.wait(); err != nil {
		t.Error(err)
	}
}
