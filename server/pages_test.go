package server_test

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
)

// TestPagesAreWholeWhereTheyAreReadInParts lists more sessions and locks than a page reads from the store at once, in pages that end before,
// with and behind such a part.
func TestPagesAreWholeWhereTheyAreReadInParts(t *testing.T) {
	const all = 2*call.ItemsAtOnce + call.ItemsAtOnce/2
	m := start(t)
	holder := m.openSession(t, "holder")
	names, locks := make([]string, all), make([]string, all)
	var g errgroup.Group
	g.SetLimit(32)
	for i := range all {
		locks[i] = fmt.Sprintf("lock/%04d", i)
		g.Go(func() error {
			_, err := m.TryAcquireLock(t.Context(), &tenurev1.TryAcquireLockRequest{Key: locks[i], SessionId: holder})
			return err
		})
		g.Go(func() error {
			s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Name: fmt.Sprintf("many-%d", i%2)})
			names[i] = s.GetSessionId()
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	sessionPage := func(size uint32, token string) (got []string, next string, err error) {
		page, err := m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{NamePrefix: "many-", PageSize: size, PageToken: token})
		for _, s := range page.GetSessions() {
			got = append(got, s.GetSessionId())
		}
		return got, page.GetNextPageToken(), err
	}
	lockPage := func(size uint32, token string) (got []string, next string, err error) {
		page, err := m.ListLocks(t.Context(), &tenurev1.ListLocksRequest{Prefix: "lock/", PageSize: size, PageToken: token})
		for _, l := range page.GetLocks() {
			got = append(got, l.GetKey())
		}
		return got, page.GetNextPageToken(), err
	}
	for _, size := range []uint32{call.PageItemsMax, all, call.ItemsAtOnce + 1, call.ItemsAtOnce, call.ItemsAtOnce - 1} {
		checkPages(t, fmt.Sprintf("sessions, %d in a page", size), names, int(size), sessionPage)
		checkPages(t, fmt.Sprintf("locks, %d in a page", size), locks, int(size), lockPage)
	}
	w := m.watch(t, &tenurev1.WatchRequest{AllSessions: true, Initial: true})
	var told []string
	for complete := false; !complete; {
		part := w.next().GetInitial()
		for _, s := range part.GetSessions() {
			if s.GetSessionId() != holder {
				told = append(told, s.GetSessionId())
			}
		}
		complete = part.GetComplete()
	}
	if !slices.Equal(told, names) {
		t.Errorf("a watch begins with %d sessions, want all %d in order", len(told), len(names))
	}
}

// checkPages fetches page after page and compares what they hold together. All but the last must be full, and none is empty.
func checkPages(t *testing.T, what string, want []string, size int, fetch func(size uint32, token string) ([]string, string, error)) {
	t.Helper()
	var got []string
	for token, more := "", true; more; more = token != "" {
		page, next, err := fetch(uint32(size), token)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(page) == 0 || len(page) < size && next != "" {
			t.Fatalf("%s: a page holds %d, and a next one: %q", what, len(page), next)
		}
		got, token = append(got, page...), next
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %d, want all %d in order", what, len(got), len(want))
	}
}
