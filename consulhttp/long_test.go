package consulhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// vast is a member whose keys are more than a page.
type vast struct {
	*island
	streams atomic.Int64

	mu    sync.Mutex // guards pages
	pages []weak.Pointer[tenurev1.KeyValue]
}

// kept returns how many pages are still in memory.
func (v *vast) kept() (n int) {
	runtime.GC()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, page := range v.pages {
		if page.Value() != nil {
			n++
		}
	}
	return n
}

// Invoke answers a call.
func (v *vast) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if list, ok := response.(*tenurev1.ListResponse); ok {
		list.Header, list.NextPageToken = &tenurev1.ResponseHeader{Revision: 7}, "more"
		list.Kvs = []*tenurev1.KeyValue{{Key: "a", Value: make([]byte, 1000)}}
		v.mu.Lock()
		v.pages = append(v.pages, weak.Make(list.GetKvs()[0]))
		v.mu.Unlock()
		return nil
	}
	return v.island.Invoke(ctx, method, request, response, options...)
}

// NewStream opens a watch that begins with all keys.
func (v *vast) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	v.streams.Add(1)
	return &allKeys{changedOnce: changedOnce{ctx: ctx}}, nil
}

// allKeys is a watch that begins with one key.
type allKeys struct {
	changedOnce
	began bool
}

// RecvMsg returns the revision, and then the key.
func (a *allKeys) RecvMsg(message any) error {
	response, ok := message.(*tenurev1.WatchResponse)
	if !ok {
		return fmt.Errorf("a watch has no message %T", message)
	}
	if !a.began {
		a.began = true
		response.Message = &tenurev1.WatchResponse_Started{Started: &tenurev1.WatchStarted{AfterRevision: 7}}
		return nil
	}
	response.Message = &tenurev1.WatchResponse_Initial{Initial: &tenurev1.WatchInitial{Kvs: []*tenurev1.KeyValue{{Key: "a"}}, Complete: true}}
	return nil
}

// unreadWriter takes an answer once its client reads it.
type unreadWriter struct {
	*httptest.ResponseRecorder
	read <-chan struct{}
}

// Write waits until the client reads.
func (u *unreadWriter) Write(data []byte) (int, error) {
	<-u.read
	return u.ResponseRecorder.Write(data)
}

// TestAtAnAgentUnreadAnswersLeaveRoom asks for long answers and reads none: others get theirs all the same, and what gets no turn in time is refused.
func TestAtAnAgentUnreadAnswersLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, read := &vast{island: &island{leader: true}}, make(chan struct{})
		h, err := consulhttp.New(consulhttp.Options{Conn: m, Agent: machine{}})
		if err != nil {
			t.Fatal(err)
		}
		var refused, answered atomic.Int64
		ask := func(address string, want int64) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/kv/?recurse", nil)
			r.RemoteAddr = address
			w := &unreadWriter{ResponseRecorder: httptest.NewRecorder(), read: read}
			go func() {
				h.ServeHTTP(w, r)
				switch w.Code {
				case http.StatusOK:
					answered.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			}()
			synctest.Wait()
			if n := m.streams.Load(); n != want {
				t.Fatalf("%d long answers are read from the member, want %d", n, want)
			}
		}
		for i := range 200 {
			ask("10.0.0.1:1", int64(min(i+1, 128)))
		}
		ask("10.0.0.2:1", 129)
		if n := m.kept(); n != 0 {
			t.Errorf("%d answers keep the page that showed that there are more", n)
		}
		<-time.After(11 * time.Second)
		close(read)
		synctest.Wait()
		if refused.Load() != 72 || answered.Load() != 129 {
			t.Errorf("%d were answered and %d refused, want 129 and 72", answered.Load(), refused.Load())
		}
		ask("10.0.0.1:1", 130)
	})
}
