package rest

import (
	"encoding/hex"
	"iter"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/selection"
	"github.com/tenure-io/tenure/server/watch"
)

// linesFor returns how the answers to a request become lines: each is one, but a watch's events each get a line of their
// own, for tools that read line by line.
func linesFor(request proto.Message) func(proto.Message) iter.Seq[proto.Message] {
	watching, ok := request.(*tenurev1.WatchRequest)
	if !ok {
		return whole
	}
	selectors, err := selection.Of(watching)
	if err != nil {
		return whole // the service refuses it too, with a better answer
	}
	return func(answer proto.Message) iter.Seq[proto.Message] {
		message, ok := answer.(*tenurev1.WatchResponse)
		if !ok || len(message.GetEvents().GetEvents()) < 2 {
			return whole(answer)
		}
		return eventLines(selectors, message)
	}
}

// whole is an answer as one line.
func whole(answer proto.Message) iter.Seq[proto.Message] {
	return func(yield func(proto.Message) bool) { yield(answer) }
}

// eventLines yields a message of events as one message for each event, just as if the service had sent it so: a watch can
// be resumed after each line.
func eventLines(selectors watch.Selectors, message *tenurev1.WatchResponse) iter.Seq[proto.Message] {
	return func(yield func(proto.Message) bool) {
		events := message.GetEvents().GetEvents()
		for i, event := range events {
			line := &tenurev1.WatchResponse{
				Header:      message.GetHeader(),
				ResumeToken: message.GetResumeToken(),
				Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{
					Events: events[i : i+1], More: message.GetEvents().GetMore(),
				}},
			}
			if i < len(events)-1 {
				more := events[i+1].GetRevision() == event.GetRevision()
				line.GetEvents().More = more
				line.Header, line.ResumeToken = between(selectors, message.GetHeader(), event, more)
			}
			if !yield(line) {
				return
			}
		}
	}
}

// between returns header and resume token of a line that ends after an event, in the middle of its revision or not.
func between(
	selectors watch.Selectors, header *tenurev1.ResponseHeader, after *tenurev1.Event, more bool,
) (*tenurev1.ResponseHeader, string) {
	place := watch.Position{Revision: after.GetRevision(), Index: watch.Whole}
	reached := place.Revision
	if more {
		place.Index = after.GetIndex()
		reached-- // this one is not whole yet
	}
	at := &tenurev1.ResponseHeader{
		ClusterId: header.GetClusterId(), HistoryId: header.GetHistoryId(), MemberId: header.GetMemberId(),
		Revision: reached, Term: header.GetTerm(), Filtered: header.GetFiltered(),
	}
	history, err := hex.DecodeString(header.GetHistoryId())
	if err != nil || len(history) != len([16]byte{}) {
		return at, "" // then the last line of the message has the next token
	}
	return at, selection.NewResumer([16]byte(history), selectors).Token(place)
}
