package rest

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protojson"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/reason"
)

// started is the first message of a watch.
func started() *tenurev1.WatchResponse {
	return &tenurev1.WatchResponse{
		Header:  &tenurev1.ResponseHeader{Revision: 5},
		Message: &tenurev1.WatchResponse_Started{Started: &tenurev1.WatchStarted{AfterRevision: 5}},
	}
}

// readLine reads the next line of a stream.
func readLine(t *testing.T, lines *bufio.Reader) string {
	t.Helper()
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("read line: %v after %q", err, line)
	}
	return line
}

// lineError returns the error that a line is, or nil.
func lineError(t *testing.T, line string) *restError {
	t.Helper()
	var wrapped struct {
		Error *restError `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &wrapped); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	return wrapped.Error
}

func TestWatchSendsItsFirstLineAtOnceAndThenEachEvent(t *testing.T) {
	rig := newRESTRig(t)
	proceed := make(chan struct{})
	rig.watch = func(_ *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
		if err := stream.Send(started()); err != nil {
			return err
		}
		<-proceed
		return stream.Send(&tenurev1.WatchResponse{
			Header: &tenurev1.ResponseHeader{Revision: 7}, ResumeToken: "t",
			Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{More: true, Events: []*tenurev1.Event{
				{Revision: 6, Key: "a"}, {Revision: 6, Key: "b", Index: 1}, {Revision: 7, Key: "c"},
			}}},
		})
	}
	resp := rig.open(t, "GET", "/v1/watch?keys=a%2F&keys=b+c&prefixes=&initial&limit=3&wait=1m30s&filter.noDeletes", nil, "")
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	first := readLine(t, lines)
	if !strings.Contains(first, `"started":{"afterRevision":"5"}`) || strings.Contains(first, `"result"`) {
		t.Errorf("first line is %q", first)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("content type is %q", got)
	}
	if got := resp.Header.Get("Tenure-Revision"); got != "5" {
		t.Errorf("Tenure-Revision is %q", got)
	}
	close(proceed)
	for i, want := range []struct {
		key, token string
		more       bool
	}{{"a", "", true}, {"b", "", false}, {"c", "t", true}} {
		var line tenurev1.WatchResponse
		if err := protojson.Unmarshal([]byte(readLine(t, lines)), &line); err != nil {
			t.Fatal(err)
		}
		events := line.GetEvents().GetEvents()
		if len(events) != 1 || events[0].GetKey() != want.key || line.GetResumeToken() != want.token || line.GetEvents().GetMore() != want.more {
			t.Errorf("line %d is %v, want key %s, token %q, more %v", i, &line, want.key, want.token, want.more)
		}
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	request := asked[*tenurev1.WatchRequest](t, rig)
	want := `keys:"a/" keys:"b c" prefixes:"" filter:{no_deletes:true} initial:true limit:3 wait:{seconds:90}`
	if got := strings.Join(strings.Fields(request.String()), " "); got != want {
		t.Errorf("services were asked %s, want %s", got, want)
	}
}

func TestWatchTakesItsRequestAsJSONToo(t *testing.T) {
	rig := newRESTRig(t)
	rig.watch = func(_ *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
		return stream.Send(started())
	}
	got := rig.send(t, "POST", "/v1/watch", []string{"Tenure-Session-Secret: c2VjcmV0"}, `{"keys":["a"],"afterRevision":"5"}`)
	if got.status != http.StatusOK || strings.Count(got.body, "\n") != 1 {
		t.Errorf("got %d %q", got.status, got.body)
	}
	call := rig.take()[0]
	if r, ok := call.request.(*tenurev1.WatchRequest); !ok || r.GetAfterRevision() != 5 || len(r.GetKeys()) != 1 {
		t.Errorf("services were asked %v", call.request)
	}
	if !strings.HasPrefix(call.address, "127.0.0.1:") || len(call.md.Get("tenure-session-secret")) != 1 {
		t.Errorf("call came from %q with %v", call.address, call.md)
	}
}

func TestStreamThatFailsBeforeItsFirstLineIsAPlainError(t *testing.T) {
	rig := newRESTRig(t)
	rig.watch = func(*tenurev1.WatchRequest, tenurev1.WatchService_WatchServer) error {
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED, "forgotten").With("compacted_revision", "9")
	}
	got := rig.send(t, "GET", "/v1/watch?afterRevision=1", nil, "")
	if got.status != http.StatusGone || got.error.Code != "REVISION_COMPACTED" || got.error.Metadata["compacted_revision"] != "9" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if kind := got.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type is %q", kind)
	}
}

func TestStreamThatFailsLaterEndsWithAnErrorLine(t *testing.T) {
	rig := newRESTRig(t)
	rig.watch = func(_ *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
		if err := stream.Send(started()); err != nil {
			return err
		}
		return reason.New(tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW, "too slow").With("resume_token", "t")
	}
	got := rig.send(t, "GET", "/v1/watch", nil, "")
	lines := strings.Split(strings.TrimSpace(got.body), "\n")
	if got.status != http.StatusOK || len(lines) != 2 {
		t.Fatalf("got %d %q", got.status, got.body)
	}
	if e := lineError(t, lines[1]); e == nil || e.Code != "WATCHER_TOO_SLOW" || e.Metadata["resume_token"] != "t" {
		t.Errorf("last line is %q", lines[1])
	}
}

func TestEmptyStreamIsASuccess(t *testing.T) {
	rig := newRESTRig(t)
	rig.watch = func(*tenurev1.WatchRequest, tenurev1.WatchService_WatchServer) error { return nil }
	if got := rig.send(t, "GET", "/v1/watch", nil, ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

func TestClientThatGoesAwayEndsItsCall(t *testing.T) {
	rig := newRESTRig(t)
	ended := make(chan error, 1)
	rig.acquire = func(_ *tenurev1.AcquireLockRequest, stream tenurev1.LockService_AcquireLockServer) error {
		err := stream.Send(&tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Queued{Queued: &tenurev1.LockQueuedStep{}}})
		if err != nil {
			return err
		}
		<-stream.Context().Done()
		ended <- stream.Context().Err()
		return stream.Context().Err()
	}
	resp := rig.open(t, "POST", "/v1/lock-queue/a//b", nil, `{"sessionId":"s"}`)
	if line := readLine(t, bufio.NewReader(resp.Body)); !strings.Contains(line, `"queued"`) {
		t.Errorf("first line is %q", line)
	}
	_ = resp.Body.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the call ended without a reason")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call goes on")
	}
	request := asked[*tenurev1.AcquireLockRequest](t, rig)
	if request.GetKey() != "a//b" || request.LeaveOnDisconnect == nil || !request.GetLeaveOnDisconnect() {
		t.Errorf("services were asked %v, want key a//b, leaving on disconnect", request)
	}
}

func TestPlaceIsKeptOnRequest(t *testing.T) {
	rig := newRESTRig(t)
	rig.acquire = func(*tenurev1.AcquireLockRequest, tenurev1.LockService_AcquireLockServer) error { return nil }
	rig.send(t, "POST", "/v1/lock-queue/a", nil, `{"sessionId":"s","leaveOnDisconnect":false}`)
	request := asked[*tenurev1.AcquireLockRequest](t, rig)
	if request.LeaveOnDisconnect == nil || request.GetLeaveOnDisconnect() {
		t.Errorf("services were asked %v, want to keep the place", request)
	}
}

// stopGrace is how long requests may go on after the listener was told to stop: long, so that a stop which takes it stands
// out.
const stopGrace = time.Minute

func TestStopEndsStreamsWithALastLine(t *testing.T) {
	rig := newRESTRig(t)
	rig.watch = func(_ *tenurev1.WatchRequest, stream tenurev1.WatchService_WatchServer) error {
		if err := stream.Send(started()); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	resp := rig.open(t, "GET", "/v1/watch", nil, "")
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	readLine(t, lines)
	began := time.Now()
	rig.stop()
	if took := time.Since(began); took > stopGrace/2 {
		t.Errorf("stop took %v: the stream was not ended, but timed out", took)
	}
	if e := lineError(t, readLine(t, lines)); e == nil || e.Code != "STOPPING" {
		t.Errorf("last line is %v", e)
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("after the last line: %q, %v", rest, err)
	}
}

// TestStopTellsWhoQueuesThatItDoes stops a member under a call that has told of its place in a queue, and under one that has
// said nothing yet.
func TestStopTellsWhoQueuesThatItDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		queued  bool
		applied string
	}{
		"it has its place":     {queued: true, applied: reason.AppliedYes},
		"it has heard nothing": {applied: reason.AppliedUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRESTRig(t)
			came := make(chan struct{})
			rig.acquire = func(_ *tenurev1.AcquireLockRequest, stream tenurev1.LockService_AcquireLockServer) error {
				if tc.queued {
					step := &tenurev1.AcquireLockResponse{Step: &tenurev1.AcquireLockResponse_Queued{}}
					if err := stream.Send(step); err != nil {
						return err
					}
				}
				close(came)
				<-stream.Context().Done()
				return stream.Context().Err()
			}
			told, stopped := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(stopped)
				<-came
				if tc.queued {
					<-told
				}
				rig.stop()
			}()
			resp := rig.open(t, "POST", "/v1/lock-queue/a", nil, "{}")
			defer func() { _ = resp.Body.Close() }()
			lines := bufio.NewReader(resp.Body)
			if tc.queued {
				readLine(t, lines)
			}
			close(told)
			e := lineError(t, readLine(t, lines))
			if e == nil || e.Code != "STOPPING" || e.Metadata["applied"] != tc.applied {
				t.Errorf("got %v, want STOPPING, applied %s", e, tc.applied)
			}
			<-stopped
		})
	}
}

func TestStreamsAreBounded(t *testing.T) {
	g, err := newGateway(Options{Conn: refusingConn{}, RequestBytesMax: restBytesMax, Log: zap.NewNop()}, restTable(), ofMember)
	if err != nil {
		t.Fatal(err)
	}
	watch := func() int {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/watch", nil))
		return w.Code
	}
	callers, err := share.ParseExempt([]string{"10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	other := callers.OfText("10.0.0.1:1") // It gets all.
	g.streams.Take(other, restStreamsMax)
	if got := watch(); got != http.StatusTooManyRequests {
		t.Errorf("one stream too many got %d", got)
	}
	g.streams.Give(other, 1)
	if got := watch(); got != http.StatusNotImplemented {
		t.Errorf("the last stream got %d", got)
	}
	if got := g.streams.Used(); got != restStreamsMax-1 {
		t.Errorf("%d streams are counted, want %d", got, restStreamsMax-1)
	}
}
