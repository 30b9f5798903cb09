package server_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// truth is what all pages of an attach tell.
type truth struct {
	holds, places []string
	pages         int
}

// attachAll reads all pages.
func attachAll(t *testing.T, m *member, id string) truth {
	t.Helper()
	var all truth
	request := &tenurev1.AttachSessionRequest{SessionId: id, InstanceId: []byte("me"), Attempt: 1}
	for {
		page, err := m.AttachSession(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if n := proto.Size(page); n > 3<<19 {
			t.Errorf("a page of %d bytes, want 1.5 MiB at most", n)
		}
		all.pages++
		for _, h := range page.GetHolds() {
			all.holds = append(all.holds, h.GetSequencer().GetKey()+"/"+h.GetOwner())
		}
		for _, p := range page.GetPlaces() {
			all.places = append(all.places, p.GetKey()+"/"+p.GetOwner())
		}
		if page.GetNextPageToken() == "" {
			return all
		}
		request.PageToken = page.GetNextPageToken()
	}
}

// acquireAll acquires many locks for a session.
func acquireAll(t *testing.T, m *member, id string, keys []string) {
	t.Helper()
	for part := range slices.Chunk(keys, 32) {
		txn := &tenurev1.TxnRequest{}
		for _, key := range part {
			txn.Then = append(txn.Then, acquireOp(key, id))
		}
		if _, err := m.Txn(t.Context(), txn); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAttachTellsOfEveryHold attaches to a session with more holds and places than one answer can show.
func TestAttachTellsOfEveryHold(t *testing.T) {
	const holds, waits = 1500, 100
	for name, tc := range map[string]struct {
		padding int
		paged   bool
	}{
		"short keys fit into one answer":   {},
		"the longest keys come in several": {padding: 1000, paged: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t)
			id, other := m.openSession(t, "s"), m.openSession(t, "other")
			keys := make([]string, holds)
			for i := range keys {
				keys[i] = fmt.Sprintf("held/%s%05d", strings.Repeat("x", tc.padding), i)
			}
			queued := make([]string, waits)
			for i := range queued {
				queued[i] = fmt.Sprintf("waits/%s%05d", strings.Repeat("x", tc.padding), i)
			}
			acquireAll(t, m, id, keys)
			acquireAll(t, m, other, queued)
			queueAll(t, m, id, queued)
			got := attachAll(t, m, id)
			if !slices.Equal(got.holds, withOwner(keys)) || !slices.Equal(got.places, withOwner(queued)) {
				t.Errorf("got %d holds and %d places, want %d and %d", len(got.holds), len(got.places), holds, waits)
			}
			if paged := got.pages > 1; paged != tc.paged {
				t.Errorf("got %d pages", got.pages)
			}
		})
	}
}

// TestGetSessionTellsOfEveryHold reads a session with more than a page shows.
func TestGetSessionTellsOfEveryHold(t *testing.T) {
	const holds, waits = 1500, 20
	m := start(t)
	id, other := m.openSession(t, "s"), m.openSession(t, "other")
	held, queued := make([]string, holds), make([]string, waits)
	for i := range held {
		held[i] = fmt.Sprintf("held/%05d", i)
	}
	for i := range queued {
		queued[i] = fmt.Sprintf("waits/%05d", i)
	}
	acquireAll(t, m, id, held)
	acquireAll(t, m, other, queued)
	queueAll(t, m, id, queued)
	var got truth
	request := &tenurev1.GetSessionRequest{SessionId: id}
	for more := true; more; more = request.GetPageToken() != "" {
		page, err := m.GetSession(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.GetHolds()) + len(page.GetPlaces()); n > 1000 || page.GetSession().GetSessionId() != id {
			t.Errorf("got a page of %d, of session %q; want 1 000 at most", n, page.GetSession().GetSessionId())
		}
		for _, h := range page.GetHolds() {
			got.holds = append(got.holds, h.GetSequencer().GetKey()+"/"+h.GetOwner())
		}
		for _, p := range page.GetPlaces() {
			got.places = append(got.places, p.GetKey()+"/"+p.GetOwner())
		}
		request.PageToken = page.GetNextPageToken()
	}
	if !slices.Equal(got.holds, withOwner(held)) || !slices.Equal(got.places, withOwner(queued)) {
		t.Errorf("got %d holds and %d places, want %d and %d", len(got.holds), len(got.places), holds, waits)
	}
	_, err := m.GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id, PageToken: "?"})
	wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
}

func withOwner(keys []string) []string {
	named := make([]string, len(keys))
	for i, key := range keys {
		named[i] = key + "/"
	}
	return named
}

// queueAll has a session queue for many locks, and stops waiting while it keeps its places.
func queueAll(t *testing.T, m *member, id string, keys []string) {
	t.Helper()
	for _, key := range keys {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := m.AcquireLock(ctx, &tenurev1.AcquireLockRequest{Key: key, SessionId: id})
		if err != nil {
			t.Fatal(err)
		}
		if step, err := stream.Recv(); err != nil || step.GetQueued() == nil {
			t.Fatalf("got %v, %v, want a place", step, err)
		}
		cancel()
	}
}

func TestAttachRefusesForeignPages(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	for name, request := range map[string]*tenurev1.AttachSessionRequest{
		"no token":      {SessionId: id, PageToken: "?"},
		"of elsewhere":  {SessionId: id, PageToken: "AAAA"},
		"with takeover": {SessionId: id, PageToken: "AAAA", TakeOver: true, Options: &tenurev1.CallOptions{Epoch: 1}},
	} {
		_, err := m.AttachSession(t.Context(), request)
		reason := "PAGE_TOKEN_INVALID"
		if request.GetTakeOver() {
			reason = "INVALID_ARGUMENT"
		}
		t.Run(name, func(t *testing.T) { wantError(t, err, codes.InvalidArgument, reason) })
	}
}

// TestWhoSealsAPageItselfHarmsNobody gives lists tokens with a good seal around what no member writes.
func TestWhoSealsAPageItselfHarmsNobody(t *testing.T) {
	m := start(t)
	id := m.openSession(t, "s")
	acquireAll(t, m, id, []string{"k"})
	first, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	raw := func(text string) [16]byte {
		b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
		if err != nil || len(b) != 16 {
			t.Fatal(text, err)
		}
		return [16]byte(b)
	}
	cluster, history := raw(first.GetHeader().GetClusterId()), raw(first.GetHeader().GetHistoryId())
	for name, after := range map[string]string{
		"a length beyond the text": "h\xff\x01",
		"a length that overflows":  "w" + strings.Repeat("\xff", 11),
		"a kind alone":             "h",
		"an unknown kind":          "x\x01k",
		"bytes before all keys":    "\x00",
		"bytes behind all keys":    strings.Repeat("\xff", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			seal := func(list string, filters ...string) string {
				return server.SealPage(cluster, history, list, filters, after)
			}
			_, err := m.AttachSession(t.Context(), &tenurev1.AttachSessionRequest{SessionId: id, PageToken: seal("attach", id)})
			wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
			_, err = m.ListSessions(t.Context(), &tenurev1.ListSessionsRequest{PageToken: seal("sessions", "", "", "false", "0s")})
			wantError(t, err, codes.InvalidArgument, "PAGE_TOKEN_INVALID")
			// Of keys every text is a place.
			if _, err = m.List(t.Context(), &tenurev1.ListRequest{PageToken: seal("keys", "")}); err != nil {
				t.Errorf("keys: %v", err)
			}
			for _, prefix := range []string{"", "k"} {
				_, err = m.ListLocks(t.Context(), &tenurev1.ListLocksRequest{
					Prefix: prefix, PageToken: seal("locks", prefix, "", "", "", "0s"),
				})
				if err != nil {
					t.Errorf("locks: %v", err)
				}
			}
		})
	}
}
