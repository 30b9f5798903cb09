package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

type watchStream = grpc.ServerStreamingServer[tenurev1.WatchResponse]

func started(revision uint64, token string) *tenurev1.WatchResponse {
	return &tenurev1.WatchResponse{ResumeToken: token, Message: &tenurev1.WatchResponse_Started{
		Started: &tenurev1.WatchStarted{AfterRevision: revision},
	}}
}

func events(token string, revisions ...uint64) *tenurev1.WatchResponse {
	list := &tenurev1.WatchEvents{}
	for _, r := range revisions {
		list.Events = append(list.Events, &tenurev1.Event{Revision: r, Type: tenurev1.EventType_EVENT_TYPE_PUT})
	}
	return &tenurev1.WatchResponse{ResumeToken: token, Message: &tenurev1.WatchResponse_Events{Events: list}}
}

func initialPart(token string, complete bool, keys ...string) *tenurev1.WatchResponse {
	part := &tenurev1.WatchInitial{Complete: complete}
	for _, key := range keys {
		part.Kvs = append(part.Kvs, &tenurev1.KeyValue{Key: key})
	}
	return &tenurev1.WatchResponse{ResumeToken: token, Message: &tenurev1.WatchResponse_Initial{Initial: part}}
}

// scriptedWatches returns a member whose n-th watch sends the n-th list of messages and then breaks.
func scriptedWatches(asked *[]*tenurev1.WatchRequest, scripts ...[]*tenurev1.WatchResponse) *fakeMember {
	return &fakeMember{watch: func(r *tenurev1.WatchRequest, s watchStream) error {
		*asked = append(*asked, r)
		if len(*asked) > len(scripts) {
			return status.Error(codes.OutOfRange, "no more")
		}
		for _, message := range scripts[len(*asked)-1] {
			if err := s.Send(message); err != nil {
				return err
			}
		}
		return status.Error(codes.Unavailable, "broken")
	}}
}

func TestWatcherGoesOnWhereItWas(t *testing.T) {
	var asked []*tenurev1.WatchRequest
	member := scriptedWatches(&asked,
		[]*tenurev1.WatchResponse{started(4, "t4"), events("t6", 5, 6)},
		[]*tenurev1.WatchResponse{started(6, "t6")},
		[]*tenurev1.WatchResponse{started(6, "t6"), events("t7", 7)},
	)
	w := &watcher{members: membersAt(t, member.serve(t)), request: &tenurev1.WatchRequest{
		Keys: []string{"k"}, AfterRevision: 4, HistoryId: "h",
	}}
	var got []uint64
	err := w.run(t.Context(), func(e *tenurev1.Event) error {
		got = append(got, e.GetRevision())
		return nil
	})
	if status.Code(err) != codes.OutOfRange {
		t.Errorf("got %v, want the refusal", err)
	}
	if want := []uint64{5, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("got events %v, want %v", got, want)
	}
	var tokens []string
	for i, r := range asked {
		tokens = append(tokens, r.GetResumeToken())
		if (r.GetAfterRevision() != 0) != (i == 0) {
			t.Errorf("watch %d: got after_revision %d", i+1, r.GetAfterRevision())
		}
	}
	if want := []string{"", "t6", "t6", "t7"}; !slices.Equal(tokens, want) {
		t.Errorf("got resume tokens %q, want %q", tokens, want)
	}
}

func TestWatcherGivesTheInitialStateOnceAndWhole(t *testing.T) {
	var asked []*tenurev1.WatchRequest
	member := scriptedWatches(&asked,
		[]*tenurev1.WatchResponse{started(4, "t4"), initialPart("", false, "a", "b")},
		[]*tenurev1.WatchResponse{started(5, "t5"), initialPart("", false, "a"), initialPart("t5", true, "c")},
		[]*tenurev1.WatchResponse{started(5, "t5"), events("t6", 6)},
	)
	var states [][]string
	w := &watcher{
		members: membersAt(t, member.serve(t)),
		request: &tenurev1.WatchRequest{Initial: true},
		initial: func(kvs []*tenurev1.KeyValue) error {
			var keys []string
			for _, kv := range kvs {
				keys = append(keys, kv.GetKey())
			}
			states = append(states, keys)
			return nil
		},
	}
	count := 0
	_ = w.run(t.Context(), func(*tenurev1.Event) error { count++; return nil }) // The script runs out.
	if len(states) != 1 || !slices.Equal(states[0], []string{"a", "c"}) || count != 1 {
		t.Errorf("got states %q and %d events, want [a c] once and 1", states, count)
	}
	if len(asked) < 3 || !asked[1].GetInitial() || asked[2].GetInitial() || asked[2].GetResumeToken() != "t5" {
		t.Errorf("got requests %v, want initial, initial, resume token t5", asked)
	}
}

func TestWatcherEndsByItsHandler(t *testing.T) {
	var asked []*tenurev1.WatchRequest
	member := scriptedWatches(&asked, []*tenurev1.WatchResponse{started(4, "t4"), events("t6", 5, 6)})
	w := &watcher{members: membersAt(t, member.serve(t)), request: &tenurev1.WatchRequest{}}
	count := 0
	err := w.run(t.Context(), func(*tenurev1.Event) error { count++; return context.DeadlineExceeded })
	if !errors.Is(err, context.DeadlineExceeded) || count != 1 || len(asked) != 1 {
		t.Errorf("got %v after %d events and %d watches, want the handler's error after 1 and 1", err, count, len(asked))
	}
}

func TestWatcherTellsABreakAndItsEndOnce(t *testing.T) {
	var asked []*tenurev1.WatchRequest
	member := scriptedWatches(&asked, []*tenurev1.WatchResponse{started(4, "t4")}, nil,
		[]*tenurev1.WatchResponse{started(4, "t4")}, []*tenurev1.WatchResponse{started(4, "t4"), events("t5", 5)})
	var told []string
	w := &watcher{members: membersAt(t, member.serve(t)), request: &tenurev1.WatchRequest{}, note: func(format string, args ...any) {
		told = append(told, fmt.Sprintf(format, args...))
	}}
	_ = w.run(t.Context(), func(*tenurev1.Event) error { return nil }) // It ends when the script does.
	broken := "The watch was interrupted (broken); trying again."
	want := []string{broken, "The watch goes on; nothing was missed.", broken}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
