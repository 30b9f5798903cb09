package reply_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// What is done ahead is done to each page, the first and those that are read later.
func TestAheadGoesThroughEachPage(t *testing.T) {
	list, err := reply.NewPages(t.Context(), func(_ context.Context, token string) (reply.Page[int], error) {
		if token == "" {
			return reply.Page[int]{Items: []int{1, 2}, Token: "more", Header: &tenurev1.ResponseHeader{Revision: 7}}, nil
		}
		return reply.Page[int]{Items: []int{3, 4}, Header: &tenurev1.ResponseHeader{Revision: 8}}, nil
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
	if !slices.Equal(got, []int{2, 4}) || list.Header().GetRevision() != 7 || !list.Long() {
		t.Errorf("got %v at revision %d, long %t; want 2 and 4 of a long list at that of the first page, 7", got, list.Header().GetRevision(), list.Long())
	}
}

// A list whose header was sent as that of a whole list does not become a part on a later page. The other way round nothing is hidden.
func TestAWholeListDoesNotBecomeAPart(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second bool
		want          error
	}{
		"both are whole":       {false, false, nil},
		"both are parts":       {true, true, nil},
		"the part gets whole":  {true, false, nil},
		"the whole gets parts": {false, true, reply.ErrRightsChanged},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := reply.NewPages(t.Context(), func(_ context.Context, token string) (reply.Page[int], error) {
				if token == "" {
					return reply.Page[int]{Items: []int{1}, Token: "more", Header: &tenurev1.ResponseHeader{Filtered: tc.first}}, nil
				}
				return reply.Page[int]{Items: []int{2}, Header: &tenurev1.ResponseHeader{Filtered: tc.second}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			err = list.Each(t.Context(), func(n int) error { got = append(got, n); return nil })
			if !errors.Is(err, tc.want) || len(got) != map[bool]int{true: 2}[tc.want == nil]+map[bool]int{true: 1}[tc.want != nil] {
				t.Errorf("got %v and %v, want the error %v", got, err, tc.want)
			}
		})
	}
}
