package service

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/watch"
)

// Observe serves ElectionService. It follows the events of the key and its lock, and sends every change of leader or
// value. When history it has not seen is forgotten, it begins again with the present leader and says that there is a gap.
func (a *Elections) Observe(
	r *tenurev1.ObserveRequest, stream grpc.ServerStreamingServer[tenurev1.ObserveResponse],
) error {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return err
	}
	for gap := false; ; gap = true {
		err := a.observe(stream.Context(), r.GetKey(), gap, stream.Send)
		if !errors.Is(err, watch.ErrCompacted) {
			return err
		}
	}
}

// observe sends the present leader and then every change, until ctx ends or history is forgotten.
func (a *Elections) observe(
	ctx context.Context, key string, gap bool, send func(*tenurev1.ObserveResponse) error,
) error {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return err
	}
	at := s.At
	office, err := a.officeAt(s, key)
	a.CloseSnapshot(s)
	if err != nil {
		return err
	}
	if err := send(&tenurev1.ObserveResponse{Header: a.Header(at), Leader: office.leader(), Gap: gap}); err != nil {
		return err
	}
	return a.hub.Watch(ctx, watch.Request{
		Selectors: watch.Selectors{Keys: []string{key}, Locks: []string{key}}.Normal(),
		After:     watch.Position{Revision: at.Revision, Index: watch.Whole},
	}, func(b watch.Batch) error {
		for i, e := range b.Events {
			changed := office.follow(a, e)
			office.unsent = office.unsent || changed
			last := i+1 == len(b.Events) || b.Events[i+1].GetRevision() != e.GetRevision()
			if !office.unsent || !last {
				continue
			}
			office.unsent = false
			err := send(&tenurev1.ObserveResponse{Header: a.headerAt(e.GetRevision()), Leader: office.leader()})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
