package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// canary is in everything that the callers of these tests may not read.
const canary = "canary"

// nothingShown fails if an answer or an error has something in it that its caller may not read.
func nothingShown(t *testing.T, what string, answer proto.Message, err error) {
	t.Helper()
	if strings.Contains(fmt.Sprint(answer), canary) {
		t.Errorf("%s shows %v", what, answer)
	}
	if info := infoOf(err); strings.Contains(info.String(), canary) || err != nil && strings.Contains(err.Error(), canary) {
		t.Errorf("%s: the error shows %v, %v", what, err, info)
	}
}

// shownRig is a member that enforces rules, with a lock that is held, a waiter in its queue, and a value.
type shownRig struct {
	*member
	admin, session string
}

func newShownRig(t *testing.T) *shownRig {
	m := start(t, alone)
	r := &shownRig{member: m, admin: m.bootstrap(t, modeEnforce)}
	ctx := as(t.Context(), r.admin)
	made, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{
		Name: "holder", Metadata: map[string]string{"where": canary}, LockDelay: durationpb.New(0),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.session = made.GetSessionId()
	if _, err = m.TryAcquireLock(ctx, &tenurev1.TryAcquireLockRequest{
		Key: "k", SessionId: r.session, Value: []byte(canary), Options: &tenurev1.CallOptions{Owner: canary},
	}); err != nil {
		t.Fatal(err)
	}
	return r
}

// own makes a session for a token.
func (r *shownRig) own(ctx context.Context, t *testing.T) string {
	t.Helper()
	s, err := r.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "web-1"})
	if err != nil {
		t.Fatal(err)
	}
	return s.GetSessionId()
}

func TestARefusedLockShowsWhoHoldsIt(t *testing.T) {
	r := newShownRig(t)
	ctx := as(t.Context(), r.token(t, r.admin, "locker", `session "web-"* write`+"\n"+`key "k" lock`).GetText())
	own := r.own(ctx, t)
	tried, err := r.AcquireNow(ctx, "k", own)
	nothingShown(t, "TryAcquireLock", tried, err)
	holds := tried.GetLock().GetHolds()
	if len(holds) != 1 || holds[0].GetSessionName() != "holder" || holds[0].GetSequencer().GetSessionId() != r.session ||
		holds[0].GetSequencer().GetFencingToken() != 0 || holds[0].GetGrantTime() != nil || tried.GetHeader().GetHidden() == 0 {
		t.Errorf("got %v, want the holder's id and name, nothing else, and how much is hidden", tried)
	}
	waiting, err := r.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: "k", SessionId: own})
	if err != nil {
		t.Fatal(err)
	}
	queued, err := waiting.Recv()
	nothingShown(t, "AcquireLock", queued, err)
	if place := queued.GetQueued().GetPlace(); place.GetSessionId() != own || place.GetPlace() == 0 {
		t.Errorf("got %v, want one's own place", queued)
	}
}

func TestARefusedWriteShowsNothing(t *testing.T) {
	r := newShownRig(t)
	ctx := as(t.Context(), r.token(t, r.admin, "writer", `key "k" write`).GetText())
	_, err := r.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v"), IfRevision: new(uint64(1))})
	facts := infoOf(err).GetMetadata()
	if facts["revision"] != "" || facts["hidden"] == "" || strings.Contains(err.Error(), "revision") {
		t.Errorf("got %v, %v, want an error without the key's revision", err, facts)
	}
	_, err = r.Delete(ctx, &tenurev1.DeleteRequest{Key: "k"})
	if facts = infoOf(err).GetMetadata(); facts["holder_name"] != "" || facts["holder_session_id"] != "" || facts["holder_since_ms"] != "" {
		t.Errorf("got %v, %v, want an error without the lock's holder", err, facts)
	}
	put := &tenurev1.PutRequest{Key: "k", Content: text("v"), Options: &tenurev1.CallOptions{IdempotencyKey: []byte("0123456789abcdef")}}
	for _, what := range []string{"a put", "its repetition"} {
		done, failed := r.Put(ctx, put)
		kv := done.GetKv()
		if failed != nil || kv.GetModRevision() != done.GetHeader().GetRevision() || kv.GetCreateRevision() != 0 || kv.GetSessionId() != "" ||
			kv.GetVersion() != 0 || done.GetHeader().GetHidden() == 0 {
			t.Errorf("%s: got %v, %v, want nothing but the revision that it made", what, done, failed)
		}
	}
}

func TestAPutThatIsNotAcquiredShowsNoHolder(t *testing.T) {
	r := newShownRig(t)
	token := r.token(t, r.admin, "web", `session "web-"* write`+"\n"+`key "k" write lock`).GetText()
	own := r.own(as(t.Context(), token), t)
	put, err := r.Put(as(t.Context(), token), &tenurev1.PutRequest{Key: "k", Content: text("v"), Acquire: own})
	nothingShown(t, "Put", put, err)
	if put.GetAcquired() || len(put.GetLock().GetHolds()) != 1 {
		t.Errorf("got %v", put)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+r.at.HTTP+"/v1/kv/k?acquire="+own, strings.NewReader("v"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if data, failed := io.ReadAll(answer.Body); failed != nil || strings.Contains(string(data), canary) || strings.Contains(string(data), `"hidden":0`) {
		t.Errorf("over REST: got %s, %v", data, failed)
	}
}

func TestTransactionsAndLinesShowNoMore(t *testing.T) {
	r := newShownRig(t)
	token := r.token(t, r.admin, "web", `session "web-"* write`+"\n"+`key "k" lock`).GetText()
	own := r.own(as(t.Context(), token), t)
	try := &tenurev1.TryAcquireLockRequest{Key: "k", SessionId: own}
	done, err := r.Txn(as(t.Context(), token), &tenurev1.TxnRequest{
		Then: []*tenurev1.Op{{Kind: &tenurev1.Op_AcquireLock{AcquireLock: try}}},
	})
	nothingShown(t, "Txn", done, err)
	if infoOf(err).GetMetadata()["holder_since_ms"] != "" {
		t.Errorf("got %v, want an error that does not say since when the lock is held", infoOf(err))
	}
	line := r.openLine(as(t.Context(), token), t)
	if err = line.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{
		{Number: 1, Request: &tenurev1.LineCall_TryAcquireLock{TryAcquireLock: try}},
	}}); err != nil {
		t.Fatal(err)
	}
	answers, err := line.Recv()
	nothingShown(t, "a line", answers, err)
	if len(answers.GetAnswers()) != 1 || len(answers.GetAnswers()[0].GetTryAcquireLock().GetLock().GetHolds()) != 1 {
		t.Errorf("a line: got %v, want who holds the lock", answers)
	}
}

func TestASessionShowsNoKeysThatItsReaderMayNotSee(t *testing.T) {
	r := newShownRig(t)
	ctx := as(t.Context(), r.token(t, r.admin, "keeper", `session * read write`+"\n"+`key "k" read`).GetText())
	admin := as(t.Context(), r.admin)
	for _, key := range []string{canary + "/1", canary + "/2"} {
		if _, err := r.AcquireNow(admin, key, r.session); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: r.session})
	if err != nil || len(got.GetHolds()) != 1 || got.GetHeader().GetHidden() != 2 {
		t.Errorf("GetSession: got %v, %v, want one hold and two hidden", got, err)
	}
	attached, err := r.AttachSession(ctx, &tenurev1.AttachSessionRequest{SessionId: r.session, InstanceId: []byte("0123456789abcdef")})
	if err != nil || len(attached.GetHolds()) != 1 || attached.GetHeader().GetHidden() != 2 {
		t.Errorf("AttachSession: got %v, %v, want one hold and two hidden", attached, err)
	}
	watch, err := tenurev1.NewWatchServiceClient(r.conn).Watch(ctx, &tenurev1.WatchRequest{SessionIds: []string{r.session}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err = r.DestroySession(admin, &tenurev1.DestroySessionRequest{SessionId: r.session, Force: true, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	ended := nextEnd(t, watch)
	if ended.GetBy() != "" || len(ended.GetHeldKeys()) != 0 || ended.GetReason() != "test" {
		t.Errorf("a watch: got %v, want neither an address nor keys", ended)
	}
	got, err = r.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: r.session})
	if end := got.GetSession().GetEnd(); err != nil || end.GetBy() != "" || len(end.GetHeldKeys()) != 1 || got.GetHeader().GetHidden() != 3 {
		t.Errorf("GetSession: got %v, %v, want no address, and the key that may be read", got, err)
	}
	got, err = r.GetSession(admin, &tenurev1.GetSessionRequest{SessionId: r.session})
	if end := got.GetSession().GetEnd(); err != nil || end.GetBy() == "" || len(end.GetHeldKeys()) != 3 || got.GetHeader().GetHidden() != 0 {
		t.Errorf("GetSession by an administrator: got %v, %v, want everything", got, err)
	}
}

// nextEnd returns the next end of a session that a watch shows.
func nextEnd(t *testing.T, watch tenurev1.WatchService_WatchClient) *tenurev1.SessionEnd {
	t.Helper()
	for {
		m, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.GetEvents().GetEvents() {
			if end := e.GetSession().GetEnd(); end != nil {
				return end
			}
		}
	}
}

func TestALockShowsOfItsSessionsNoMoreThanTheirReadersSee(t *testing.T) {
	r := newShownRig(t)
	ctx := as(t.Context(), r.token(t, r.admin, "reader", `key "k" ro`).GetText())
	got, err := r.GetLock(ctx, &tenurev1.GetLockRequest{Key: "k"})
	if err != nil || len(got.GetSessions()) != 1 {
		t.Fatal(got, err)
	}
	if s := got.GetSessions()[0]; s.GetName() != "holder" || len(s.GetMetadata()) != 0 || s.GetPeerAddress() != "" || s.GetTtl() != nil {
		t.Errorf("got %v, want the session's id and name", s)
	}
	own := as(t.Context(), r.token(t, r.admin, "owner", `key "k" rw`+"\n"+`session own write`+"\n"+`session "mine" write`).GetText())
	made, err := r.CreateSession(own, &tenurev1.CreateSessionRequest{Name: "mine", Metadata: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.ReleaseLock(as(t.Context(), r.admin), &tenurev1.ReleaseLockRequest{
		Key: "k", SessionId: r.session, Options: &tenurev1.CallOptions{Owner: canary},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err = r.AcquireNow(own, "k", made.GetSessionId()); err != nil {
		t.Fatal(err)
	}
	r.token(t, r.admin, "owner", `key "k" rw`+"\n"+`session own write`)
	got, err = r.GetLock(own, &tenurev1.GetLockRequest{Key: "k"})
	if err != nil || len(got.GetSessions()) != 1 || len(got.GetSessions()[0].GetMetadata()) != 1 {
		t.Errorf("got %v, %v, want all of a session that the caller made", got, err)
	}
}

func TestHintsNameNoKeysThatMayNotBeSeen(t *testing.T) {
	r := newShownRig(t)
	ctx := as(t.Context(), r.token(t, r.admin, "keeper", `session * write`+"\n"+`key "seen" lock`).GetText())
	keep, err := r.KeepAlive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	renew := &tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{SessionId: r.session, Number: 1}}}
	if err = keep.Send(renew); err != nil {
		t.Fatal(err)
	}
	if _, err = keep.Recv(); err != nil {
		t.Fatal(err)
	}
	admin := as(t.Context(), r.admin)
	other := r.own(admin, t)
	for _, key := range []string{canary, "seen"} {
		if _, err = r.AcquireNow(admin, key, r.session); err != nil {
			t.Fatal(err)
		}
		waiting, failed := r.AcquireLock(admin, &tenurev1.AcquireLockRequest{Key: key, SessionId: other})
		if failed != nil {
			t.Fatal(failed)
		}
		if _, err = waiting.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	for {
		m, failed := keep.Recv()
		nothingShown(t, "a hint", m, failed)
		if failed != nil {
			t.Fatal(failed)
		}
		for _, h := range m.GetHints() {
			if h.GetContended().GetSequencer().GetKey() == "seen" {
				return
			}
		}
	}
}

// TestIdempotencyKeysAreEachCallersOwn puts under one idempotency key with two tokens, and repeats one of the puts.
func TestIdempotencyKeysAreEachCallersOwn(t *testing.T) {
	r := newShownRig(t)
	const rules = `key "k" rw`
	one, other := r.token(t, r.admin, "one", rules).GetText(), r.token(t, r.admin, "other", rules).GetText()
	put := &tenurev1.PutRequest{Key: "k", Content: text("v"), Options: &tenurev1.CallOptions{IdempotencyKey: []byte("0123456789abcdef")}}
	var revisions []uint64
	for _, token := range []string{one, one, other} {
		done, err := r.Put(as(t.Context(), token), put)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, done.GetHeader().GetRevision())
	}
	if revisions[0] != revisions[1] || revisions[1] == revisions[2] {
		t.Errorf("revisions %v, want the repetition to have that of the first put, and another caller's put its own", revisions)
	}
}
