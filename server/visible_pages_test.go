package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// visible is what a caller sees of a list of keys, one a page, and a token for the rest.
func (m *member) visible(ctx context.Context, t *testing.T, prefix, token string) (*tenurev1.ListResponse, string) {
	t.Helper()
	page, err := m.List(ctx, &tenurev1.ListRequest{Prefix: prefix, PageSize: 1, PageToken: token, VisibleOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return page, page.GetNextPageToken()
}

// TestRightsChangeBetweenTwoPages takes rights away and gives others while a caller goes from page to page: each page shows what may be seen then, and a
// right that is given without another being taken away counts at once, too.
func TestRightsChangeBetweenTwoPages(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	for _, key := range []string{"a/1", "a/2", "a/3", "a/4", "a/5", "a/6"} {
		if _, err := m.Put(ctx, &tenurev1.PutRequest{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	caller := as(t.Context(), m.token(t, admin, "web", "key \"a/1\" ro\nkey \"a/2\" ro\nkey \"a/4\" ro\nkey \"a/6\" ro").GetText())
	rules := func(rules string) {
		t.Helper()
		if _, err := m.auth().PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: "web", Rules: rules}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(page *tenurev1.ListResponse, key string, filtered, more bool) {
		t.Helper()
		if got := page.GetKvs(); len(got) != 1 || got[0].GetKey() != key || page.GetHeader().GetFiltered() != filtered || (page.GetNextPageToken() != "") != more {
			t.Fatalf("got %v, want %s, filtered: %v, with more: %v", page, key, filtered, more)
		}
	}
	page, token := m.visible(caller, t, "a/", "")
	want(page, "a/1", true, true)
	rules("key \"a/3\" ro\nkey \"a/6\" ro") // The next key is not seen any more, and another one is.
	page, token = m.visible(caller, t, "a/", token)
	want(page, "a/3", true, true)
	rules("key \"a/\"* ro")
	page, token = m.visible(caller, t, "a/", token)
	want(page, "a/4", false, true)
	rules("key \"a/4\" ro\nkey \"a/6\" ro")
	page, token = m.visible(caller, t, "a/", token)
	want(page, "a/6", true, false)
	if token != "" {
		t.Error("there is a page behind the last one")
	}
	page, token = m.visible(caller, t, "a/", "")
	want(page, "a/4", true, true)
	rules("key \"a/4\" ro")
	if page, _ = m.visible(caller, t, "a/", token); len(page.GetKvs()) != 0 || page.GetNextPageToken() != "" {
		t.Errorf("got %v, want nothing more", page)
	}
	rules("")
	_, err := m.List(caller, &tenurev1.ListRequest{Prefix: "a/", PageToken: token, VisibleOnly: true})
	wantDenied(t, err, "any rule")
}

// TestWhatIsHiddenIsPassedOver lists instances and checks of which a caller sees a few, far from each other, in pages of each size.
func TestWhatIsHiddenIsPassedOver(t *testing.T) {
	const nodes = 90
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	caller := as(t.Context(), m.token(t, admin, "web", "service \"many\" read\nservice \"more\"* read\nnode \"n40\" read\nnode \"n7\"* read").GetText())
	var want []string
	for n := range nodes {
		node := fmt.Sprintf("n%02d", n)
		if _, err := m.catalog().RegisterNode(ctx, &tenurev1.RegisterNodeRequest{
			Node:     &tenurev1.Node{Name: node},
			Services: []*tenurev1.Service{{Name: "many"}, {Name: "more"}, {Name: fmt.Sprint("more", n)}, {Name: "unseen"}},
			Checks:   []*tenurev1.Check{{CheckId: "c", Name: "c"}, {CheckId: "s", Name: "s", ServiceId: "unseen"}},
		}); err != nil {
			t.Fatal(err)
		}
		if node == "n40" || strings.HasPrefix(node, "n7") {
			want = append(want, node)
		}
	}
	for _, size := range []int{1, 3, 1000} {
		checkPages(t, "instances of a service", want, size, func(size uint32, token string) ([]string, string, error) {
			r, err := m.catalog().ListInstances(caller, &tenurev1.ListInstancesRequest{Service: "many", PageSize: size, PageToken: token, VisibleOnly: true})
			return names(r.GetInstances(), func(i *tenurev1.ServiceInstance) string { return i.GetNode().GetName() }), r.GetNextPageToken(), err
		})
		checkPages(t, "checks", want, size, func(size uint32, token string) ([]string, string, error) {
			r, err := m.catalog().ListChecks(caller, &tenurev1.ListChecksRequest{PageSize: size, PageToken: token, VisibleOnly: true})
			return names(r.GetChecks(), (*tenurev1.Check).GetNode), r.GetNextPageToken(), err
		})
		services := []string{"many 11", "more 11", "more40 1"}
		for n := 70; n < 80; n++ {
			services = append(services, fmt.Sprintf("more%d 1", n))
		}
		checkPages(t, "services", services, size, func(size uint32, token string) ([]string, string, error) {
			r, err := m.catalog().ListServices(caller, &tenurev1.ListServicesRequest{PageSize: size, PageToken: token, VisibleOnly: true})
			return names(r.GetServices(), func(s *tenurev1.ServiceSummary) string { return fmt.Sprint(s.GetName(), " ", s.GetInstances()) }), r.GetNextPageToken(), err
		})
	}
}

// TestAPageOfSessionsLooksAtFewThatAreHidden lists sessions of which a caller sees the last one by far. Pages without any show nothing of where they end.
func TestAPageOfSessionsLooksAtFewThatAreHidden(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	ctx := as(t.Context(), admin)
	ids := map[string]bool{}
	for range scannedMax + 500 {
		s, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "hidden"})
		if err != nil {
			t.Fatal(err)
		}
		ids[s.GetSessionId()] = true
	}
	for range 3 {
		if _, err := m.CreateSession(ctx, &tenurev1.CreateSessionRequest{Name: "seen"}); err != nil {
			t.Fatal(err)
		}
	}
	caller := as(t.Context(), m.token(t, admin, "web", `session "seen" read`).GetText())
	var got []string
	pages, token := 0, ""
	for more := true; more; more = token != "" {
		r, err := m.ListSessions(caller, &tenurev1.ListSessionsRequest{PageToken: token, VisibleOnly: true})
		if err != nil || !r.GetHeader().GetFiltered() {
			t.Fatal(r, err)
		}
		got = append(got, names(r.GetSessions(), (*tenurev1.Session).GetName)...)
		pages, token = pages+1, r.GetNextPageToken()
		place, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			t.Fatal(err)
		}
		for id := range ids {
			if strings.Contains(string(place), id) {
				t.Fatalf("a token has the id of a session that is hidden: %q", place)
			}
		}
	}
	if !slices.Equal(got, []string{"seen", "seen", "seen"}) || pages != 2 {
		t.Errorf("got %q on %d pages, want three sessions on two", got, pages)
	}
}

// TestATransactionShowsAllOrNothing asks for what may be seen within a transaction, which is refused, with and without the rights for all of it.
func TestATransactionShowsAllOrNothing(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	txn := func(token string) error {
		_, err := m.Txn(as(t.Context(), token), &tenurev1.TxnRequest{Then: []*tenurev1.Op{
			{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{Prefix: "a/", VisibleOnly: true}}},
		}})
		return err
	}
	wantError(t, txn(admin), codes.InvalidArgument, "INVALID_ARGUMENT")
	wantDenied(t, txn(m.token(t, admin, "web", `key "a/1" ro`).GetText()), `key "a/"* read list`)
}
