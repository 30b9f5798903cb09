package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// watching is one watch under test.
type watching struct {
	t      *testing.T
	stream interface {
		Recv() (*tenurev1.WatchResponse, error)
	}
	cancel context.CancelFunc
	token  string
}

// watch opens a watch and reads its first message.
func (m *member) watch(t *testing.T, r *tenurev1.WatchRequest) *watching {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	w := &watching{t: t, stream: stream, cancel: cancel}
	if first := w.next(); first.GetStarted() == nil {
		t.Fatalf("first message: got %v, want started", first)
	}
	return w
}

func (w *watching) next() *tenurev1.WatchResponse {
	w.t.Helper()
	r, err := w.stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	w.token = r.GetResumeToken()
	return r
}

// events reads messages until there are n events.
func (w *watching) events(n int) []*tenurev1.Event {
	w.t.Helper()
	var all []*tenurev1.Event
	for len(all) < n {
		all = append(all, w.next().GetEvents().GetEvents()...)
	}
	if len(all) != n {
		w.t.Fatalf("got %d events, want %d", len(all), n)
	}
	return all
}

// watchError returns how a watch ends.
func (m *member) watchError(t *testing.T, r *tenurev1.WatchRequest) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, r)
	if err != nil {
		return err
	}
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

func (m *member) put(t *testing.T, key, value string) *tenurev1.PutResponse {
	t.Helper()
	r, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: key, Content: text(value)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// kinds returns types and keys of events, for comparison.
func kinds(events []*tenurev1.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_")+" "+e.GetKey())
	}
	return strings.Join(out, ", ")
}

func TestWatchFromNowSeesWhatComesAfter(t *testing.T) {
	m := start(t)
	m.put(t, "a", "before")
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"a"}, Previous: true})
	m.put(t, "b", "unrelated")
	put := m.put(t, "a", "after")
	got := w.events(1)[0]
	if got.GetRevision() != put.GetHeader().GetRevision() || string(got.GetKv().GetValue()) != "after" ||
		string(got.GetPrevious().GetValue()) != "before" || got.GetKv().GetVersion() != 2 {
		t.Errorf("got %v, want the second put of a with its previous value", got)
	}
}

func TestWatchTellsOfSessionsAndLocks(t *testing.T) {
	m := start(t)
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"l"}, Locks: []string{"l"}, AllSessions: true})
	id := m.openSession(t, "alice")
	if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "l", Content: text("v"), Acquire: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.DestroySession(t.Context(), &tenurev1.DestroySessionRequest{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	var got []*tenurev1.Event
	for len(got) == 0 || got[len(got)-1].GetType() != tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_BEGUN && len(got) < 7 {
		got = append(got, w.next().GetEvents().GetEvents()...)
	}
	seen := kinds(got)
	for _, want := range []string{"SESSION_BEGUN ", "PUT l", "LOCK_GRANTED l", "SESSION_ENDED ", "LOCK_LOST l", "LOCK_DELAY_BEGUN l", "HOLDER_LOST l"} {
		if !strings.Contains(seen, want) {
			t.Errorf("got %s; want %q among them", seen, want)
		}
	}
	for _, e := range got {
		if e.GetSession() != nil && e.GetSession().GetSessionId() != id {
			t.Errorf("got session %q, want %q", e.GetSession().GetSessionId(), id)
		}
		if e.GetType() == tenurev1.EventType_EVENT_TYPE_LOCK_GRANTED &&
			(e.GetHold().GetSequencer().GetFencingToken() != e.GetRevision() || e.GetHold().GetSessionName() != "alice") {
			t.Errorf("got hold %v, want alice's with token %d", e.GetHold(), e.GetRevision())
		}
	}
}

func TestWatchAfterARevisionAndByToken(t *testing.T) {
	m := start(t)
	first := m.put(t, "p/1", "v")
	for i := 2; i <= 20; i++ {
		m.put(t, fmt.Sprint("p/", i), "v")
	}
	request := &tenurev1.WatchRequest{Prefixes: []string{"p/"}, AfterRevision: first.GetHeader().GetRevision()}
	w := m.watch(t, request)
	if got := w.events(19); got[0].GetKey() != "p/2" || got[18].GetKey() != "p/20" {
		t.Errorf("got %s, want p/2 to p/20", kinds(got))
	}
	token := w.token
	w.cancel()
	m.put(t, "p/21", "v")
	if _, err := m.DeletePrefix(t.Context(), &tenurev1.DeletePrefixRequest{Prefix: "p/"}); err != nil {
		t.Fatal(err)
	}
	again := m.watch(t, &tenurev1.WatchRequest{Prefixes: []string{"p/"}, ResumeToken: token})
	if got := again.events(22); got[0].GetKey() != "p/21" || got[21].GetType() != tenurev1.EventType_EVENT_TYPE_DELETED {
		t.Errorf("got %s, want p/21 and 21 deletes", kinds(got))
	}
}

func TestWatchSurvivesARestartByHistory(t *testing.T) {
	m := start(t)
	before := m.watch(t, &tenurev1.WatchRequest{Prefixes: []string{"p/"}})
	m.put(t, "p/1", "v")
	before.events(1)
	token := before.token
	for i := 2; i <= 50; i++ {
		m.put(t, fmt.Sprint("p/", i), "v")
	}
	before.cancel()
	m.stop()
	if err := m.wait(); err != nil {
		t.Fatal(err)
	}
	after := start(t, func(c *server.Config) { c.FS = m.fs })
	w := after.watch(t, &tenurev1.WatchRequest{Prefixes: []string{"p/"}, ResumeToken: token})
	after.put(t, "p/51", "v")
	got := w.events(50)
	if got[0].GetKey() != "p/2" || got[49].GetKey() != "p/51" {
		t.Errorf("got %s, want p/2 to p/51", kinds(got))
	}
}

func TestInitialThenLiveHasNoGap(t *testing.T) {
	m := start(t)
	const keys = 500
	for i := range keys {
		m.put(t, fmt.Sprintf("k/%04d", i), strings.Repeat("x", 2000))
	}
	m.put(t, "other", "v")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan int)
	go func() {
		n := 0
		for ctx.Err() == nil {
			_, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: fmt.Sprintf("k/%04d", n%keys), Content: text(strings.Repeat("y", 2000))})
			if err != nil {
				t.Error(err)
				break
			}
			n++
		}
		done <- n
	}()
	for range 5 {
		w := m.watch(t, &tenurev1.WatchRequest{Prefixes: []string{"k/"}, Keys: []string{"k/0001"}, Initial: true})
		state := map[string]uint64{} // version of each key; every put adds one
		var order []string
		parts := 0
		for complete := false; !complete; parts++ {
			part := w.next().GetInitial()
			for _, kv := range part.GetKvs() {
				state[kv.GetKey()] = kv.GetVersion()
				order = append(order, kv.GetKey())
			}
			complete = part.GetComplete()
		}
		if len(order) != keys || !slices.IsSorted(order) || parts < 3 {
			t.Fatalf("got %d keys in %d parts, sorted %v; want %d in at least 3", len(order), parts, slices.IsSorted(order), keys)
		}
		for range 200 {
			for _, e := range w.next().GetEvents().GetEvents() {
				if got, want := e.GetKv().GetVersion(), state[e.GetKey()]+1; got != want {
					t.Fatalf("%s: got version %d, want %d: an event is missing or came twice", e.GetKey(), got, want)
				}
				state[e.GetKey()]++
			}
		}
		w.cancel()
	}
	cancel()
	if n := <-done; n < 200 {
		t.Errorf("got %d writes meanwhile, want at least 200", n)
	}
}

func TestWatchLimitAndWaitEndTheStreamCleanly(t *testing.T) {
	m := start(t)
	began := m.put(t, "a", "1").GetHeader().GetRevision()
	for i := range 5 {
		m.put(t, "a", fmt.Sprint(i))
	}
	tests := map[string]struct {
		limit uint32
		wait  time.Duration
		want  int
	}{
		"limit": {limit: 3, want: 3},
		"wait":  {wait: 300 * time.Millisecond, want: 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := &tenurev1.WatchRequest{Keys: []string{"a"}, AfterRevision: began, Limit: test.limit}
			for wait := test.wait; ; wait *= 4 {
				request.Wait = durationpb.New(wait)
				n, err := m.watchToEnd(t, request)
				if err == nil && n < test.want && 0 < wait && wait < patience {
					continue // The time was up before a slow machine had sent everything.
				}
				if err != nil || n != test.want {
					t.Errorf("got %d events, %v, want %d and a clean end", n, err, test.want)
				}
				return
			}
		})
	}
}

// watchToEnd reads a watch until it ends, and returns how many events came.
func (m *member) watchToEnd(t *testing.T, r *tenurev1.WatchRequest) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(ctx, r)
	if err != nil {
		return 0, err
	}
	for n := 0; ; {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += len(message.GetEvents().GetEvents())
	}
}

func TestLargeRevisionComesInMarkedParts(t *testing.T) {
	m := start(t)
	const keys = 9000
	ctx := t.Context()
	long := strings.Repeat("k", 900)
	work := make(chan int)
	for range 16 {
		go func() {
			for i := range work {
				if _, err := m.Put(ctx, &tenurev1.PutRequest{Key: fmt.Sprintf("%s/%05d", long, i), Content: text("")}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for i := range keys {
		work <- i
	}
	close(work)
	waitUntil(t, func() bool {
		st, err := m.GetStatus(ctx, &tenurev1.GetStatusRequest{})
		return err == nil && st.GetKeys() >= keys
	})
	w := m.watch(t, &tenurev1.WatchRequest{Prefixes: []string{long}})
	if _, err := m.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{Prefix: long}); err != nil {
		t.Fatal(err)
	}
	total, parts := 0, 0
	token := ""
	for {
		r := w.next()
		if r.GetProgress() != nil {
			continue // The delete took longer than the interval of progress marks.
		}
		parts++
		events := r.GetEvents().GetEvents()
		total += len(events)
		if parts == 2 {
			token = r.GetResumeToken()
		}
		if more := r.GetEvents().GetMore(); more != (total < keys) {
			t.Fatalf("after %d of %d events: got more=%v", total, keys, more)
		} else if more && r.GetHeader().GetRevision() >= events[0].GetRevision() {
			t.Fatalf("part says that revision %d was reached, and is of %d", r.GetHeader().GetRevision(), events[0].GetRevision())
		} else if !more {
			break
		}
		if parts == 2 {
			// A resume token goes on inside a revision.
			rest := m.watch(t, &tenurev1.WatchRequest{Prefixes: []string{long}, ResumeToken: token})
			rest.events(keys - total)
			rest.cancel()
		}
	}
	if parts < 4 {
		t.Errorf("got %d parts, want at least 4", parts)
	}
}

func TestManyWatchersOfTheSame(t *testing.T) {
	m := start(t)
	const watchers = 200
	all := make([]*watching, watchers)
	for i := range all {
		all[i] = m.watch(t, &tenurev1.WatchRequest{Keys: []string{"a"}, KeysOnly: i%2 == 0})
	}
	for i := range 20 {
		m.put(t, "a", fmt.Sprint(i))
	}
	for i, w := range all {
		for n, e := range w.events(20) {
			want := fmt.Sprint(n)
			if i%2 == 0 {
				want = ""
			}
			if string(e.GetKv().GetValue()) != want {
				t.Fatalf("watcher %d: event %d has value %q, want %q", i, n, e.GetKv().GetValue(), want)
			}
		}
	}
}

func TestWatchIsRefusedWithAReason(t *testing.T) {
	m := start(t)
	m.put(t, "a", "1")
	at := m.put(t, "a", "2").GetHeader().GetRevision()
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"a"}})
	tests := map[string]struct {
		request *tenurev1.WatchRequest
		code    codes.Code
		reason  string
	}{
		"ahead of the cluster":       {&tenurev1.WatchRequest{AfterRevision: at + 10}, codes.OutOfRange, "REVISION_FUTURE"},
		"another history":            {&tenurev1.WatchRequest{HistoryId: strings.Repeat("0", 32)}, codes.FailedPrecondition, "HISTORY_CHANGED"},
		"a forged token":             {&tenurev1.WatchRequest{Keys: []string{"a"}, ResumeToken: "AAAA"}, codes.InvalidArgument, "RESUME_TOKEN_INVALID"},
		"a token of other selectors": {&tenurev1.WatchRequest{Keys: []string{"b"}, ResumeToken: w.token}, codes.InvalidArgument, "RESUME_TOKEN_INVALID"},
		"two starts":                 {&tenurev1.WatchRequest{Initial: true, AfterRevision: 1}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"an empty key":               {&tenurev1.WatchRequest{Keys: []string{""}}, codes.InvalidArgument, "KEY_EMPTY"},
		"a range without end":        {&tenurev1.WatchRequest{RangeStart: "a"}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a range that is empty":      {&tenurev1.WatchRequest{RangeStart: "b", RangeEnd: "a"}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"a malformed session":        {&tenurev1.WatchRequest{SessionIds: []string{"x"}}, codes.InvalidArgument, "SESSION_ID_INVALID"},
		"a negative wait":            {&tenurev1.WatchRequest{Wait: durationpb.New(-1)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"progress too often":         {&tenurev1.WatchRequest{ProgressInterval: durationpb.New(1)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		"too many selectors":         {&tenurev1.WatchRequest{Keys: slices.Repeat([]string{"a"}, 129)}, codes.InvalidArgument, "INVALID_ARGUMENT"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { wantError(t, m.watchError(t, test.request), test.code, test.reason) })
	}
}

func TestWatchProgressSaysHowFar(t *testing.T) {
	m := start(t)
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"a"}, ProgressInterval: durationpb.New(200 * time.Millisecond)})
	at := m.put(t, "b", "unrelated").GetHeader().GetRevision()
	for {
		r := w.next()
		if r.GetProgress() == nil {
			t.Fatalf("got %v, want progress", r)
		}
		if r.GetHeader().GetRevision() == at {
			break
		}
	}
	m.put(t, "a", "v")
	again := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"a"}, ResumeToken: w.token})
	again.events(1)
}

// TestWatchProgressComesWhileEventsFlow changes a key all the time. Marks come between the events nevertheless, and the moment
// up to which one proves that nothing is missing lies before it came and after the one of the last.
func TestWatchProgressComesWhileEventsFlow(t *testing.T) {
	m := start(t)
	sent := time.Now()
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"a"}, ProgressInterval: durationpb.New(200 * time.Millisecond)})
	last, events, reached := time.Duration(0), 0, uint64(0)
	for marks := 0; marks < 3; {
		at := m.put(t, "a", "v").GetHeader().GetRevision()
		for reached < at {
			r := w.next()
			reached = r.GetHeader().GetRevision()
			events += len(r.GetEvents().GetEvents())
			if r.GetProgress() == nil {
				continue
			}
			marks++
			if after := r.GetProgress().GetProvedAfter().AsDuration(); after <= last || after > time.Since(sent) {
				t.Errorf("mark %d, %v after the request: got a proof of %v, and of %v before", marks, time.Since(sent), after, last)
			} else {
				last = after
			}
		}
	}
	if events < 3 {
		t.Errorf("got %d events, want one for each change", events)
	}
}

// TestTheTimeOfAWatchBeginsBehindItsInitialState reads an initial state more slowly than its wait lasts.
func TestTheTimeOfAWatchBeginsBehindItsInitialState(t *testing.T) {
	m := start(t)
	const keys = 60
	for i := range keys {
		m.put(t, fmt.Sprint("k", i), strings.Repeat("v", 400<<10))
	}
	stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(t.Context(), &tenurev1.WatchRequest{Initial: true, Wait: seconds(0.01)})
	if err != nil {
		t.Fatal(err)
	}
	complete, got := false, 0
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got += len(r.GetInitial().GetKvs())
		complete = complete || r.GetInitial().GetComplete()
	}
	if !complete || got != keys {
		t.Errorf("the watch ended cleanly with %d keys, complete: %v; want all %d", got, complete, keys)
	}
}

// waitUntil waits for what must come.
func waitUntil(t *testing.T, ready func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !ready() {
		select {
		case <-deadline:
			t.Fatal("it does not happen")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
