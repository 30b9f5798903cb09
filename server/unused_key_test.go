package server_test

import (
	"net/http"
	"strings"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestAKeyThatOnlyALockMadeGoesWithIt acquires locks on keys that are missing. The key of a lock goes with its last holder,
// and watchers are told why; one that was written stays, and so does that of an election without a value.
func TestAKeyThatOnlyALockMadeGoesWithIt(t *testing.T) {
	m := start(t)
	w := m.watch(t, &tenurev1.WatchRequest{Keys: []string{"job"}, Locks: []string{"job"}})
	id := m.openSession(t, "holder")
	for _, key := range []string{"job", "written"} {
		m.acquire(t, &tenurev1.AcquireLockRequest{Key: key, SessionId: id}).ended()
	}
	m.put(t, "written", "v")
	o := office{t, tenurev1.NewElectionServiceClient(m.conn), m}
	campaign, err := o.Campaign(t.Context(), &tenurev1.CampaignRequest{Key: "leader", SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	if o.next(campaign).GetElected() == nil {
		t.Fatal("the only candidate was not elected")
	}
	for _, key := range []string{"job", "written", "leader"} {
		m.release(t, key, id)
	}
	list, err := m.List(t.Context(), &tenurev1.ListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, kv := range list.GetKvs() {
		keys = append(keys, kv.GetKey())
	}
	if got := strings.Join(keys, " "); got != "leader written" {
		t.Errorf("the keys left are %q, want the leader's and the written one", got)
	}
	events := w.events(4)
	if got, want := kinds(events), "LOCK_GRANTED job, PUT job, LOCK_RELEASED job, DELETED job"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if e := events[len(events)-1]; !e.GetUnused() {
		t.Errorf("got %v, want that it says that the key was unused", e)
	}
}

// TestAnUnusedKeyIsNamedOverREST finds the same on a line of JSON.
func TestAnUnusedKeyIsNamedOverREST(t *testing.T) {
	m := newWholeMember(t)
	created, err := m.sessions.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"sessionId":"` + created.GetSessionId() + `"}`
	if code, answer := m.do(t, http.MethodPost, "/v1/locks/job", body); code != http.StatusOK {
		t.Fatalf("acquire: %d %s", code, answer)
	}
	if code, answer := m.do(t, http.MethodDelete, "/v1/locks/job?sessionId="+created.GetSessionId(), ""); code != http.StatusOK {
		t.Fatalf("release: %d %s", code, answer)
	}
	m.watchUntil(t, "keys=job&limit=100&afterRevision=1", func(body string) bool {
		return strings.Contains(body, `"type":"EVENT_TYPE_DELETED"`) && strings.Contains(body, `"unused":true`)
	})
}
