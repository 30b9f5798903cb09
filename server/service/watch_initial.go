package service

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// initialPartBytes is how large a part of the initial state may become before it is sent.
const initialPartBytes = 256 << 10

// initialState sends the state of what a watch selects, from one snapshot, in parts.
type initialState struct {
	api      *Watches
	at       *call.Snapshot
	keysOnly bool
	send     func(*tenurev1.WatchInitial) error
	part     *tenurev1.WatchInitial
	bytes    int
}

// sendAll sends the state and marks the last part.
func (i *initialState) sendAll(s watch.Selectors) error {
	i.part = &tenurev1.WatchInitial{}
	if err := i.sendKeys(s); err != nil {
		return err
	}
	if err := i.sendLocks(s); err != nil {
		return err
	}
	if err := i.sendSessions(s); err != nil {
		return err
	}
	i.part.Complete = true
	return i.send(i.part)
}

// add counts what was added to the part, and sends it when it is large.
func (i *initialState) add(m proto.Message) error {
	i.bytes += proto.Size(m)
	if i.bytes < initialPartBytes {
		return nil
	}
	part := i.part
	i.part, i.bytes = &tenurev1.WatchInitial{}, 0
	return i.send(part)
}

// span is the keys from start to before end; an empty end is the end of all keys.
type span struct{ start, end string }

// spansOf returns disjoint spans in order that cover keys, prefixes and a range.
func spansOf(keys, prefixes []string, rangeStart, rangeEnd string) []span {
	var spans []span
	for _, k := range keys {
		spans = append(spans, span{start: k, end: k + "\x00"})
	}
	for _, p := range prefixes {
		spans = append(spans, span{start: p, end: prefixEnd(p)})
	}
	if rangeEnd != "" {
		spans = append(spans, span{start: rangeStart, end: rangeEnd})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var merged []span
	for _, s := range spans {
		last := len(merged) - 1
		switch {
		case last < 0 || merged[last].end != "" && merged[last].end < s.start:
			merged = append(merged, s)
		case merged[last].end != "" && (s.end == "" || s.end > merged[last].end):
			merged[last].end = s.end
		}
	}
	return merged
}

// prefixEnd returns the first key after all that begin with a prefix; empty if there is none.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for n := len(end) - 1; n >= 0; n-- {
		if end[n] != 0xff {
			end[n]++
			return string(end[:n+1])
		}
	}
	return ""
}

// covers reports whether a key comes before the end of the span.
func (s span) covers(key string) bool { return s.end == "" || key < s.end }

func (i *initialState) sendKeys(s watch.Selectors) error {
	for _, sp := range spansOf(s.Keys, s.Prefixes, s.RangeStart, s.RangeEnd) {
		if err := i.sendKeySpan(sp); err != nil {
			return err
		}
	}
	return nil
}

func (i *initialState) sendKeySpan(sp span) error {
	if sp.start != "" {
		k, ok, err := i.at.Get(sp.start)
		if err != nil {
			return err
		}
		if ok {
			kv := call.KeyToProto(k)
			if i.keysOnly {
				kv.Value = nil
			}
			i.part.Kvs = append(i.part.Kvs, kv)
			if err := i.add(kv); err != nil {
				return err
			}
		}
		if sp.end == sp.start+"\x00" {
			return nil
		}
	}
	q := storage.ListQuery{After: sp.start, Limit: call.PageItemsMax, SizeBytesMax: initialPartBytes, KeysOnly: i.keysOnly}
	for more := true; more; {
		page, rest, err := i.at.List(q)
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

func (i *initialState) sendLocks(s watch.Selectors) error {
	for _, sp := range spansOf(s.Locks, s.LockPrefixes, "", "") {
		if err := i.sendLockSpan(sp); err != nil {
			return err
		}
	}
	return nil
}

func (i *initialState) sendLockSpan(sp span) error {
	if sp.start != "" {
		info, ok, err := i.at.Lock(sp.start)
		if err != nil {
			return err
		}
		if ok {
			if err := i.addLock(info); err != nil {
				return err
			}
		}
		if sp.end == sp.start+"\x00" {
			return nil
		}
	}
	after := sp.start
	for more := true; more; {
		page, rest, err := i.at.Locks("", after, call.PageItemsMax/10)
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
func (i *initialState) addLock(info storage.LockInfo) error {
	l := info.State
	if l.GetHolders() == 0 && l.GetWaiters() == 0 && l.GetDelayedHolds() == 0 {
		return nil
	}
	lock := call.LockToProto(l, i.at.At.HistoryID, i.api.Timers)
	i.part.Locks = append(i.part.Locks, lock)
	return i.add(lock)
}

func (i *initialState) sendSessions(s watch.Selectors) error {
	if !s.AllSessions {
		for _, id := range s.Sessions {
			record, live, err := i.at.Session(id)
			if err != nil {
				return err
			}
			if !live {
				continue
			}
			session := i.api.WithTimer(id, call.SessionToProto(id, record))
			i.part.Sessions = append(i.part.Sessions, session)
			if err := i.add(session); err != nil {
				return err
			}
		}
		return nil
	}
	var after storage.SessionID
	for more := true; more; {
		page, rest, err := i.at.Sessions(after, call.ItemsAtOnce)
		if err != nil {
			return err
		}
		more = rest && len(page) > 0
		for _, e := range page {
			after = e.ID
			session := i.api.WithTimer(e.ID, call.SessionToProto(e.ID, e.Record))
			i.part.Sessions = append(i.part.Sessions, session)
			if err := i.add(session); err != nil {
				return err
			}
		}
	}
	return nil
}
