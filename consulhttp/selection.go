package consulhttp

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// selection is what a request shows, and so waits for.
type selection struct {
	request *tenurev1.WatchRequest
	// also returns what else counts, if it must be read to be known; nil, or no request, is nothing. Whoever may not watch it waits without it.
	also func(ctx context.Context) (selection, error)
	// counts reports whether an event is a change of what is shown; nil is always. It may call.
	counts func(ctx context.Context, e *tenurev1.Event) (bool, error)
	// counted names counts and also: two that do not count the same have different names where their requests are equal.
	counted string
	// values says that the values of keys are shown.
	values bool
	// whole says that the watch is refused if the caller may not see all of it.
	whole bool
}

// inPart reports whether the watch may show its caller a part: not if the selection names all that it is about.
func (s selection) inPart() bool {
	return !s.whole && len(s.request.GetKeys())+len(s.request.GetSessionIds()) == 0
}

// name names the events that the selection counts.
func (s selection) name() (string, error) {
	request, err := proto.MarshalOptions{Deterministic: true}.Marshal(s.request)
	return strconv.FormatBool(s.values) + s.counted + "\x00" + string(request), err
}

// awaitEvent waits for the first event after a revision that counts for a selection. At an agent it continues with another member when
// the one that it watches is gone: all know the same history. But what a caller sees who sees only a part may have changed in between.
func (c *core) awaitEvent(ctx context.Context, s selection, after uint64) (uint64, error) {
	for again := false; ; again = true {
		revision, part, err := c.awaitEventOnce(ctx, s, after, again)
		if c.options.Agent == nil || !broken(err) {
			return revision, err
		}
		if part {
			return 0, reply.ErrRightsChanged
		}
		pause := time.NewTimer(rewatchPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return 0, ctx.Err()
		}
	}
}

// awaitEventOnce is awaitEvent with one member. It reports whether the caller sees only a part; then it does not watch again.
func (c *core) awaitEventOnce(ctx context.Context, s selection, after uint64, again bool) (_ uint64, part bool, _ error) {
	request := s.request
	request.KeysOnly = !s.values // What the watch takes and shows is what the list takes and shows.
	request.AfterRevision = after
	request.ProgressInterval = durationpb.New(progressInterval)
	request.VisibleOnly = s.inPart()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.watches.Watch(ctx, request)
	if err != nil {
		return 0, false, err
	}
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return 0, part, nil
		case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE:
			if after == indexEmpty && reply.RevisionOf(err) == 0 {
				return c.awaitEventOnce(ctx, s, 0, again)
			}
			return 0, part, nil
		case err != nil:
			return 0, part, err
		}
		if message.GetStarted() != nil && message.GetHeader().GetFiltered() {
			part = true
			s.whole, err = c.namesAll(ctx, s)
			switch {
			case err != nil:
				return 0, part, err
			case s.whole:
				return c.awaitEventOnce(ctx, s, after, again)
			case again:
				return 0, part, reply.ErrRightsChanged
			}
		}
		for _, e := range message.GetEvents().GetEvents() {
			if s.counts == nil {
				return e.GetRevision(), part, nil
			}
			if counts, err := s.counts(ctx, e); counts || err != nil {
				return e.GetRevision(), part, err
			}
		}
	}
}

// namesAll reports whether the caller is shown the names of all services, although it may not watch all of them, which takes more rights: it would wait in
// vain for changes that the list shows.
func (c *core) namesAll(ctx context.Context, s selection) (bool, error) {
	if !s.request.GetAllServices() {
		return false, nil
	}
	list, err := c.entries.ListServices(ctx, &tenurev1.ListServicesRequest{PageSize: 1, Read: ask.ReadOptions(ask.Stale), VisibleOnly: true})
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_AUTH_NOT_BOOTSTRAPPED {
		return false, nil // It is a part, of which there is more.
	}
	return err == nil && !list.GetHeader().GetFiltered(), err
}

// broken reports whether a watch ended with the connection to its member, or could not begin for want of one.
func broken(err error) bool {
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_STOPPING:
		return true
	case tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED:
	default:
		return false
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
		return true
	default:
		return false
	}
}
