package consulhttp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// island answers as a member that may know no leader.
type island struct {
	mu     sync.Mutex // guards hung and asked
	leader bool
	mode   tenurev1.AuthMode
	asked  int           // for the mode
	silent bool          // it does not say the mode
	slow   time.Duration // it takes so long to say the mode
	lost   bool          // it fails to say the mode, for want of a leader
	hangs  bool          // linearizable reads and renewals wait for a leader
	hung   int           // how many do
}

// waits says whether a call waits for a leader.
func (i *island) waits(request any) bool {
	if _, renews := request.(*tenurev1.RenewSessionRequest); renews {
		return i.hangs
	}
	reads, ok := request.(interface{ GetRead() *tenurev1.ReadOptions })
	return i.hangs && ok && !reads.GetRead().GetStale()
}

// Invoke answers a call.
func (i *island) Invoke(ctx context.Context, _ string, request, response any, _ ...grpc.CallOption) error {
	if i.waits(request) {
		i.mu.Lock()
		i.hung++
		i.mu.Unlock()
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	switch r := response.(type) {
	case *tenurev1.ListResponse:
	case *tenurev1.ListMembersResponse:
		if !i.leader { // A member asks its leader first.
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
		r.Members = []*tenurev1.Member{{Id: 1, Leader: true}, {Id: 2}}
	case *tenurev1.WhoAmIResponse:
		i.mu.Lock()
		i.asked++
		i.mu.Unlock()
		select {
		case <-time.After(i.slow):
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
		switch {
		case i.silent:
			return status.Error(codes.PermissionDenied, "it says that to nobody")
		case i.lost:
			return status.Error(codes.Unavailable, "it knows no leader")
		}
		r.Mode = i.mode
	case *tenurev1.GetResponse:
		r.Header, r.Kv = &tenurev1.ResponseHeader{Revision: 7}, &tenurev1.KeyValue{Key: "a", ModRevision: 7}
	default:
		return status.Error(codes.Unimplemented, "it answers no such call")
	}
	return nil
}

// NewStream opens a watch of a key that has changed.
func (*island) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return &changedOnce{ctx: ctx}, nil
}

// changedOnce is a watch with one event.
type changedOnce struct {
	grpc.ClientStream
	ctx context.Context
}

func (*changedOnce) SendMsg(any) error { return nil }
func (*changedOnce) CloseSend() error  { return nil }

// RecvMsg returns the event.
func (*changedOnce) RecvMsg(message any) error {
	event := &tenurev1.Event{Revision: 7, Type: tenurev1.EventType_EVENT_TYPE_PUT}
	response, ok := message.(*tenurev1.WatchResponse)
	if !ok {
		return fmt.Errorf("a watch has no message %T", message)
	}
	response.Message = &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{Events: []*tenurev1.Event{event}}}
	return nil
}

// TestStaleWaitsAreAnsweredWhileOthersWaitForALeader wakes more linearizable reads than may run at once, while there is no leader that could answer
// them; then a stale one.
func TestStaleWaitsAreAnsweredWhileOthersWaitForALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &island{leader: true, hangs: true}
		h, err := consulhttp.New(consulhttp.Options{Conn: m})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ask := func(path string) (answered *bool) {
			answered = new(bool)
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
				*answered = w.Code == 200
			}()
			return answered
		}
		for i := range 300 {
			ask(fmt.Sprintf("/v1/kv/key-%d?index=5&wait=10m", i))
		}
		synctest.Wait()
		if m.hung < 100 || m.hung > 256 {
			t.Errorf("%d reads wait for the leader at a time, want that they take turns", m.hung)
		}
		stale := ask("/v1/kv/a?stale&index=5&wait=10m")
		synctest.Wait()
		if !*stale {
			t.Error("a stale read that was woken waits for those that need a leader")
		}
		cancel()
		synctest.Wait()
	})
}

// TestStaleReadsTellHowLongNoLeaderIsKnown takes the leader away for a while. Headers follow, and the mode is asked for once in a second.
func TestStaleReadsTellHowLongNoLeaderIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &island{leader: true}
		h, err := consulhttp.New(consulhttp.Options{Conn: m})
		if err != nil {
			t.Fatal(err)
		}
		read := func(path, contact, known, policy string) {
			t.Helper()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/kv/a?"+path, nil))
			for name, want := range map[string]string{
				"X-Consul-LastContact": contact, "X-Consul-KnownLeader": known, "X-Consul-Default-ACL-Policy": policy,
			} {
				if got := w.Header().Get(name); got != want || w.Code != 200 {
					t.Errorf("%s: got %d with %s %q, want %q", path, w.Code, name, got, want)
				}
			}
		}
		<-time.After(time.Hour)
		read("stale", "0", "true", "allow")
		m.leader, m.mode = false, tenurev1.AuthMode_AUTH_MODE_ENFORCE
		<-time.After(500 * time.Millisecond)
		read("stale", "1500", "false", "allow") // It waits a second for one.
		if m.asked != 1 {
			t.Errorf("the mode was asked for %d times within a second, want once", m.asked)
		}
		<-time.After(4500 * time.Millisecond)
		read("stale", "7000", "false", "deny")
		m.mode = tenurev1.AuthMode_AUTH_MODE_WARN
		<-time.After(time.Second)
		read("stale&max_stale=1s", "0", "true", "allow") // As a linearizable read: a leader has confirmed it.
		m.leader = true
		read("stale", "0", "true", "allow")
		m.leader = false
		<-time.After(time.Second)
		read("stale", "2000", "false", "allow")
	})
}

// TestAModeThatIsNotSaidIsNotAskedForEachTime reads where a member does not say the mode to those who show nothing of themselves.
func TestAModeThatIsNotSaidIsNotAskedForEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &island{leader: true, silent: true}
		h, err := consulhttp.New(consulhttp.Options{Conn: m})
		if err != nil {
			t.Fatal(err)
		}
		read := func(token string) string {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/v1/kv/a", nil)
			r.Header.Set("X-Consul-Token", token)
			h.ServeHTTP(w, r)
			return w.Header().Get("X-Consul-Default-ACL-Policy")
		}
		for range 10 {
			read("")
		}
		if m.asked != 1 {
			t.Errorf("the mode was asked for %d times within a second, want once", m.asked)
		}
		m.silent, m.mode = false, tenurev1.AuthMode_AUTH_MODE_ENFORCE
		if got := read("token"); got != "deny" {
			t.Errorf("one with a token gets %q, want deny", got)
		}
		if got := read(""); got != "deny" {
			t.Errorf("one without gets %q then, want deny", got)
		}
		<-time.After(time.Second)
		read("")
		if m.asked != 3 {
			t.Errorf("the mode was asked for %d times, want three times", m.asked)
		}
	})
}

// TestAModeThatIsNotSaidHoldsUpNoRead reads where a member without a leader takes long to say that it cannot say the mode. Whoever asks, the answer
// takes as long as that for the leader, and a member that has just failed is not asked again.
func TestAModeThatIsNotSaidHoldsUpNoRead(t *testing.T) {
	for name, test := range map[string]struct {
		path, token string
		agent       consulhttp.Agent
		asked       int
	}{
		"a stale read without a token":    {"/v1/kv/a?stale", "", nil, 2},
		"a stale read with a token":       {"/v1/kv/a?stale", "token", nil, 2},
		"a stale read at an agent":        {"/v1/kv/a?stale", "token", machine{}, 2},
		"a read that a leader has served": {"/v1/kv/a", "token", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &island{slow: 3 * time.Second, lost: true}
				h, err := consulhttp.New(consulhttp.Options{Conn: m, Agent: test.agent})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", test.path, nil)
					r.Header.Set("X-Consul-Token", test.token)
					began := time.Now()
					h.ServeHTTP(w, r)
					if took := time.Since(began); w.Code != 200 || took > time.Second {
						t.Errorf("got %d after %v, want 200 within a second", w.Code, took)
					}
				}
				if m.asked != test.asked {
					t.Errorf("the mode was asked for %d times, want %d", m.asked, test.asked)
				}
			})
		})
	}
}

// TestOneReadAsksForTheModeForAll lets many clients read at once. One of them asks for the mode, and if it goes away, another one does.
func TestOneReadAsksForTheModeForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &island{leader: true, slow: 500 * time.Millisecond, mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE}
		h, err := consulhttp.New(consulhttp.Options{Conn: m})
		if err != nil {
			t.Fatal(err)
		}
		read := func(ctx context.Context, token string) *httptest.ResponseRecorder {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/v1/kv/a", nil)
			r.Header.Set("X-Consul-Token", token)
			go h.ServeHTTP(w, r)
			synctest.Wait()
			return w
		}
		first, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer leave()
		read(first, "gone")
		second := read(t.Context(), "second")
		<-time.After(200 * time.Millisecond)
		var others []*httptest.ResponseRecorder
		for i := range 10 {
			others = append(others, read(t.Context(), fmt.Sprint(i)))
		}
		if m.asked != 2 {
			t.Errorf("the mode was asked for %d times, want once by the first, and once by the next", m.asked)
		}
		<-time.After(500 * time.Millisecond)
		synctest.Wait()
		for _, w := range append(others, second) {
			if got := w.Header().Get("X-Consul-Default-ACL-Policy"); w.Code != 200 || got != "deny" {
				t.Errorf("got %d with %q, want 200 with deny", w.Code, got)
			}
		}
	})
}

// TestAtAnAgentNoClientTakesAllCalls lets lists and reads of one client wait for a leader: at an agent, those of other clients reach a member all
// the same, and so do this client's renewals, and its reads that need no leader. Lists and other reads do not hold each other up.
func TestAtAnAgentNoClientTakesAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &island{leader: true, hangs: true}
		h, err := consulhttp.New(consulhttp.Options{Conn: m, Agent: machine{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		call := func(address, method, path string, want int) *httptest.ResponseRecorder {
			t.Helper()
			r, w := httptest.NewRequestWithContext(ctx, method, path, nil), httptest.NewRecorder()
			r.RemoteAddr = address
			go h.ServeHTTP(w, r)
			synctest.Wait()
			if m.hung != want {
				t.Fatalf("%d calls have reached the member, want %d", m.hung, want)
			}
			return w
		}
		ask := func(address, read string, want int) *httptest.ResponseRecorder {
			t.Helper()
			return call(address, "GET", "/v1/kv/a"+read, want)
		}
		for i := range 200 {
			ask("10.0.0.1:1", "?recurse", min(i+1, 8))
		}
		for i := range 200 {
			ask("10.0.0.1:1", "", min(8+i+1, 8+64))
		}
		ask("10.0.0.2:1", "", 73)
		call("10.0.0.1:1", "PUT", "/v1/session/renew/11111111-2222-3333-4444-555555555555", 74)
		ask("10.0.0.2:1", "?recurse", 75)
		if w := ask("10.0.0.1:1", "?stale", 75); w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("a stale read was answered with %d %q", w.Code, w.Body)
		}
	})
}
