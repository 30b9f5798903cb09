package tenure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// watching is a watch in fake time, of a cluster of one member whose messages the test sends.
type watching struct {
	*watchedMember
	cluster *fakeCluster
	breaks  []error
	seen    chan seen
}

// seen is what a loop over a watch was given.
type seen struct {
	event *tenure.Event
	err   error
}

// inWatch runs a test with a watch.
func inWatch(t *testing.T, test func(t *testing.T, w *watching), options ...tenure.WatchOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watching{
			watchedMember: &watchedMember{
				requests: make(chan *tenurev1.WatchRequest, 10), messages: make(chan *tenurev1.WatchResponse), refusals: make(chan error),
			},
			cluster: newFakeCluster(1), seen: make(chan seen, 100),
		}
		tenurev1.RegisterWatchServiceServer(w.cluster.members[0].Member, w.watchedMember)
		client, err := tenure.Open("tenure://m1:7400/app", tenure.OverMemory(w.cluster.net))
		if err != nil {
			t.Fatal(err)
		}
		with := append(options, tenure.OnBreak(func(cause error) { w.breaks = append(w.breaks, cause) }))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for event, err := range client.Watch(t.Context(), with...) {
				w.seen <- seen{event, err}
			}
		}()
		test(t, w)
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

// initial sends a part of the present state.
func (w *watching) initial(complete bool, keys ...string) {
	part := &tenurev1.WatchInitial{Complete: complete}
	for _, key := range keys {
		part.Kvs = append(part.Kvs, &tenurev1.KeyValue{Key: "app/" + key})
	}
	w.messages <- &tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Initial{Initial: part}}
}

func TestAWatchTellsABreakAndItsEndOnce(t *testing.T) {
	inWatch(t, func(t *testing.T, w *watching) {
		<-w.requests
		w.started(4)
		w.event(5)
		if got := <-w.seen; got.event.Revision != 5 {
			t.Errorf("got %+v, want revision 5", got)
		}
		w.cluster.members[0].Refuse(true)
		pass(time.Minute)
		w.cluster.members[0].Refuse(false)
		if again := <-w.requests; again.GetResumeToken() != "token" {
			t.Errorf("went on with %v, want the last token", again)
		}
		w.started(5)
		synctest.Wait()
		if len(w.breaks) != 1 || w.breaks[0] == nil {
			t.Errorf("before anything new was told of breaks %v, want one", w.breaks)
		}
		w.event(6)
		if got := <-w.seen; got.event.Revision != 6 {
			t.Errorf("got %+v, want revision 6", got)
		}
		if len(w.breaks) != 2 || w.breaks[1] != nil {
			t.Errorf("told of breaks %v, want one and its end", w.breaks)
		}
		isBreak(t, w.breaks[0], "the connection broke")
	}, tenure.OnKeys("k"))
}

func TestAWatchTellsThatAMemberFellSilent(t *testing.T) {
	inWatch(t, func(t *testing.T, w *watching) {
		<-w.requests
		w.started(4)
		pass(time.Minute)
		<-w.requests
		if len(w.breaks) != 1 {
			t.Fatalf("told of breaks %v, want one", w.breaks)
		}
		isBreak(t, w.breaks[0], "the member stopped responding")
	}, tenure.OnKeys("k"))
}

func TestAWatchTellsWhatAMemberSaidOfABreak(t *testing.T) {
	inWatch(t, func(t *testing.T, w *watching) {
		<-w.requests
		w.refusals <- refusal(codes.Unavailable, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "unknown")
		<-w.requests
		if len(w.breaks) != 1 {
			t.Fatalf("told of breaks %v, want one", w.breaks)
		}
		isBreak(t, w.breaks[0], "NO_LEADER")
		if said, ok := errors.AsType[*tenure.Error](w.breaks[0]); !ok || said.Reason != "NO_LEADER" {
			t.Errorf("told %+v, want the member's reason", w.breaks[0])
		}
	}, tenure.OnKeys("k"))
}

// isBreak tests that a break is told as one: who reads has nothing whose outcome might be unknown.
func isBreak(t *testing.T, cause error, text string) {
	t.Helper()
	if !errors.Is(cause, tenure.ErrUnavailable) || errors.Is(cause, tenure.ErrOutcomeUnknown) || tenure.AppliedOf(cause) != tenure.AppliedNo {
		t.Errorf("told %v of the kind %v, applied: %s; want ErrUnavailable, and nothing applied", cause, tenure.KindOf(cause), tenure.AppliedOf(cause))
	}
	if want := "unavailable: " + text; cause.Error() != want {
		t.Errorf("told %q, want %q", cause, want)
	}
}

func TestTheStateOfAWatchBeginsAnewAfterABreak(t *testing.T) {
	inWatch(t, func(t *testing.T, w *watching) {
		<-w.requests
		w.initial(false, "gone")
		w.cluster.members[0].Refuse(true)
		pass(time.Second)
		w.cluster.members[0].Refuse(false)
		if again := <-w.requests; !again.GetInitial() || again.GetResumeToken() != "" {
			t.Errorf("went on with %v, want the state anew", again)
		}
		w.initial(false, "a")
		w.initial(true, "b")
		got := (<-w.seen).event
		if len(got.Initial) != 2 || got.Initial[0].Key != "a" || got.Initial[1].Key != "b" || got.More {
			t.Errorf("got %+v, want a and b", got)
		}
	}, tenure.OnPrefix(""), tenure.WithInitial())
}

func TestAStateInPartsIsNotBegunAnew(t *testing.T) {
	inWatch(t, func(t *testing.T, w *watching) {
		<-w.requests
		w.initial(false, "a")
		if got := (<-w.seen).event; len(got.Initial) != 1 || !got.More {
			t.Errorf("got %+v, want the first part", got)
		}
		w.cluster.members[0].Refuse(true)
		if got := <-w.seen; !errors.Is(got.err, tenure.ErrUnavailable) {
			t.Errorf("got %+v, want ErrUnavailable", got)
		}
	}, tenure.OnPrefix(""), tenure.WithInitial(), tenure.InParts())
}

func TestAStateInPartsIsWholeWithTheLast(t *testing.T) {
	inWatch(t, func(t *testing.T, w *watching) {
		<-w.requests
		w.initial(false, "a")
		w.initial(true, "b")
		w.event(9)
		for i, want := range []struct {
			key  string
			more bool
		}{{"a", true}, {"b", false}} {
			if got := (<-w.seen).event; len(got.Initial) != 1 || got.Initial[0].Key != want.key || got.More != want.more {
				t.Errorf("part %d: got %+v, want %+v", i, got, want)
			}
		}
		if got := (<-w.seen).event; got.Revision != 9 {
			t.Errorf("got %+v, want the event after the state", got)
		}
	}, tenure.OnPrefix(""), tenure.WithInitial(), tenure.InParts())
}
