package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// sessionShareRetry is after what time a caller that has its share of sessions may ask again. Sessions end by and by.
const sessionShareRetry = 5 * time.Second

// SessionShare divides the sessions that a cluster may have between callers. Who opened a session is part of the session, so
// every member counts the same, also after a restart.
type SessionShare struct {
	rooms *gate.Rooms
	tally *share.Tally
	store func() *storage.Store
}

// NewSessionShare returns the share of what a store has.
func NewSessionShare(rooms *gate.Rooms, store func() *storage.Store) *SessionShare {
	s := &SessionShare{rooms: rooms, store: store}
	s.tally = share.NewTally(s.count, time.Now)
	return s
}

// count counts the live sessions of all callers.
func (s *SessionShare) count(add func(share.Caller)) error {
	reader := s.store().NewReader()
	err := reader.SessionAddresses(func(address string) { add(s.rooms.Callers.OfText(address)) })
	return errors.Join(err, reader.Close())
}

// admit refuses a session to a caller that has its share.
func (s *SessionShare) admit(ctx context.Context, keyed bool) error {
	reader := s.store().NewReader()
	limits, err := reader.Limits()
	if err = errors.Join(err, reader.Close()); err != nil {
		return err
	}
	caller, total := s.rooms.CallerOf(ctx), limits.GetSessionsMax()
	allowed, err := s.tally.Allow(caller, int64(total), int64(s.store().Applied().Sessions))
	if err != nil || allowed {
		return err
	}
	refused := reason.New(tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		"%s has its share of the %d sessions that there can be; it grows when sessions end", caller, total).
		With("limit", "sessions_max").With("limit_value", strconv.FormatUint(total, 10)).With("cause", "share")
	refused.RetryAfter = sessionShareRetry
	if keyed {
		refused.Applied = reason.AppliedUnknown // By an attempt before this one.
	}
	return refused
}

// Register registers a metric of what was refused.
func (s *SessionShare) Register(registry prometheus.Registerer) error {
	return registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "tenure_server_shared_refused_total", Help: gate.SharedRefusedHelp,
		ConstLabels: prometheus.Labels{"limit": "sessions_max"},
	}, func() float64 { return float64(s.tally.Refused()) }))
}
