package consulhttp

import (
	"context"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// keyPages are keys with a prefix, in order, all of one revision, a page at a time.
type keyPages struct {
	revision uint64
	page     []*tenurev1.KeyValue // the first
	rest     grpc.ServerStreamingClient[tenurev1.WatchResponse]
}

// keyPages reads keys with the prefix of a request. More than a page comes from one snapshot of the store, while it is written.
func (e *keyEndpoints) keyPages(ctx context.Context, q *request, keysOnly bool, consistency string) (*keyPages, error) {
	prefix := q.Rest
	page, err := e.kv.List(ctx, &tenurev1.ListRequest{Prefix: prefix, KeysOnly: keysOnly, Read: ask.ReadOptions(consistency)})
	if err != nil {
		return nil, err
	}
	if page.GetNextPageToken() == "" {
		return &keyPages{revision: page.GetHeader().GetRevision(), page: page.GetKvs()}, nil
	}
	if err = e.beginLong(ctx, q); err != nil {
		return nil, err
	}
	stream, err := e.watches.Watch(ctx, &tenurev1.WatchRequest{Prefixes: []string{prefix}, Initial: true, KeysOnly: keysOnly})
	if err != nil {
		return nil, err
	}
	started, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	return &keyPages{revision: started.GetStarted().GetAfterRevision(), rest: stream}, nil
}

// each calls take with every page.
func (p *keyPages) each(take func([]*tenurev1.KeyValue) error) error {
	if p.rest == nil {
		return take(p.page)
	}
	for {
		message, err := p.rest.Recv()
		if err != nil {
			return err
		}
		initial := message.GetInitial()
		if err := take(initial.GetKvs()); err != nil || initial.GetComplete() {
			return err
		}
	}
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
	r.selection = selection{request: &tenurev1.WatchRequest{Prefixes: []string{q.Rest}}}
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) {
		return e.listed(ctx, r, waited, keysOnly, add)
	})
}

// listed is list after a wait.
func (e *keyEndpoints) listed(
	ctx context.Context, r read, waited outcome, keysOnly bool, add func(w *reply.Array, kv *tenurev1.KeyValue) error,
) (*reply.Answer, error) {
	q := r.request
	pages, err := e.keyPages(ctx, q, keysOnly, r.consistency)
	if err != nil {
		return nil, err
	}
	s, err := e.stateAt(ctx, r, waited, pages.revision)
	if err != nil {
		return nil, err
	}
	if pages.rest == nil && len(pages.page) == 0 {
		if keysOnly && q.Rest == "" {
			return (&reply.Answer{JSON: []string{}}).Of(s), nil
		}
		return (&reply.Answer{Status: http.StatusNotFound}).Of(s), nil
	}
	return (&reply.Answer{Long: pages.rest != nil, Stream: func(to io.Writer, pretty bool) error {
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
