package consulhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// keyPages are keys with a prefix, in order, all of one revision, a page at a time.
type keyPages struct {
	revision uint64
	page     []*tenurev1.KeyValue // the first
	rest     grpc.ServerStreamingClient[tenurev1.WatchResponse]
}

// keyPages reads keys with a prefix. More than a page comes from one snapshot of the store, while it is written.
func (e *keyEndpoints) keyPages(ctx context.Context, prefix string, keysOnly bool, consistency string) (*keyPages, error) {
	page, err := e.kv.List(ctx, &tenurev1.ListRequest{Prefix: prefix, KeysOnly: keysOnly, Read: readOptions(consistency)})
	if err != nil {
		return nil, err
	}
	if page.GetNextPageToken() == "" {
		return &keyPages{revision: page.GetHeader().GetRevision(), page: page.GetKvs()}, nil
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
func (e *keyEndpoints) listRows(ctx context.Context, q *request, r read) (*answer, error) {
	return e.list(ctx, q, r, false, func(w *arrayWriter, kv *tenurev1.KeyValue) error { return w.add(keyOf(kv)) })
}

// listKeys answers GET /v1/kv/PREFIX?keys.
func (e *keyEndpoints) listKeys(ctx context.Context, q *request, r read) (*answer, error) {
	separator := q.text("separator")
	if separator == "" {
		separator = q.text("seperator") // Old clients spell it so.
	}
	last := ""
	return e.list(ctx, q, r, true, func(w *arrayWriter, kv *tenurev1.KeyValue) error {
		key := kv.GetKey()
		if separator != "" {
			if before, _, found := strings.Cut(key[len(q.rest):], separator); found {
				key = q.rest + before + separator
			}
			if key == last {
				return nil
			}
			last = key
		}
		return w.add(key)
	})
}

// list answers with an array that has what add adds for each key.
func (e *keyEndpoints) list(
	ctx context.Context, q *request, r read, keysOnly bool, add func(w *arrayWriter, kv *tenurev1.KeyValue) error,
) (*answer, error) {
	r.selection = selection{request: &tenurev1.WatchRequest{Prefixes: []string{q.rest}}}
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*answer, error) {
		return e.listed(ctx, r, waited, keysOnly, add)
	})
}

// listed is list after a wait.
func (e *keyEndpoints) listed(
	ctx context.Context, r read, waited outcome, keysOnly bool, add func(w *arrayWriter, kv *tenurev1.KeyValue) error,
) (*answer, error) {
	q := r.request
	pages, err := e.keyPages(ctx, q.rest, keysOnly, r.consistency)
	if err != nil {
		return nil, err
	}
	s, err := e.stateAt(ctx, r, waited, pages.revision)
	if err != nil {
		return nil, err
	}
	if pages.rest == nil && len(pages.page) == 0 {
		if keysOnly && q.rest == "" {
			return (&answer{json: []string{}}).of(s), nil
		}
		return (&answer{status: http.StatusNotFound}).of(s), nil
	}
	return (&answer{long: pages.rest != nil, stream: func(to io.Writer, pretty bool) error {
		w := &arrayWriter{to: to, pretty: pretty}
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
		return w.close()
	}}).of(s), nil
}

// arrayPartBytes is how much of an array is gathered before it is written.
const arrayPartBytes = 256 << 10

// arrayWriter writes a JSON array an element at a time.
type arrayWriter struct {
	to     io.Writer
	pretty bool
	part   bytes.Buffer
	begun  bool
}

// add adds an element.
func (w *arrayWriter) add(element any) error {
	switch {
	case !w.begun:
		w.part.WriteByte('[')
	default:
		w.part.WriteByte(',')
	}
	w.begun = true
	var text []byte
	var err error
	if w.pretty {
		w.part.WriteString("\n" + indent)
		text, err = json.MarshalIndent(element, indent, indent)
	} else {
		text, err = json.Marshal(element)
	}
	if err != nil {
		return err
	}
	w.part.Write(text)
	if w.part.Len() < arrayPartBytes {
		return nil
	}
	return w.flush()
}

// flush writes what was gathered.
func (w *arrayWriter) flush() error {
	_, err := w.to.Write(w.part.Bytes())
	w.part.Reset()
	return err
}

// close ends the array.
func (w *arrayWriter) close() error {
	if !w.begun {
		w.part.WriteByte('[')
	} else if w.pretty {
		w.part.WriteByte('\n')
	}
	w.part.WriteByte(']')
	if w.pretty {
		w.part.WriteByte('\n')
	}
	return w.flush()
}
