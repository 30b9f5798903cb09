package reply

import (
	"context"
	"io"
	"net/http"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// ErrRightsChanged means that the caller's rights changed while an answer was read. If it was not sent yet, it can be read again.
var ErrRightsChanged error = Refusal(http.StatusServiceUnavailable, "Rights changed during the request; try again.")

// Pages are a list that is read in pages. The first has the header; what changes while the others are read is after its revision.
type Pages[T any] struct {
	first Page[T]
	next  func(ctx context.Context, token string) (Page[T], error)
}

// Page is a part of a list.
type Page[T any] struct {
	Items  []T
	Token  string // of the next one; empty if this is the last
	Header *tenurev1.ResponseHeader
}

// NewPages reads the first page.
func NewPages[T any](ctx context.Context, next func(ctx context.Context, token string) (Page[T], error)) (*Pages[T], error) {
	first, err := next(ctx, "")
	return &Pages[T]{first, next}, err
}

// Header is that of the first page.
func (p *Pages[T]) Header() *tenurev1.ResponseHeader { return p.first.Header }

// Long reports whether there is more than the first page.
func (p *Pages[T]) Long() bool { return p.first.Token != "" }

// Each visits all items. A list that was whole at first does not become a part.
func (p *Pages[T]) Each(ctx context.Context, visit func(T) error) error {
	page := p.first
	for {
		for _, item := range page.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		if page.Token == "" {
			return nil
		}
		var err error
		if page, err = p.next(ctx, page.Token); err != nil {
			return err
		}
		if page.Header.GetFiltered() && !p.first.Header.GetFiltered() {
			return ErrRightsChanged
		}
	}
}

// Ahead has do go through each page before its items are visited. It returns those that are.
func (p *Pages[T]) Ahead(ctx context.Context, do func(context.Context, []T) ([]T, error)) error {
	next := p.next
	p.next = func(ctx context.Context, token string) (Page[T], error) {
		more, err := next(ctx, token)
		if err == nil {
			more.Items, err = do(ctx, more.Items)
		}
		return more, err
	}
	var err error
	p.first.Items, err = do(ctx, p.first.Items)
	return err
}

// Array returns what writes the items as a JSON array: first those of rank 0, then those of rank 1, up to ranks. shown returns the elements of an item;
// none leave it out.
func (p *Pages[T]) Array(ctx context.Context, ranks int, rank func(T) int, shown func(T) ([]any, error)) func(io.Writer, bool) error {
	return func(to io.Writer, pretty bool) error {
		w := &Array{To: to, Pretty: pretty}
		for r := range ranks {
			err := p.Each(ctx, func(item T) error {
				if rank(item) != r {
					return nil
				}
				elements, err := shown(item)
				for _, element := range elements {
					if err == nil {
						err = w.Add(element)
					}
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return w.Close()
	}
}
