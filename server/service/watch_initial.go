package service

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/catalog"
	"github.com/tenure-io/tenure/server/query"
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
	if err := i.sendCatalog(s); err != nil {
		return err
	}
	if err := i.sendQueries(s); err != nil {
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
			if err := i.sendSession(id, record); err != nil {
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
			if err := i.sendSession(e.ID, e.Record); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendSession sends a session, unless the end list has ended it.
func (i *initialState) sendSession(id storage.SessionID, record *storev1.SessionRecord) error {
	session, live, err := i.api.ShownSession(i.at, id, record)
	if err != nil || !live {
		return err
	}
	i.part.Sessions = append(i.part.Sessions, session)
	return i.add(session)
}

// sendCatalog sends the nodes, services and checks that a watch selects: node by node, in order.
func (i *initialState) sendCatalog(s watch.Selectors) error {
	if !s.SelectsCatalog() {
		return nil
	}
	wanted := map[string]bool{} // nodes on which something may be selected
	for _, n := range s.Nodes {
		wanted[n] = true
	}
	for _, name := range s.Services {
		err := i.at.Instances(name, false, storage.EntryAt{}, func(at storage.EntryAt) (bool, error) {
			wanted[at.Node] = true
			return true, nil
		})
		if err != nil {
			return err
		}
	}
	all := s.AllNodes || s.AllServices
	return i.at.Nodes("", "", func(n storage.NodeEntry) (bool, error) {
		if !all && !wanted[n.Key] {
			return true, nil
		}
		return true, i.sendNode(s, n)
	})
}

// sendQueries sends all prepared queries, if they are selected.
func (i *initialState) sendQueries(s watch.Selectors) error {
	if !s.AllQueries {
		return nil
	}
	return i.at.Queries(storage.QueryID{}, func(q storage.QueryEntry) (bool, error) {
		shown := query.ToProto(q)
		i.part.Queries = append(i.part.Queries, shown)
		return true, i.add(shown)
	})
}

// sendNode sends what is selected of a node.
func (i *initialState) sendNode(s watch.Selectors, n storage.NodeEntry) error {
	whole := s.AllNodes || slices.Contains(s.Nodes, n.Key)
	selected := map[string]bool{} // instances of it
	err := i.at.Services(n.Key, storage.EntryAt{}, func(at storage.EntryAt, r *storev1.ServiceRecord) (bool, error) {
		if !whole && !s.AllServices && !slices.Contains(s.Services, r.GetService().GetName()) {
			return true, nil
		}
		selected[at.ID] = true
		service := catalog.ServiceToProto(r)
		i.part.Services = append(i.part.Services, service)
		return true, i.add(service)
	})
	if err != nil || !whole && len(selected) == 0 {
		return err
	}
	node := catalog.NodeToProto(n.Record, n.Tally)
	i.part.Nodes = append(i.part.Nodes, node)
	if err = i.add(node); err != nil {
		return err
	}
	return i.at.Checks(n.Key, storage.EntryAt{}, func(_ storage.EntryAt, r *storev1.CheckRecord) (bool, error) {
		if id := r.GetCheck().GetServiceId(); !whole && id != "" && !selected[id] {
			return true, nil
		}
		check := catalog.CheckToProto(r)
		i.part.Checks = append(i.part.Checks, check)
		return true, i.add(check)
	})
}
