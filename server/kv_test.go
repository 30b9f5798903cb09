package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestLoserOfALockIsToldWhoHolds(t *testing.T) {
	m := start(t)
	alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
	before := time.Now()
	won, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("a"), Flags: 7, Acquire: alice})
	if err != nil {
		t.Fatal(err)
	}
	proof := won.GetSequencer()
	if !won.GetAcquired() || won.GetKv().GetSessionId() != alice || proof.GetLockIndex() != 1 || proof.GetSessionId() != alice ||
		proof.GetFencingToken() != won.GetHeader().GetRevision() || proof.GetHistoryId() != won.GetHeader().GetHistoryId() {
		t.Fatalf("got %v, want that alice acquired with a proof", won)
	}
	again, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("b"), Acquire: alice})
	if err != nil || !again.GetAcquired() || again.GetSequencer().GetFencingToken() != proof.GetFencingToken() {
		t.Errorf("acquiring again: %v, %v; want the same hold", again, err)
	}
	lost, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("c"), Acquire: bob})
	if err != nil {
		t.Fatal(err)
	}
	holds := lost.GetLock().GetHolds()
	if lost.GetAcquired() || lost.GetKv() != nil || lost.GetSequencer() != nil || len(holds) != 1 {
		t.Fatalf("got %v, want that bob did not acquire, and the lock", lost)
	}
	if h := holds[0]; h.GetSessionName() != "alice" || h.GetSequencer().GetSessionId() != alice ||
		h.GetGrantTime().AsTime().Before(before.Add(-time.Second)) || h.GetGrantTime().AsTime().After(time.Now().Add(time.Second)) {
		t.Errorf("the loser is told %v, want alice, since when", h)
	}
	kv, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	if err != nil || string(kv.GetKv().GetValue()) != "b" {
		t.Errorf("the key is %v (%v), want that the loser wrote nothing", kv, err)
	}
	notHis, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Release: bob})
	if err != nil || notHis.GetReleased() || notHis.GetLock().GetHolders() != 1 {
		t.Errorf("bob's release: %v, %v; want released false and the lock", notHis, err)
	}
	released, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("d"), Release: alice})
	if err != nil || !released.GetReleased() || released.GetKv().GetSessionId() != "" || released.GetKv().GetLockIndex() != 1 {
		t.Errorf("alice's release: %v, %v; want released true and lock_index 1", released, err)
	}
	next, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Acquire: bob})
	if err != nil || !next.GetAcquired() || next.GetSequencer().GetLockIndex() != 2 ||
		next.GetSequencer().GetFencingToken() <= proof.GetFencingToken() {
		t.Errorf("bob's second try: %v, %v; want lock_index 2 and a larger token", next, err)
	}
}

func TestLockDelayIsToldAndEnds(t *testing.T) {
	m := start(t)
	alice, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Name: "alice", LockDelay: seconds(60)})
	if err != nil {
		t.Fatal(err)
	}
	bob := m.openSession(t, "bob")
	for _, key := range []string{"slow", "quick"} {
		if _, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Acquire: alice.GetSessionId()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: "quick", Release: alice.GetSessionId()}); err != nil {
		t.Fatal(err)
	}
	if _, err = m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: alice.GetSessionId()}); err != nil {
		t.Fatal(err)
	}
	var lost *tenurev1.PutResponse
	waitUntil(t, func() bool { // What only the leader knows is left out of an answer that would have to wait for it.
		lost, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: "slow", Acquire: bob})
		delayed := lost.GetLock().GetDelayed()
		return err != nil || len(delayed) == 0 || delayed[0].GetDelayLeft().AsDuration() > 0
	})
	if err != nil {
		t.Fatal(err)
	}
	delayed := lost.GetLock().GetDelayed()
	if lost.GetAcquired() || lost.GetLock().GetHolders() != 0 || len(delayed) != 1 {
		t.Fatalf("got %v, want a delayed hold", lost)
	}
	if left := delayed[0].GetDelayLeft().AsDuration(); left <= 0 || left > time.Minute || delayed[0].GetLostTime() == nil {
		t.Errorf("the loser is told %v, want how much of a minute is left", delayed[0])
	}
	won, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "quick", Acquire: bob})
	if err != nil || !won.GetAcquired() {
		t.Errorf("after a release: %v, %v; want no delay", won, err)
	}
	lock, err := m.GetLock(t.Context(), &tenurev1.GetLockRequest{Key: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	if l := lock.GetLock(); len(l.GetPast()) != 1 || l.GetPast()[0].GetCause() != tenurev1.HoldEndCause_HOLD_END_CAUSE_SESSION_DESTROYED ||
		l.GetPast()[0].GetSessionName() != "alice" || len(lock.GetSessions()) != 1 || lock.GetSessions()[0].GetEnd() == nil {
		t.Errorf("GetLock shows %v, want why alice holds no more", lock)
	}
}

func TestForceReleasesAndIsLogged(t *testing.T) {
	m := start(t)
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{WantSecret: true})
	if err != nil {
		t.Fatal(err)
	}
	id := s.GetSessionId()
	if _, err = m.Put(t.Context(), &tenurev1.PutRequest{
		Key: "k", Acquire: id, Options: &tenurev1.CallOptions{SessionSecret: s.GetSecret(), Epoch: 1},
	}); err != nil {
		t.Fatal(err)
	}
	released, err := m.Put(t.Context(), &tenurev1.PutRequest{
		Key: "k", Release: id, Options: &tenurev1.CallOptions{Force: true, Reason: "deadlock"},
	})
	if err != nil || !released.GetReleased() {
		t.Fatalf("got %v, %v; want released", released, err)
	}
	lines := m.logs.FilterMessage("lock released by force").All()
	if len(lines) != 1 || lines[0].ContextMap()["reason"] != "deadlock" {
		t.Errorf("the log has %v, want one line with the reason", lines)
	}
}

// TestForceInATransactionIsLogged releases holds by force in transactions: one line for each operation that did, and none for others.
func TestForceInATransactionIsLogged(t *testing.T) {
	m := start(t)
	force := &tenurev1.CallOptions{Force: true, Reason: "deadlock"}
	var ids []string
	for _, key := range []string{"a", "b", "c"} { // The last stays held.
		id := m.openSession(t, "s")
		ids = append(ids, id)
		if got, err := m.AcquireNow(t.Context(), key, id); err != nil || !got.GetAcquired() {
			t.Fatal(got, err)
		}
	}
	release := func(key, id string) *tenurev1.Op {
		return &tenurev1.Op{Kind: &tenurev1.Op_ReleaseLock{ReleaseLock: &tenurev1.ReleaseLockRequest{Key: key, SessionId: id, Options: force}}}
	}
	got, err := m.Txn(t.Context(), &tenurev1.TxnRequest{
		Then: []*tenurev1.Op{
			release("a", ids[0]),
			{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "b", Release: ids[1], Options: force}}},
		},
		Otherwise: []*tenurev1.Op{release("c", ids[2])},
	})
	if err != nil || !got.GetSucceeded() {
		t.Fatal(got, err)
	}
	lines := m.logs.FilterMessage("lock released by force").All()
	if len(lines) != 2 {
		t.Fatalf("the log has %v, want two lines", lines)
	}
	for i, line := range lines {
		if facts := line.ContextMap(); facts["reason"] != "deadlock" || facts["session_id"] != ids[i] {
			t.Errorf("line %d has %v, want the reason and session %s", i, facts, ids[i])
		}
	}
}

func TestPutIsRefused(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	zero := uint64(0)
	tests := map[string]struct {
		request *tenurev1.PutRequest
		code    codes.Code
		reason  string
	}{
		"a revision with acquire":      {&tenurev1.PutRequest{Key: "k", Acquire: id, IfRevision: &zero}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a revision with release":      {&tenurev1.PutRequest{Key: "k", Release: id, IfRevision: &zero}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"an owner":                     {&tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{Owner: "o"}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"force without release":        {&tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{Force: true, Reason: "r"}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a reason without force":       {&tenurev1.PutRequest{Key: "k", Release: id, Options: &tenurev1.CallOptions{Reason: "r"}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a reason too long":            {&tenurev1.PutRequest{Key: "k", Release: id, Options: &tenurev1.CallOptions{Force: true, Reason: strings.Repeat("r", 1025)}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"too many guards":              {&tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{Guards: make([]*tenurev1.Guard, 17)}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a prefix too long for digits": {&tenurev1.PutRequest{Key: strings.Repeat("k", 1002), Sequential: true}, codes.InvalidArgument, "KEY_TOO_LONG"},
		"a key and an id at once": {&tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{
			IdempotencyKey: make([]byte, 16), RequestId: &tenurev1.RequestID{SessionId: id, Sequence: 1},
		}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := m.Put(t.Context(), tc.request)
			wantError(t, err, tc.code, tc.reason)
		})
	}
	if _, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"}); err == nil {
		t.Error("a refused put wrote the key")
	}
}

func TestCompareTellsTheRevision(t *testing.T) {
	m := start(t)
	zero := uint64(0)
	first, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("1"), IfRevision: &zero})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("2"), IfRevision: &zero})
	wantError(t, err, codes.FailedPrecondition, "COMPARE_FAILED")
	if got := infoOf(err).GetMetadata()["revision"]; got != fmt.Sprint(first.GetKv().GetModRevision()) {
		t.Errorf("the error tells revision %q, want %d", got, first.GetKv().GetModRevision())
	}
	at := first.GetKv().GetModRevision()
	second, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("2"), IfRevision: &at})
	if err != nil || second.GetKv().GetVersion() != 2 || second.GetKv().GetCreateRevision() != at {
		t.Errorf("got %v, %v; want version 2", second, err)
	}
	_, err = m.Delete(t.Context(), &tenurev1.DeleteRequest{Key: "k", IfRevision: &at})
	wantError(t, err, codes.FailedPrecondition, "COMPARE_FAILED")
	gone, err := m.Delete(t.Context(), &tenurev1.DeleteRequest{Key: "k"})
	if err != nil || !gone.GetDeleted() {
		t.Errorf("got %v, %v; want deleted", gone, err)
	}
	gone, err = m.Delete(t.Context(), &tenurev1.DeleteRequest{Key: "k"})
	if err != nil || gone.GetDeleted() {
		t.Errorf("got %v, %v; want that a missing key is an answer", gone, err)
	}
}

func TestKeysAreListedInPages(t *testing.T) {
	m := start(t)
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("p/%02d", i)
		want = append(want, key)
		if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Content: text("v")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "q"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	request := &tenurev1.ListRequest{Prefix: "p/", PageSize: 10, KeysOnly: true}
	for {
		page, err := m.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range page.GetKvs() {
			got = append(got, kv.GetKey())
			if len(kv.GetValue()) != 0 {
				t.Errorf("%s came with its value", kv.GetKey())
			}
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			break
		}
		other := &tenurev1.ListRequest{Prefix: "q", PageToken: request.GetPageToken()}
		_, err = m.List(t.Context(), other)
		wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
		damaged := []byte(request.GetPageToken())
		damaged[len(damaged)/2] ^= 1
		_, err = m.List(t.Context(), &tenurev1.ListRequest{Prefix: "p/", PageToken: string(damaged)})
		wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	gone, err := m.DeletePrefix(t.Context(), &tenurev1.DeletePrefixRequest{Prefix: "p/"})
	if err != nil || gone.GetDeleted() != 25 {
		t.Errorf("got %v, %v; want 25 deleted", gone, err)
	}
}

func TestPagesOfLargeValuesFitAnAnswer(t *testing.T) {
	m := start(t)
	value := &tenurev1.PutRequest_Value{Value: make([]byte, 400<<10)}
	for i := range 8 {
		if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: fmt.Sprint(i), Content: value}); err != nil {
			t.Fatal(err)
		}
	}
	keys, request := 0, &tenurev1.ListRequest{}
	for {
		page, err := m.List(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for _, kv := range page.GetKvs() {
			bytes += len(kv.GetValue())
		}
		if keys += len(page.GetKvs()); bytes > 1536<<10 {
			t.Errorf("a page has %d bytes of values", bytes)
		}
		if request.PageToken = page.GetNextPageToken(); request.GetPageToken() == "" {
			break
		}
	}
	if keys != 8 {
		t.Errorf("got %d keys, want 8", keys)
	}
}

func TestReadsAreAsFreshAsAsked(t *testing.T) {
	m := start(t)
	put, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	at := put.GetHeader()
	for _, stale := range []bool{false, true} {
		var got *tenurev1.GetResponse
		got, err = m.Get(t.Context(), &tenurev1.GetRequest{Key: "k", Read: &tenurev1.ReadOptions{
			Stale: stale, MinRevision: at.GetRevision(), HistoryId: at.GetHistoryId(),
		}})
		if err != nil || got.GetHeader().GetRevision() < at.GetRevision() {
			t.Errorf("stale %v: %v, %v; want revision %d", stale, got, err, at.GetRevision())
		}
	}
	_, err = m.Get(t.Context(), &tenurev1.GetRequest{Key: "k", Read: &tenurev1.ReadOptions{MinRevision: at.GetRevision() + 1}})
	wantError(t, err, codes.OutOfRange, "REVISION_FUTURE")
	answers := make(chan error, 1)
	go func() {
		_, failed := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k", Read: &tenurev1.ReadOptions{Stale: true, MinRevision: at.GetRevision() + 1}})
		answers <- failed
	}()
	if _, err = m.Put(t.Context(), &tenurev1.PutRequest{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if err = <-answers; err != nil {
		t.Errorf("a stale read that waits: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = m.Get(ctx, &tenurev1.GetRequest{Key: "k", Read: &tenurev1.ReadOptions{Stale: true, MinRevision: 1000}})
	if code := codes.DeadlineExceeded; err == nil || infoOf(err).GetReason() != "DEADLINE_EXCEEDED" && !strings.Contains(err.Error(), code.String()) {
		t.Errorf("a stale read of a revision that never comes: %v, want %v", err, code)
	}
}

func TestLocksAreListed(t *testing.T) {
	m := start(t)
	alice, bob := m.openSession(t, "alice"), m.openSession(t, "bob")
	for key, id := range map[string]string{"l/1": alice, "l/2": alice, "l/3": bob, "m": alice} {
		if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Acquire: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "l/2", Release: alice}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		request *tenurev1.ListLocksRequest
		want    string
	}{
		"those in use":        {&tenurev1.ListLocksRequest{}, "l/1 l/3 m"},
		"under a prefix":      {&tenurev1.ListLocksRequest{Prefix: "l/"}, "l/1 l/3"},
		"of a session":        {&tenurev1.ListLocksRequest{SessionId: alice}, "l/1 m"},
		"of a name":           {&tenurev1.ListLocksRequest{HeldBy: "bo"}, "l/3"},
		"with waiters":        {&tenurev1.ListLocksRequest{Waiting: true}, ""},
		"held for an hour":    {&tenurev1.ListLocksRequest{OlderThan: seconds(3600)}, ""},
		"of a session, paged": {&tenurev1.ListLocksRequest{SessionId: alice, PageSize: 1}, "l/1 m"},
		"those in use, paged": {&tenurev1.ListLocksRequest{PageSize: 1}, "l/1 l/3 m"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for {
				page, err := m.ListLocks(t.Context(), tc.request)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range page.GetLocks() {
					got = append(got, l.GetKey())
				}
				if tc.request.PageToken = page.GetNextPageToken(); tc.request.GetPageToken() == "" {
					break
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}
