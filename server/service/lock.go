package service

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
)

// GetLock serves LockService.
func (a *Locks) GetLock(ctx context.Context, r *tenurev1.GetLockRequest) (*tenurev1.GetLockResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, err
	}
	info, known, err := s.Lock(r.GetKey())
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND,
			"there is no lock on %q: it has no holder, no waiter and no recent holder", r.GetKey())
	}
	lock := call.LockToProto(info.State, s.At.HistoryID, a.Timers)
	for _, p := range info.Past {
		lock.Past = append(lock.Past, call.PastToProto(p))
	}
	if err = a.addHolds(s, lock); err != nil {
		return nil, err
	}
	if err = addPlaces(s, lock); err != nil {
		return nil, err
	}
	sessions, err := a.holdersAt(s, lock)
	if err != nil {
		return nil, err
	}
	if !r.GetRead().GetStale() {
		shown := &call.ShownTimes{}
		shown.AddLock(lock)
		for _, session := range sessions {
			shown.AddSession(session)
		}
		a.AskTimes(ctx, shown)
	}
	return &tenurev1.GetLockResponse{Header: a.Header(s.At), Lock: lock, Sessions: sessions}, nil
}

// addHolds replaces a lock's first holds by as many as an answer may show.
func (a *Locks) addHolds(s *call.Snapshot, lock *tenurev1.Lock) error {
	if int(lock.GetHolders()) > len(lock.GetHolds()) {
		holds, _, err := s.Holds(lock.GetKey(), 0, call.LockHoldsShown)
		if err != nil {
			return err
		}
		lock.Holds = call.HoldsToProto(holds, s.At.HistoryID, a.Timers)
	}
	if int(lock.GetDelayedHolds()) > len(lock.GetDelayed()) {
		holds, _, err := s.DelayedHolds(lock.GetKey(), 0, call.LockHoldsShown)
		if err != nil {
			return err
		}
		lock.Delayed = call.HoldsToProto(holds, s.At.HistoryID, a.Timers)
	}
	return nil
}

// addPlaces adds a lock's first waiters, as many as an answer may show.
func addPlaces(s *call.Snapshot, lock *tenurev1.Lock) error {
	if lock.GetWaiters() == 0 {
		return nil
	}
	waiters, _, err := s.Waiters(lock.GetKey(), 0, call.LockHoldsShown)
	if err != nil {
		return err
	}
	for i, w := range waiters {
		place := placeToProto(w, i)
		if id, err := storage.SessionIDFromBytes(w.Record.GetSessionId()); err == nil {
			record, _, err := s.Session(id)
			if err != nil {
				return err
			}
			place.SessionName = record.GetName()
		}
		lock.Places = append(lock.Places, place)
	}
	return nil
}

// placeToProto returns a place in a queue.
func placeToProto(w storage.WaiterEntry, position int) *tenurev1.Place {
	return &tenurev1.Place{
		Key:       w.Key,
		Place:     w.Place,
		Position:  uint32(position),
		SessionId: call.SessionText(w.Record.GetSessionId()),
		Owner:     w.Record.GetOwner(),
		Mode:      call.ModeToProto(w.Record.GetMode()),
		Permits:   w.Record.GetPermits(),
		QueueTime: call.TimeToProto(w.Record.GetQueueTimeMs()),
	}
}

// holdersAt returns the sessions of the holds that an answer shows, each once, so that people can find the holder. Those
// of delayed holds may have ended; they are left out once they are forgotten.
func (a *Locks) holdersAt(s *call.Snapshot, lock *tenurev1.Lock) ([]*tenurev1.Session, error) {
	var sessions []*tenurev1.Session
	seen := map[string]bool{}
	bytes := 0
	for _, h := range slices.Concat(lock.GetHolds(), lock.GetDelayed()) {
		text := h.GetSequencer().GetSessionId()
		id, err := storage.ParseSessionID(text)
		if err != nil || seen[text] || bytes > call.PageBytesMax {
			continue
		}
		seen[text] = true
		session, _, err := a.SessionAt(s, id)
		if e := reason.Of(err); e != nil && e.Reason == tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND {
			continue
		}
		if err != nil {
			return nil, err
		}
		bytes += proto.Size(session)
		sessions = append(sessions, session)
	}
	return sessions, nil
}

// ListLocks serves LockService.
func (a *Locks) ListLocks(ctx context.Context, r *tenurev1.ListLocksRequest) (*tenurev1.ListLocksResponse, error) {
	if err := call.CheckPrefix("prefix", r.GetPrefix(), call.KeyBytesMax); err != nil {
		return nil, err
	}
	size, err := call.PageSize(r.GetPageSize())
	if err != nil {
		return nil, err
	}
	olderThan, err := call.CheckDuration("older_than", r.GetOlderThan())
	if err != nil {
		return nil, err
	}
	var session storage.SessionID
	if r.GetSessionId() != "" {
		if session, err = call.ParseSession("session_id", r.GetSessionId()); err != nil {
			return nil, err
		}
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, err
	}
	waiting := ""
	if r.GetWaiting() {
		waiting = "waiting"
	}
	query := call.PageQuery{List: "locks", Filters: []string{
		r.GetPrefix(), r.GetSessionId(), r.GetHeldBy(), waiting, olderThan.String(),
	}}
	after, err := query.After(s.At, r.GetPageToken())
	if err != nil {
		return nil, err
	}
	page := &lockPage{api: a, Snapshot: s, request: r, size: size, last: after}
	if r.GetOlderThan() != nil {
		page.grantedBeforeMs = time.Now().Add(-olderThan).UnixMilli()
	}
	fill := page.fill
	if r.GetSessionId() != "" {
		fill = func() (bool, error) { return page.fillFromSession(session) }
	}
	more, err := fill()
	if err != nil {
		return nil, err
	}
	response := &tenurev1.ListLocksResponse{Header: a.Header(s.At), Locks: page.locks}
	if more {
		response.NextPageToken = query.Token(s.At, page.last)
	}
	if !r.GetRead().GetStale() {
		shown := &call.ShownTimes{}
		for _, lock := range page.locks {
			shown.AddLock(lock)
		}
		a.AskTimes(ctx, shown)
	}
	return response, nil
}

// lockPage is a page of locks under way.
type lockPage struct {
	*call.Snapshot
	api             *Locks
	request         *tenurev1.ListLocksRequest
	size            int
	grantedBeforeMs int64 // zero: any

	locks   []*tenurev1.Lock
	bytes   int
	scanned int    // locks and holds that were looked at
	last    string // last key that was looked at
}

// fill looks at locks in order, at a bounded number of them and of their holds.
func (p *lockPage) fill() (more bool, err error) {
	for !p.full() {
		infos, more, err := p.Locks(p.request.GetPrefix(), p.last, call.ItemsAtOnce)
		if err != nil {
			return false, err
		}
		for _, info := range infos {
			if p.full() {
				return true, nil
			}
			if err := p.add(info); err != nil {
				return false, err
			}
		}
		if !more {
			return false, nil
		}
	}
	return true, nil
}

// fillFromSession looks at the locks that one session holds or waits for.
func (p *lockPage) fillFromSession(id storage.SessionID) (more bool, err error) {
	objects, err := p.SessionObjects(id)
	if err != nil {
		return false, err
	}
	var keys []string
	for _, h := range objects.Holds {
		keys = append(keys, h.GetKey())
	}
	for _, w := range objects.Places {
		keys = append(keys, w.Key)
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if key <= p.last || !strings.HasPrefix(key, p.request.GetPrefix()) {
			continue
		}
		if p.full() {
			return true, nil
		}
		info, known, err := p.Lock(key)
		if err != nil {
			return false, err
		}
		if !known {
			continue
		}
		if err := p.add(info); err != nil {
			return false, err
		}
	}
	return false, nil
}

// full tells whether the page has what a page may have, or has looked at as much as it may. The holds of one lock are never parted.
func (p *lockPage) full() bool {
	return len(p.locks) >= p.size || p.bytes >= call.PageBytesMax || p.scanned >= call.ScannedItemsMax
}

// add takes a lock if it is in use and passes the filters.
func (p *lockPage) add(info storage.LockInfo) error {
	state := info.State
	p.last = state.GetKey()
	p.scanned++
	if state.GetHolders()+state.GetWaiters()+state.GetDelayedHolds() == 0 || (p.request.GetWaiting() && state.GetWaiters() == 0) {
		return nil
	}
	if p.request.GetHeldBy() != "" || p.grantedBeforeMs != 0 {
		passes, err := p.holdPasses(state)
		if err != nil || !passes {
			return err
		}
	}
	lock := call.LockToProto(state, p.At.HistoryID, p.api.Timers)
	p.bytes += proto.Size(lock)
	p.locks = append(p.locks, lock)
	return nil
}

// holdPasses tells whether a valid hold of the lock passes the filters about holds.
func (p *lockPage) holdPasses(state *storev1.LockState) (bool, error) {
	for after, more := uint64(0), true; more; {
		var holds []*storev1.HoldState
		var err error
		if holds, more, err = p.Holds(state.GetKey(), after, call.PageItemsMax); err != nil {
			return false, err
		}
		p.scanned += len(holds)
		for _, h := range holds {
			after = h.GetLockIndex()
			old := p.grantedBeforeMs == 0 || h.GetGrantTimeMs() <= p.grantedBeforeMs
			if old && strings.HasPrefix(h.GetSessionName(), p.request.GetHeldBy()) {
				return true, nil
			}
		}
	}
	return false, nil
}
