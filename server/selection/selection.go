package selection

import (
	"errors"
	"fmt"
	"strconv"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage/catalog"
)

// selectorsMax bounds what one watch selects.
const selectorsMax = 128

// Of returns the selectors in normal form.
func Of(r *tenurev1.WatchRequest) (watch.Selectors, error) {
	s := watch.Selectors{
		Keys:            r.GetKeys(),
		Prefixes:        r.GetPrefixes(),
		RangeStart:      r.GetRangeStart(),
		RangeEnd:        r.GetRangeEnd(),
		Locks:           r.GetLocks(),
		LockPrefixes:    r.GetLockPrefixes(),
		AllSessions:     r.GetAllSessions(),
		Services:        r.GetServices(),
		AllNodes:        r.GetAllNodes(),
		AllServices:     r.GetAllServices(),
		AllQueries:      r.GetAllQueries(),
		NoPuts:          r.GetFilter().GetNoPuts(),
		NoDeletes:       r.GetFilter().GetNoDeletes(),
		NoHolderChanges: r.GetFilter().GetNoHolderChanges(),
		NoQueue:         r.GetFilter().GetNoQueue(),
	}
	n := len(s.Keys) + len(s.Prefixes) + len(s.Locks) + len(s.LockPrefixes) + len(r.GetSessionIds()) + len(r.GetNodes()) + len(s.Services)
	if n > selectorsMax {
		return s, reason.Invalid("selectors", "has %d keys, prefixes, locks, sessions, nodes and services; at most %d are allowed", n, selectorsMax).
			With("limit", "selectors_max").With("limit_value", strconv.Itoa(selectorsMax))
	}
	if err := checkSelectedKeys(s); err != nil {
		return s, err
	}
	for i, text := range r.GetSessionIds() {
		id, err := call.ParseSession(fmt.Sprintf("session_ids[%d]", i), text)
		if err != nil {
			return s, err
		}
		s.Sessions = append(s.Sessions, id)
	}
	for i, name := range r.GetNodes() {
		if err := selectable(catalog.CheckNodeName(fmt.Sprintf("nodes[%d]", i), name)); err != nil {
			return s, err
		}
		s.Nodes = append(s.Nodes, catalog.NodeKey(name))
	}
	for i, name := range r.GetServices() {
		if err := selectable(catalog.CheckID(fmt.Sprintf("services[%d]", i), name)); err != nil {
			return s, err
		}
	}
	return s.Normal(), nil
}

// selectable returns the error of the API for a name of the catalog that cannot be one.
func selectable(err error) error {
	if m, ok := errors.AsType[*catalog.MalformedError](err); ok {
		return reason.Invalid(m.Field, "%s", m.Problem)
	}
	return err
}

// checkSelectedKeys refuses what cannot be keys or beginnings of keys.
func checkSelectedKeys(s watch.Selectors) error {
	for i, k := range s.Keys {
		if err := call.CheckKey(fmt.Sprintf("keys[%d]", i), k); err != nil {
			return err
		}
	}
	for i, p := range s.Prefixes {
		if err := call.CheckPrefix(fmt.Sprintf("prefixes[%d]", i), p, call.KeyBytesMax); err != nil {
			return err
		}
	}
	for i, k := range s.Locks {
		if err := call.CheckKey(fmt.Sprintf("locks[%d]", i), k); err != nil {
			return err
		}
	}
	for i, p := range s.LockPrefixes {
		if err := call.CheckPrefix(fmt.Sprintf("lock_prefixes[%d]", i), p, call.KeyBytesMax); err != nil {
			return err
		}
	}
	if err := call.CheckPrefix("range_start", s.RangeStart, call.KeyBytesMax); err != nil {
		return err
	}
	if err := call.CheckPrefix("range_end", s.RangeEnd, call.KeyBytesMax); err != nil {
		return err
	}
	if s.RangeStart != "" && s.RangeEnd == "" {
		return reason.Invalid("range_end", "is required with range_start")
	}
	if s.RangeEnd != "" && s.RangeEnd <= s.RangeStart {
		return reason.Invalid("range_end", "must come after range_start")
	}
	return nil
}
