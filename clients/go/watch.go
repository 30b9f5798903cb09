package tenure

import (
	"context"
	"errors"
	"iter"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// A watch that says nothing for as long as silenceMax is taken for dead: a member says something every progressEvery.
const (
	progressEvery = 5 * time.Second
	silenceMax    = 15 * time.Second
)

// EventType is the kind of an event.
type EventType int32

// The types of events.
const (
	// EventInitial is the current state, the first event of a watch WithInitial.
	EventInitial = EventType(-1)
	// EventPut: a key was written.
	EventPut = EventType(tenurev1.EventType_EVENT_TYPE_PUT)
	// EventDeleted: a key was deleted.
	EventDeleted = EventType(tenurev1.EventType_EVENT_TYPE_DELETED)
	// EventHolderGranted: a key's exclusive lock was granted, its value unchanged.
	EventHolderGranted = EventType(tenurev1.EventType_EVENT_TYPE_HOLDER_GRANTED)
	// EventHolderReleased: a key's exclusive lock was released, its value unchanged.
	EventHolderReleased = EventType(tenurev1.EventType_EVENT_TYPE_HOLDER_RELEASED)
	// EventHolderLost: a key's exclusive lock was lost, its value unchanged.
	EventHolderLost = EventType(tenurev1.EventType_EVENT_TYPE_HOLDER_LOST)
	// EventLockQueued: a waiter joined a lock's queue.
	EventLockQueued = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED)
	// EventLockLeft: a waiter left a lock's queue without a grant.
	EventLockLeft = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_LEFT)
	// EventLockGranted: a lock was granted.
	EventLockGranted = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_GRANTED)
	// EventLockReleased: a lock was released.
	EventLockReleased = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_RELEASED)
	// EventLockLost: a hold was lost by force.
	EventLockLost = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_LOST)
	// EventLockDelayBegun: a lock-delay started.
	EventLockDelayBegun = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_BEGUN)
	// EventLockDelayEnded: a lock-delay ended.
	EventLockDelayEnded = EventType(tenurev1.EventType_EVENT_TYPE_LOCK_DELAY_ENDED)
	// EventSessionBegun: a session was opened.
	EventSessionBegun = EventType(tenurev1.EventType_EVENT_TYPE_SESSION_BEGUN)
	// EventSessionTakenOver: a session was taken over.
	EventSessionTakenOver = EventType(tenurev1.EventType_EVENT_TYPE_SESSION_TAKEN_OVER)
	// EventSessionEnded: a session ended.
	EventSessionEnded = EventType(tenurev1.EventType_EVENT_TYPE_SESSION_ENDED)
	// EventNodePut: a node was registered or changed.
	EventNodePut = EventType(tenurev1.EventType_EVENT_TYPE_NODE_PUT)
	// EventNodeDeleted: a node was deregistered.
	EventNodeDeleted = EventType(tenurev1.EventType_EVENT_TYPE_NODE_DELETED)
	// EventServicePut: an instance of a service was registered or changed.
	EventServicePut = EventType(tenurev1.EventType_EVENT_TYPE_SERVICE_PUT)
	// EventServiceDeleted: an instance of a service was deregistered.
	EventServiceDeleted = EventType(tenurev1.EventType_EVENT_TYPE_SERVICE_DELETED)
	// EventCheckPut: a check was registered or changed, other than its status alone.
	EventCheckPut = EventType(tenurev1.EventType_EVENT_TYPE_CHECK_PUT)
	// EventCheckStatus: the status of a check changed.
	EventCheckStatus = EventType(tenurev1.EventType_EVENT_TYPE_CHECK_STATUS)
	// EventCheckDeleted: a check was deregistered.
	EventCheckDeleted = EventType(tenurev1.EventType_EVENT_TYPE_CHECK_DELETED)
	// EventQueryPut: a prepared query was created or changed.
	EventQueryPut = EventType(tenurev1.EventType_EVENT_TYPE_QUERY_PUT)
	// EventQueryDeleted: a prepared query was deleted, also with its session.
	EventQueryDeleted = EventType(tenurev1.EventType_EVENT_TYPE_QUERY_DELETED)
)

// Event is one change, or the state at the start of a watch.
type Event struct {
	Type EventType
	// Revision of the change, and its position within the revision.
	Revision uint64
	Index    uint32
	// Key of the key or lock; empty for sessions.
	Key string
	// KV is the key after the change. Previous is the key before it, if WithPrevious was given and history still has it.
	KV, Previous *KeyValue
	// Hold is set with events of locks that are granted, released, lost or delayed.
	Hold *HoldInfo
	// Query is the prepared query of an event of one. Of a deleted one it has only ID, Name and, if it was deleted with its session, SessionID.
	Query *Query
	// SessionID is the session, or the session of the hold or place.
	SessionID string
	// Initial are the keys of an EventInitial. More says that the next event has more of them: see InParts.
	Initial []*KeyValue
	More    bool
	// InitialCatalog is what OnNodes, OnServices and OnEveryQuery select, of an EventInitial.
	InitialCatalog Catalog
	// ResumeToken lets another watch with the same selection resume after this event. Only the last event of each message
	// has one.
	ResumeToken string
	// Message is the event as received; nil for an EventInitial.
	Message *tenurev1.Event
}

// WatchOption selects what is watched, and where the watch starts.
type WatchOption func(*watchOptions)

type watchOptions struct {
	space   space
	request *tenurev1.WatchRequest
	onStart func(revision uint64)
	onBreak func(cause error)
	inParts bool
}

// OnKeys selects keys.
func OnKeys(keys ...string) WatchOption {
	return func(o *watchOptions) {
		for _, key := range keys {
			o.request.Keys = append(o.request.Keys, o.space.full(key))
		}
	}
}

// OnPrefix selects all keys with this prefix; "" matches every key of the namespace.
func OnPrefix(prefix string) WatchOption {
	return func(o *watchOptions) { o.request.Prefixes = append(o.request.Prefixes, o.space.full(prefix)) }
}

// OnLocks selects locks by key: events of their queues, grants, releases, losses and delays.
func OnLocks(keys ...string) WatchOption {
	return func(o *watchOptions) {
		for _, key := range keys {
			o.request.Locks = append(o.request.Locks, o.space.full(key))
		}
	}
}

// OnLockPrefix selects all locks whose key has this prefix.
func OnLockPrefix(prefix string) WatchOption {
	return func(o *watchOptions) { o.request.LockPrefixes = append(o.request.LockPrefixes, o.space.full(prefix)) }
}

// OnSessions selects sessions by id.
func OnSessions(ids ...string) WatchOption {
	return func(o *watchOptions) { o.request.SessionIds = append(o.request.SessionIds, ids...) }
}

// OnEverySession selects all sessions.
func OnEverySession() WatchOption {
	return func(o *watchOptions) { o.request.AllSessions = true }
}

// OnNodes selects nodes of the catalog by name: events of the nodes, their services and their checks. The event's Message has
// them.
func OnNodes(names ...string) WatchOption {
	return func(o *watchOptions) { o.request.Nodes = append(o.request.Nodes, names...) }
}

// OnServices selects services by name: events of their instances, and of every check that counts for one. The event's Message
// has them.
func OnServices(names ...string) WatchOption {
	return func(o *watchOptions) { o.request.Services = append(o.request.Services, names...) }
}

// OnEveryQuery selects all prepared queries.
func OnEveryQuery() WatchOption {
	return func(o *watchOptions) { o.request.AllQueries = true }
}

// WithInitial starts the watch with the current state of the selected keys, as one EventInitial.
func WithInitial() WatchOption {
	return func(o *watchOptions) { o.request.Initial = true }
}

// AfterRevision starts the watch after a revision. history, if not empty, is the history of that revision.
func AfterRevision(revision uint64, history string) WatchOption {
	return func(o *watchOptions) { o.request.AfterRevision, o.request.HistoryId = revision, history }
}

// FromToken resumes after the event of another watch with the same selection, by its ResumeToken.
func FromToken(token string) WatchOption {
	return func(o *watchOptions) { o.request.ResumeToken = token }
}

// WithPrevious includes the values before changes.
func WithPrevious() WatchOption {
	return func(o *watchOptions) { o.request.Previous = true }
}

// KeysOnly leaves out values.
func KeysOnly() WatchOption {
	return func(o *watchOptions) { o.request.KeysOnly = true }
}

// WithoutHolderChanges leaves out events of keys that are only about their exclusive lock. OnLocks selects events with
// more details.
func WithoutHolderChanges() WatchOption {
	return func(o *watchOptions) { o.request.Filter = &tenurev1.WatchFilter{NoHolderChanges: true} }
}

// InParts delivers the current state in several EventInitials, all but the last with More, so that it need not be in
// memory all together. If the connection breaks before the last part, the watch ends with ErrUnavailable, because all
// parts would be sent again.
func InParts() WatchOption {
	return func(o *watchOptions) { o.inParts = true }
}

// OnBreak calls f with the cause when a watch is interrupted, an *Error of the kind ErrUnavailable, and with nil when
// the watch has resumed: once each, however many attempts that takes. f must not block.
func OnBreak(f func(cause error)) WatchOption {
	return func(o *watchOptions) { o.onBreak = f }
}

// OnStart calls f once with the revision after which the watch delivers all changes.
func OnStart(f func(revision uint64)) WatchOption {
	return func(o *watchOptions) { o.onStart = f }
}

// Watch returns the selected changes, in order and each once, until ctx ends or the loop is left. It reconnects
// automatically. An error is the last element and says why the watch cannot continue: ctx ended, or ErrCompacted,
// ErrHistoryChanged, ErrTooSlow and so on. A slow loop costs the cluster nothing.
func (c *Client) Watch(ctx context.Context, options ...WatchOption) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		o := &watchOptions{space: c.space, request: &tenurev1.WatchRequest{}}
		for _, option := range options {
			option(o)
		}
		if c.space.prefix != "" && selectsNothing(o.request) {
			OnPrefix("")(o)
		}
		t := &teller{space: c.space, yield: yield, onStart: o.onStart, inParts: o.inParts}
		w := &watcher{client: c, request: o.request, handle: t.take, breaks: breaks{tell: o.onBreak}, inParts: o.inParts}
		err := w.run(ctx)
		if !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

func selectsNothing(r *tenurev1.WatchRequest) bool {
	return len(r.GetKeys())+len(r.GetPrefixes())+len(r.GetLocks())+len(r.GetLockPrefixes())+len(r.GetSessionIds())+
		len(r.GetNodes())+len(r.GetServices()) == 0 && !r.GetAllSessions() && !r.GetAllNodes() && !r.GetAllServices() && !r.GetAllQueries()
}

// errLeft says that a loop over a watch was left.
var errLeft = errors.New("the loop was left")

// teller makes events of messages.
type teller struct {
	space   space
	yield   func(*Event, error) bool
	onStart func(uint64)
	inParts bool
	state   []*KeyValue
	catalog Catalog
}

// take yields what is in a message.
func (t *teller) take(message *tenurev1.WatchResponse) error {
	if started := message.GetStarted(); started != nil && t.onStart != nil {
		t.onStart(started.GetAfterRevision())
		t.onStart = nil
	}
	if part := message.GetInitial(); part != nil {
		for _, kv := range part.GetKvs() {
			t.state = append(t.state, keyValue(t.space, kv))
		}
		t.catalog.Nodes = append(t.catalog.Nodes, part.GetNodes()...)
		t.catalog.Services = append(t.catalog.Services, part.GetServices()...)
		t.catalog.Checks = append(t.catalog.Checks, part.GetChecks()...)
		t.catalog.Queries = append(t.catalog.Queries, part.GetQueries()...)
		if !part.GetComplete() && !t.inParts {
			return nil
		}
		state, catalog := t.state, t.catalog
		t.state, t.catalog = nil, Catalog{}
		return t.give(&Event{
			Type: EventInitial, Initial: state, More: !part.GetComplete(), Revision: message.GetHeader().GetRevision(),
			ResumeToken: message.GetResumeToken(), InitialCatalog: catalog,
		})
	}
	events := message.GetEvents().GetEvents()
	for i, e := range events {
		event := t.event(e)
		if i == len(events)-1 {
			event.ResumeToken = message.GetResumeToken()
		}
		if err := t.give(event); err != nil {
			return err
		}
	}
	return nil
}

func (t *teller) give(event *Event) error {
	if !t.yield(event, nil) {
		return errLeft
	}
	return nil
}

func (t *teller) event(e *tenurev1.Event) *Event {
	event := &Event{
		Type: EventType(e.GetType()), Revision: e.GetRevision(), Index: e.GetIndex(), Key: t.space.own(e.GetKey()),
		KV: keyValue(t.space, e.GetKv()), Previous: keyValue(t.space, e.GetPrevious()), Message: e,
		SessionID: e.GetSession().GetSessionId(), Query: query(e.GetQuery()),
	}
	if hold := e.GetHold(); hold != nil {
		info := holdInfo(hold)
		event.Hold, event.SessionID = &info, info.SessionID
	}
	if place := e.GetPlace(); place != nil {
		event.SessionID = place.GetSessionId()
	}
	return event
}
