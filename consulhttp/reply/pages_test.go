package reply_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tenure-io/tenure/consulhttp/reply"
)

// What is done ahead is done to each page, the first and those that are read later.
func TestAheadGoesThroughEachPage(t *testing.T) {
	list, err := reply.NewPages(t.Context(), func(_ context.Context, token string) (reply.Page[int], error) {
		if token == "" {
			return reply.Page[int]{Items: []int{1, 2}, Token: "more", Revision: 7}, nil
		}
		return reply.Page[int]{Items: []int{3, 4}, Revision: 8}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = list.Ahead(t.Context(), func(_ context.Context, items []int) ([]int, error) {
		return slices.DeleteFunc(items, func(n int) bool { return n%2 == 1 }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	if err := list.Each(t.Context(), func(n int) error { got = append(got, n); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int{2, 4}) || list.Revision() != 7 || !list.Long() {
		t.Errorf("got %v at revision %d, long %t; want 2 and 4 of a long list at that of the first page, 7", got, list.Revision(), list.Long())
	}
}
