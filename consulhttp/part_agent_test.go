package consulhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// glimpse is what a watch shows until it ends.
type glimpse struct {
	part bool
	ends tenurev1.ErrorReason // unspecified is an event
}

// never is the end of a watch that has none.
const never = tenurev1.ErrorReason(-1)

// glimpses are members to which an agent connects one after the other.
type glimpses struct {
	*island
	watches []glimpse
	opened  []*tenurev1.WatchRequest
	// lists say whether a page is that of a part, one after the other. The last one stays.
	lists []bool
	asked []*tenurev1.ListServicesRequest // for a page
}

// Invoke answers a list of services.
func (g *glimpses) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	list, ok := response.(*tenurev1.ListServicesResponse)
	ask, _ := request.(*tenurev1.ListServicesRequest)
	if !ok {
		return g.island.Invoke(ctx, method, request, response, options...)
	}
	g.asked = append(g.asked, ask)
	list.Header = &tenurev1.ResponseHeader{Revision: 7, Filtered: g.lists[0]}
	if len(g.lists) > 1 {
		g.lists = g.lists[1:]
		list.NextPageToken = "more"
	}
	return nil
}

// NewStream opens the next watch.
func (g *glimpses) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if len(g.opened) == len(g.watches) {
		return nil, fmt.Errorf("%d watches were opened already", len(g.opened))
	}
	g.opened = append(g.opened, nil)
	return &glimpsed{changedOnce: changedOnce{ctx: ctx}, of: g, at: len(g.opened) - 1}, nil
}

// glimpsed is one watch.
type glimpsed struct {
	changedOnce
	of    *glimpses
	at    int
	began bool
}

// SendMsg notes the request.
func (g *glimpsed) SendMsg(m any) error {
	g.of.opened[g.at], _ = m.(*tenurev1.WatchRequest)
	return nil
}

// RecvMsg returns that the watch has started, and then its end.
func (g *glimpsed) RecvMsg(message any) error {
	response, ok := message.(*tenurev1.WatchResponse)
	if !ok {
		return fmt.Errorf("a watch has no message %T", message)
	}
	w := g.of.watches[g.at]
	switch {
	case !g.began:
		g.began = true
		response.Header = &tenurev1.ResponseHeader{Filtered: w.part}
		response.Message = &tenurev1.WatchResponse_Started{Started: &tenurev1.WatchStarted{}}
		return nil
	case w.ends == never:
		<-g.ctx.Done()
		return g.ctx.Err()
	case w.ends != 0:
		s, _ := reason.Status(reason.New(w.ends, "it ends"), "")
		return s.Err()
	}
	event := &tenurev1.Event{Revision: 7, Type: tenurev1.EventType_EVENT_TYPE_SERVICE_PUT, Service: &tenurev1.Service{Name: "web"}}
	response.Message = &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{Events: []*tenurev1.Event{event}}}
	return nil
}

// TestAnAgentThatLosesAMemberShowsAPartAgain ends the watch of a blocked request with its member. What its caller sees of all is what it saw. What it sees who
// sees a part may have changed in between, so it is answered.
func TestAnAgentThatLosesAMemberShowsAPartAgain(t *testing.T) {
	const stops, changed = tenurev1.ErrorReason_ERROR_REASON_STOPPING, tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED
	for name, test := range map[string]struct {
		watches []glimpse
		part    bool
	}{
		"all, and then an event":       {[]glimpse{{false, stops}, {false, stops}, {false, 0}}, false},
		"a part":                       {[]glimpse{{true, stops}}, true},
		"all, and then a part":         {[]glimpse{{false, stops}, {true, never}}, true},
		"a part, and an event":         {[]glimpse{{true, 0}}, true},
		"a part that rights end":       {[]glimpse{{true, changed}}, true},
		"all, and rights that end it":  {[]glimpse{{false, changed}}, true},
		"all, which become a part now": {[]glimpse{{false, stops}, {false, changed}}, true},
	} {
		for _, index := range []int{1, 5} {
			synctest.Test(t, func(t *testing.T) {
				m := &glimpses{island: &island{leader: true}, watches: test.watches, lists: []bool{test.part}}
				h, err := consulhttp.New(consulhttp.Options{Conn: m, Agent: machine{}})
				if err != nil {
					t.Fatal(err)
				}
				w, began := httptest.NewRecorder(), time.Now()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("/v1/catalog/services?index=%d&wait=10m", index), nil))
				if took := time.Since(began); w.Code != 200 || took > time.Second || len(m.opened) != len(test.watches) {
					t.Errorf("%s: got %d %s after %v and %d watches, want an answer at once after %d", name, w.Code, w.Body, took, len(m.opened), len(test.watches))
				}
				if part := w.Header().Get(filteredHeader) == "true"; part != test.part {
					t.Errorf("%s: the header says that it is a part: %v, want %v", name, part, test.part)
				}
				if slices.ContainsFunc(m.opened, func(r *tenurev1.WatchRequest) bool { return !r.GetVisibleOnly() }) {
					t.Errorf("%s: watches were opened with %v, want visible_only in each", name, m.opened)
				}
			})
		}
	}
}

// TestRightsThatChangeBetweenPagesAreReadAgain makes a list that is whole at first a part on its second page: the answer is read again, and if it never comes to
// rest, it is refused. All pages ask for the part.
func TestRightsThatChangeBetweenPagesAreReadAgain(t *testing.T) {
	for name, test := range map[string]struct {
		lists  []bool // of each page; the last one has no other
		status int
		calls  int
	}{
		"once":    {[]bool{false, true, true, true}, http.StatusOK, 4},
		"always":  {[]bool{false, true, false, true, false, true, true}, http.StatusServiceUnavailable, 6},
		"a whole": {[]bool{true, false, false}, http.StatusOK, 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := &glimpses{island: &island{leader: true}, lists: test.lists}
			h, err := consulhttp.New(consulhttp.Options{Conn: m, Member: "node-1"})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/catalog/services", nil))
			if w.Code != test.status || len(m.asked) != test.calls || test.status == 200 && w.Header().Get(filteredHeader) != "true" {
				t.Errorf("got %d %v %s after %d pages, want %d after %d", w.Code, w.Header(), w.Body, len(m.asked), test.status, test.calls)
			}
			if slices.ContainsFunc(m.asked, func(r *tenurev1.ListServicesRequest) bool { return !r.GetVisibleOnly() }) {
				t.Errorf("pages were asked for with %v, want visible_only in each", m.asked)
			}
		})
	}
}
