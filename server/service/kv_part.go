package service

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/storage"
)

// listAt returns a page of keys, and whether there are more behind it. Of keys that the caller does not see none is looked at.
func listAt(s *call.Snapshot, q storage.ListQuery) (page []*storev1.KeyState, more bool, err error) {
	if s.Sight == nil {
		return s.List(q)
	}
	verbs := authz.List
	if !q.KeysOnly {
		verbs |= authz.Read
	}
	left := q
	for _, span := range authz.SpansFrom(s.Sight.Spans(authz.Key, verbs, q.Prefix), q.After) {
		full := len(page) > 0 && (left.Limit <= 0 || left.SizeBytesMax <= 0)
		if full { // It is only left to see whether there is another key.
			left = storage.ListQuery{After: q.After, Limit: 1, KeysOnly: true}
		}
		kvs, rest, err := spanAt(s, span, left)
		switch {
		case err != nil:
			return nil, false, err
		case full && len(kvs) > 0:
			return page, true, nil
		case full:
			continue
		}
		page = append(page, kvs...)
		if rest {
			return page, true, nil
		}
		left.Limit -= len(kvs)
		for _, kv := range kvs {
			left.SizeBytesMax -= len(kv.GetKey()) + len(kv.GetValue())
		}
	}
	return page, false, nil
}

// spanAt returns the keys of a span that a query asks for, and whether there are more. Its limits are positive.
func spanAt(s *call.Snapshot, span authz.Span, q storage.ListQuery) ([]*storev1.KeyState, bool, error) {
	if !span.Exact {
		q.Prefix = span.Text
		return s.List(q)
	}
	if span.Text <= q.After {
		return nil, false, nil
	}
	kv, found, err := s.Get(span.Text)
	if err != nil || !found {
		return nil, false, err
	}
	if q.KeysOnly {
		kv.Value = nil
	}
	return []*storev1.KeyState{kv}, false, nil
}
