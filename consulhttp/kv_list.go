package consulhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// keyPages are keys with a prefix, in order, a page at a time.
type keyPages struct {
	header *tenurev1.ResponseHeader
	page   []*tenurev1.KeyValue // the first; nil if next has it, too
	// next reads the next page, and reports whether another one follows; nil if there is no other.
	next func() (page []*tenurev1.KeyValue, more bool, _ error)
}

// keyPages reads keys with the prefix of a request that the caller may list. They are all of one revision: more than a page comes from one snapshot of the
// store, while it is written. Only a leader lets one begin; a stale read that finds none remembers that, and reads page after page, as long as they are of
// one revision.
//
// A snapshot shows what its caller may watch, too. So whoever may list only a part, or may not watch, gets page after page, each of its own revision.
func (e *keyEndpoints) keyPages(ctx context.Context, r *read, keysOnly bool) (*keyPages, error) {
	list := &tenurev1.ListRequest{Prefix: r.request.Rest, KeysOnly: keysOnly, Read: ask.ReadOptions(r.consistency), VisibleOnly: true}
	page, err := e.kv.List(ctx, list)
	if err != nil {
		return nil, err
	}
	out := &keyPages{header: page.GetHeader(), page: page.GetKvs()}
	list.PageToken = page.GetNextPageToken()
	if list.GetPageToken() == "" {
		return out, nil
	}
	if e.longs != nil { // At an agent, thousands may wait for their turn.
		page, out.page = nil, nil
	}
	if err = e.beginLong(ctx, r.request); err != nil {
		return nil, err
	}
	oneRevision := false
	if !out.header.GetFiltered() {
		snapshot, failed := e.keySnapshot(ctx, &tenurev1.WatchRequest{Prefixes: []string{list.GetPrefix()}, Initial: true, KeysOnly: keysOnly}, r.consistency)
		switch {
		case errorinfo.Reason(failed) == tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		case r.consistency != ask.Stale || ctx.Err() != nil || !leaderless(failed):
			return snapshot, failed
		default:
			r.leaderless, oneRevision = true, true
		}
	}
	if page == nil {
		list.PageToken = ""
		if page, err = e.kv.List(ctx, list); err != nil {
			return nil, err
		}
		out.header, out.page, list.PageToken = page.GetHeader(), page.GetKvs(), page.GetNextPageToken()
		if list.GetPageToken() == "" {
			return out, nil
		}
	}
	out.next = func() ([]*tenurev1.KeyValue, bool, error) {
		page, err := e.kv.List(ctx, list)
		switch {
		case err != nil:
		case oneRevision && page.GetHeader().GetRevision() != out.header.GetRevision():
			err = errors.New("the keys have changed while they were read")
		case page.GetHeader().GetFiltered() && !out.header.GetFiltered():
			err = reply.ErrRightsChanged
		}
		list.PageToken = page.GetNextPageToken()
		return page.GetKvs(), list.GetPageToken() != "", err
	}
	return out, nil
}

// keySnapshot begins to read all keys from one snapshot. With stale, it does not wait for a leader for longer than one looks for it.
func (e *keyEndpoints) keySnapshot(ctx context.Context, request *tenurev1.WatchRequest, consistency string) (*keyPages, error) {
	ctx, cancel := context.WithCancel(ctx)
	patience := time.AfterFunc(leaderWait, cancel)
	if consistency != ask.Stale {
		patience.Stop()
	}
	stream, err := e.watches.Watch(ctx, request)
	var started *tenurev1.WatchResponse
	if err == nil {
		started, err = stream.Recv()
	}
	if consistency == ask.Stale && !patience.Stop() {
		return nil, status.FromContextError(context.DeadlineExceeded).Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &keyPages{header: at(started.GetStarted().GetAfterRevision()), next: func() ([]*tenurev1.KeyValue, bool, error) {
		message, err := stream.Recv()
		return message.GetInitial().GetKvs(), !message.GetInitial().GetComplete(), err
	}}, nil
}

// each calls take with every page.
func (p *keyPages) each(take func([]*tenurev1.KeyValue) error) error {
	err := take(p.page)
	for more := p.next != nil; more && err == nil; {
		var page []*tenurev1.KeyValue
		if page, more, err = p.next(); err == nil {
			err = take(page)
		}
	}
	return err
}

// listRows answers GET /v1/kv/PREFIX?recurse.
func (e *keyEndpoints) listRows(ctx context.Context, q *request, r read) (*reply.Answer, error) {
	return e.list(ctx, q, r, false, func(w *reply.Array, kv *tenurev1.KeyValue) error { return w.Add(keyOf(kv)) })
}

// listKeys answers GET /v1/kv/PREFIX?keys.
func (e *keyEndpoints) listKeys(ctx context.Context, q *request, r read) (*reply.Answer, error) {
	separator := q.Text("separator")
	if separator == "" {
		separator = q.Text("seperator") // Old clients spell it so.
	}
	last := ""
	return e.list(ctx, q, r, true, func(w *reply.Array, kv *tenurev1.KeyValue) error {
		key := kv.GetKey()
		if separator != "" {
			if before, _, found := strings.Cut(key[len(q.Rest):], separator); found {
				key = q.Rest + before + separator
			}
			if key == last {
				return nil
			}
			last = key
		}
		return w.Add(key)
	})
}

// list answers with an array that has what add adds for each key.
func (e *keyEndpoints) list(
	ctx context.Context, q *request, r read, keysOnly bool, add func(w *reply.Array, kv *tenurev1.KeyValue) error,
) (*reply.Answer, error) {
	r.selection = selection{request: &tenurev1.WatchRequest{Prefixes: []string{q.Rest}}, values: !keysOnly}
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		return e.listed(ctx, r, waited, keysOnly, add)
	})
}

// listed is list after a wait.
func (e *keyEndpoints) listed(
	ctx context.Context, r read, waited outcome, keysOnly bool, add func(w *reply.Array, kv *tenurev1.KeyValue) error,
) (*reply.Answer, error) {
	pages, err := e.keyPages(ctx, &r, keysOnly)
	if err != nil {
		return nil, err
	}
	s, err := e.stateAt(ctx, r, waited, pages.header)
	if err != nil {
		return nil, err
	}
	if pages.next == nil && len(pages.page) == 0 {
		if keysOnly && r.request.Rest == "" {
			return (&reply.Answer{JSON: []string{}}).Of(s), nil
		}
		return (&reply.Answer{Status: http.StatusNotFound}).Of(s), nil
	}
	return (&reply.Answer{Long: pages.next != nil, Stream: func(to io.Writer, pretty bool) error {
		w := &reply.Array{To: to, Pretty: pretty}
		err := pages.each(func(page []*tenurev1.KeyValue) error {
			for _, kv := range page {
				if err := add(w, kv); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return w.Close()
	}}).Of(s), nil
}
