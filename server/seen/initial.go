package seen

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/query"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

const (
	// initialPartBytes is how large a part of the initial state may become before it is sent.
	initialPartBytes = 256 << 10
	// aliveEvery is how many instances are looked at between two looks whether the call has ended.
	aliveEvery = 1024
)

// State sends the state of what a watch selects, from one snapshot, in parts.
type State struct {
	// Caller serves the call.
	Caller *call.Caller
	// At is the snapshot.
	At *call.Snapshot
	// Selectors are what the watch selects.
	Selectors watch.Selectors
	// Sight is what its caller sees; nil: all that is selected.
	Sight *access.Sight
	// KeysOnly leaves the values of keys out.
	KeysOnly bool
	// Send sends a part.
	Send func(*tenurev1.WatchInitial) error

	part  *tenurev1.WatchInitial
	bytes int
}

// SendAll sends the state and marks the last part. It ends with ctx, also where there is nothing to send for long.
func (i *State) SendAll(ctx context.Context) error {
	i.part = &tenurev1.WatchInitial{}
	for _, send := range []func(context.Context) error{i.sendKeys, i.sendLocks, i.sendSessions, i.sendCatalog, i.sendQueries} {
		if err := send(ctx); err != nil {
			return err
		}
	}
	i.part.Complete = true
	return i.Send(i.part)
}

// alive returns why a call has ended; nil: it has not.
func alive(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// add counts what was added to the part, and sends it when it is large.
func (i *State) add(m proto.Message) error {
	i.bytes += proto.Size(m)
	if i.bytes < initialPartBytes {
		return nil
	}
	part := i.part
	i.part, i.bytes = &tenurev1.WatchInitial{}, 0
	return i.Send(part)
}

func (i *State) sendKeys(ctx context.Context) error {
	s := &i.Selectors
	for _, sp := range i.spansOf(s.Keys, s.Prefixes, span{s.RangeStart, s.RangeEnd}) {
		if err := i.sendKeySpan(ctx, sp); err != nil {
			return err
		}
	}
	return nil
}

func (i *State) sendKeySpan(ctx context.Context, sp span) error {
	if sp.start != "" {
		if err := i.sendKey(sp.start); err != nil {
			return err
		}
		if sp == one(sp.start) {
			return alive(ctx)
		}
	}
	q := storage.ListQuery{
		Prefix: sp.prefix(), After: sp.start, Limit: call.PageItemsMax, SizeBytesMax: initialPartBytes, KeysOnly: i.KeysOnly,
	}
	for more := true; more; {
		if err := alive(ctx); err != nil {
			return err
		}
		page, rest, err := i.At.List(q)
		if err != nil {
			return err
		}
		more = rest && len(page) > 0
		for n, k := range page {
			if !sp.covers(k.GetKey()) {
				return nil
			}
			q.After = k.GetKey()
			page[n] = nil // Once the part is encoded, nothing else keeps the value while the client reads.
			kv := call.KeyToProto(k)
			i.part.Kvs = append(i.part.Kvs, kv)
			if err := i.add(kv); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendKey sends a key, if it is there.
func (i *State) sendKey(key string) error {
	k, ok, err := i.At.Get(key)
	if err != nil || !ok {
		return err
	}
	kv := call.KeyToProto(k)
	if i.KeysOnly {
		kv.Value = nil
	}
	i.part.Kvs = append(i.part.Kvs, kv)
	return i.add(kv)
}

func (i *State) sendLocks(ctx context.Context) error {
	for _, sp := range i.spansOf(i.Selectors.Locks, i.Selectors.LockPrefixes, span{}) {
		if err := i.sendLockSpan(ctx, sp); err != nil {
			return err
		}
	}
	return nil
}

func (i *State) sendLockSpan(ctx context.Context, sp span) error {
	if sp.start != "" {
		info, ok, err := i.At.Lock(sp.start)
		if err != nil {
			return err
		}
		if ok {
			if err := i.addLock(info); err != nil {
				return err
			}
		}
		if sp.end == sp.start+"\x00" {
			return alive(ctx)
		}
	}
	after := sp.start
	for more := true; more; {
		if err := alive(ctx); err != nil {
			return err
		}
		page, rest, err := i.At.Locks(sp.prefix(), after, call.PageItemsMax/10)
		if err != nil {
			return err
		}
		more = rest && len(page) > 0
		for _, info := range page {
			after = info.State.GetKey()
			if !sp.covers(after) {
				return nil
			}
			if err := i.addLock(info); err != nil {
				return err
			}
		}
	}
	return nil
}

// addLock adds a lock that is in use.
func (i *State) addLock(info storage.LockInfo) error {
	l := info.State
	if l.GetHolders() == 0 && l.GetWaiters() == 0 && l.GetDelayedHolds() == 0 {
		return nil
	}
	lock := call.LockToProto(l, i.At.At.HistoryID, i.Caller.Timers)
	i.part.Locks = append(i.part.Locks, lock)
	return i.add(lock)
}

func (i *State) sendSessions(ctx context.Context) error {
	if !i.Selectors.AllSessions {
		return i.sendNamedSessions()
	}
	var after storage.SessionID
	for more := true; more; {
		if err := alive(ctx); err != nil {
			return err
		}
		page, rest, err := i.At.Sessions(after, call.ItemsAtOnce)
		if err != nil {
			return err
		}
		more = rest && len(page) > 0
		for _, e := range page {
			after = e.ID
			if !i.seesSession(e) {
				continue
			}
			if err := i.sendSession(e.ID, e.Record); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendNamedSessions sends the sessions that the watch names.
func (i *State) sendNamedSessions() error {
	for _, id := range i.Selectors.Sessions {
		record, live, err := i.At.Session(id)
		if err == nil && live {
			err = i.sendSession(id, record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seesSession reports whether the caller sees one of all sessions. It may read those that the watch names.
func (i *State) seesSession(e storage.SessionEntry) bool {
	return i.Sight == nil || slices.Contains(i.Selectors.Sessions, e.ID) || authz.SeesSession(i.Sight, factsOf(e.Record))
}

// factsOf returns what rules ask of a session.
func factsOf(r *storev1.SessionRecord) authz.SessionFacts {
	return authz.SessionFacts{Name: r.GetName(), Node: r.GetNode(), Maker: r.GetPrincipal()}
}

// sendSession sends a session, unless the end list has ended it.
func (i *State) sendSession(id storage.SessionID, record *storev1.SessionRecord) error {
	session, live, err := i.Caller.ShownSession(i.At, id, record)
	if err != nil || !live {
		return err
	}
	i.part.Sessions = append(i.part.Sessions, session)
	return i.add(session)
}

// sendQueries sends all prepared queries, if they are selected.
func (i *State) sendQueries(ctx context.Context) error {
	if !i.Selectors.AllQueries {
		return nil
	}
	return i.At.Queries(storage.QueryID{}, func(q storage.QueryEntry) (bool, error) {
		if i.Sight != nil && !authz.SeesQuery(i.Sight, q.Record.GetQuery().GetName()) {
			return true, alive(ctx)
		}
		shown := query.ToProto(q)
		i.part.Queries = append(i.part.Queries, shown)
		return true, i.add(shown)
	})
}
