package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// canaryWorld has things that a caller sees beside others that are called canary or have such a value.
type canaryWorld struct {
	m        *member
	admin    context.Context
	token    string // of the caller
	begins   uint64
	ends     uint64
	own      string   // a session that it sees
	canaries []string // texts that no message may have
}

// seenRules are those of the caller.
const seenRules = "key \"seen/\"* ro\nkey \"exact\" read watch\nsession \"seen\"* read\nnode \"seen\" read\nservice \"seen\" read\nquery \"seen\" read"

// newCanaryWorld makes it, and changes all of it once more after a revision from which one can watch.
func newCanaryWorld(t *testing.T, m *member, adminText string) *canaryWorld {
	t.Helper()
	w := &canaryWorld{m: m, admin: as(t.Context(), adminText), token: m.token(t, adminText, "seen", seenRules).GetText()}
	w.canaries = []string{"canary", "CANARY", "Y2FuYXJ5"} // The last is how JSON has values that begin with it.
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	session := func(name string) string {
		s, err := m.CreateSession(w.admin, &tenurev1.CreateSessionRequest{Name: name})
		must(err)
		if name == "canary" {
			w.canaries = append(w.canaries, s.GetSessionId())
		}
		return s.GetSessionId()
	}
	register := func(node, service, instance, of string) {
		r := &tenurev1.RegisterNodeRequest{
			Node:     &tenurev1.Node{Name: node, Meta: map[string]string{"a": node}},
			Services: []*tenurev1.Service{{ServiceId: "moving", Name: service}, {ServiceId: "one", Name: "seen"}, {ServiceId: "two", Name: "canary"}},
			Checks:   []*tenurev1.Check{{CheckId: "moving", Name: instance, ServiceId: of, Output: instance, Status: passing}},
		}
		_, err := m.catalog().RegisterNode(w.admin, r)
		must(err)
	}
	put := func(key, value string) uint64 {
		p, err := m.Put(w.admin, &tenurev1.PutRequest{Key: key, Content: text(value)})
		must(err)
		return p.GetHeader().GetRevision()
	}
	query := func(name string) string {
		q, err := m.queries().CreateQuery(w.admin, &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{Name: name, Service: name}})
		must(err)
		if name == "canary" {
			w.canaries = append(w.canaries, q.GetQueryId())
		}
		return q.GetQueryId()
	}
	canary := session("canary")
	w.own = session("seen")
	seenQuery, canaryQuery := query("seen"), query("canary")
	for range 2 {
		for _, key := range []string{"canary/1", "seen/1", "canary/2", "seen", "seen0", "exact", "exact/canary"} {
			value := "canary of " + key
			if key == "exact" || strings.HasPrefix(key, "seen/") {
				value = "plain"
			}
			w.begins = put(key, value)
		}
		for session, key := range map[string]string{canary: "canary/lock", w.own: "seen/lock"} {
			_, err := m.TryAcquireLock(w.admin, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: session})
			must(err)
			_, err = m.ReleaseLock(w.admin, &tenurev1.ReleaseLockRequest{Key: key, SessionId: session})
			must(err)
			_, err = m.TryAcquireLock(w.admin, &tenurev1.TryAcquireLockRequest{Key: key, SessionId: session})
			must(err)
		}
		register("seen", "canary", "canary", "two")
		register("canary", "seen", "canary", "one")
		register("seen", "seen", "plain", "one")
		register("seen", "canary", "canary", "moving")
		register("seen", "canary", "plain", "")
		register("seen", "canary", "canary", "two")
		if w.ends > 0 {
			break
		}
		w.ends = put("exact", "plain")
	}
	w.begins = w.ends
	for id, name := range map[string]string{seenQuery: "seen", canaryQuery: "canary"} {
		_, err := m.queries().UpdateQuery(w.admin, &tenurev1.UpdateQueryRequest{QueryId: id, Query: &tenurev1.Query{Name: name, Service: name, OnlyPassing: true}})
		must(err)
	}
	_, err := m.DestroySession(w.admin, &tenurev1.DestroySessionRequest{SessionId: session("canary"), Reason: "canary"})
	must(err)
	_, err = m.DestroySession(w.admin, &tenurev1.DestroySessionRequest{SessionId: session("seen/other")})
	must(err)
	_, err = m.queries().DeleteQuery(w.admin, &tenurev1.DeleteQueryRequest{QueryId: query("canary2")})
	must(err)
	_, err = m.catalog().DeregisterNode(w.admin, &tenurev1.DeregisterNodeRequest{Node: "canary"})
	must(err)
	register("canary", "canary", "canary", "two")
	w.ends = put("canary/1", "canary")
	return w
}

// selections are a selector of each kind, and how each reads in the address of a REST call.
func (w *canaryWorld) selections() map[string]*tenurev1.WatchRequest {
	return map[string]*tenurev1.WatchRequest{
		"":                              {},
		"prefixes=se":                   {Prefixes: []string{"se"}},
		"rangeStart=b&rangeEnd=seen/zz": {RangeStart: "b", RangeEnd: "seen/zz"},
		"lockPrefixes=c&lockPrefixes=s": {LockPrefixes: []string{"c", "s"}},
		"keys=exact&prefixes=exact":     {Keys: []string{"exact"}, Prefixes: []string{"exact"}},
		"allSessions=true":              {AllSessions: true},
		"allNodes=true":                 {AllNodes: true},
		"allServices=true":              {AllServices: true},
		"nodes=SEEN":                    {Nodes: []string{"SEEN"}},
		"services=seen":                 {Services: []string{"seen"}},
		"allQueries=true":               {AllQueries: true},
		"allQueries=true&allSessions=true&allServices=true&allNodes=true&prefixes=&lockPrefixes=&sessionIds=" + w.own: {
			AllQueries: true, AllSessions: true, AllServices: true, AllNodes: true, Prefixes: []string{""}, LockPrefixes: []string{""},
			SessionIds: []string{w.own},
		},
	}
}

// check looks for canaries in a text, and for something that its caller sees.
func (w *canaryWorld) check(t *testing.T, what, text string) {
	t.Helper()
	for _, canary := range w.canaries {
		if at := strings.Index(text, canary); at >= 0 {
			t.Errorf("%s: shows %q: %s", what, canary, text[max(0, at-300):min(len(text), at+100)])
		}
	}
	if !strings.Contains(text, "seen") && !strings.Contains(text, "exact") {
		t.Errorf("%s: shows nothing: %s", what, text)
	}
}

// TestNothingUnseenIsInAWatch watches a selector of each kind over each way, from the present state and through history, and looks for canaries in all that comes.
func TestNothingUnseenIsInAWatch(t *testing.T) {
	m := start(t, alone)
	w := newCanaryWorld(t, m, m.bootstrap(t, modeEnforce))
	caller := as(t.Context(), w.token)
	for address, selection := range w.selections() {
		for how, r := range map[string]*tenurev1.WatchRequest{
			"initial=true":               {Initial: true},
			"initial=true&keysOnly=true": {Initial: true, KeysOnly: true},
			"previous=true&afterRevision=" + strconv.FormatUint(w.begins-1, 10): {AfterRevision: w.begins - 1, Previous: true},
			"keysOnly=true&afterRevision=1":                                     {AfterRevision: 1, KeysOnly: true},
		} {
			r = proto.CloneOf(r)
			proto.Merge(r, selection)
			r.VisibleOnly, r.ProgressInterval = true, durationpb.New(200*time.Millisecond)
			what := address + "&" + how
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				var all strings.Builder
				w.m.follow(caller, t, r, w.ends, func(message *tenurev1.WatchResponse) {
					if !message.GetHeader().GetFiltered() {
						t.Errorf("got the header %v, want it filtered", message.GetHeader())
					}
					all.WriteString(prototext.Format(message))
				})
				w.check(t, "over gRPC", all.String())
				if !r.GetKeysOnly() {
					w.check(t, "on a line", w.onLine(caller, t, r))
					w.check(t, "over REST", w.overREST(t, what))
				}
			})
		}
	}
}

// onLine returns all that a watch on a line shows up to the end.
func (w *canaryWorld) onLine(ctx context.Context, t *testing.T, r *tenurev1.WatchRequest) string {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	line := w.m.readLine(ctx, t, lineWatch(1, r))
	var all strings.Builder
	for complete := !r.GetInitial(); ; {
		message := line.next(1).GetWatch()
		all.WriteString(prototext.Format(message))
		if !message.GetHeader().GetFiltered() {
			t.Errorf("got the header %v, want it filtered", message.GetHeader())
		}
		complete = complete || message.GetInitial().GetComplete()
		if complete && message.GetHeader().GetRevision() >= w.ends && (message.GetProgress() != nil || message.GetInitial() != nil) {
			return all.String()
		}
	}
}

// overREST returns all that a watch over REST shows up to the end, as it is sent.
func (w *canaryWorld) overREST(t *testing.T, query string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	address := "http://" + w.m.at.HTTP + "/v1/watch?" + strings.TrimPrefix(query, "&") + "&visibleOnly=true&progressInterval=0.2s"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s: got %d %s", query, answer.StatusCode, text)
	}
	var all strings.Builder
	buffer := make([]byte, 64<<10)
	for {
		n, err := answer.Body.Read(buffer)
		all.Write(buffer[:n])
		if text := all.String(); strings.Contains(text, `"progress"`) && strings.HasSuffix(text, "\n") {
			for line := range strings.Lines(text) {
				if !strings.Contains(line, `"filtered":true`) {
					t.Errorf("%s: a line does not say that it is filtered: %s", query, line)
				}
			}
			return text
		}
		if err != nil {
			t.Fatalf("%s: %v after %s", query, err, all.String())
		}
	}
}

// TestWhatAWatchNamesIsRefusedThoughItShowsAPart names what the caller may not read, which is refused whether it is there or not.
func TestWhatAWatchNamesIsRefusedThoughItShowsAPart(t *testing.T) {
	m := start(t, alone)
	token := m.bootstrap(t, modeEnforce)
	w := newCanaryWorld(t, m, token)
	session := w.canaries[3]
	for name, r := range map[string]*tenurev1.WatchRequest{
		"a key":     {Keys: []string{"canary/1"}},
		"no key":    {Keys: []string{"missing"}},
		"a lock":    {Locks: []string{"canary/lock"}},
		"a session": {SessionIds: []string{session}},
		"a node":    {Nodes: []string{"canary"}},
		"no node":   {Nodes: []string{"missing"}},
		"a service": {Services: []string{"canary"}},
	} {
		r.VisibleOnly, r.AllQueries = true, true
		if err := m.watchErrorAs(as(t.Context(), w.token), r); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v, want PERMISSION_DENIED", name, err)
		}
	}
	nobody := m.token(t, token, "nobody", "").GetText()
	for _, who := range []string{nobody, ""} {
		if err := m.watchErrorAs(as(t.Context(), who), everything()); status.Code(err) != codes.PermissionDenied {
			t.Errorf("without a rule: got %v, want PERMISSION_DENIED", err)
		}
	}
}

// TestTheLimitOfAWatchCountsWhatIsShown watches through changes of which the caller sees few.
func TestTheLimitOfAWatchCountsWhatIsShown(t *testing.T) {
	m := start(t, alone)
	w := newCanaryWorld(t, m, m.bootstrap(t, modeEnforce))
	all := &tenurev1.WatchRequest{Prefixes: []string{""}, VisibleOnly: true, AfterRevision: 1, ProgressInterval: durationpb.New(200 * time.Millisecond)}
	var want []string
	m.follow(as(t.Context(), w.token), t, all, w.ends, func(message *tenurev1.WatchResponse) {
		for _, e := range message.GetEvents().GetEvents() {
			want = append(want, e.GetKey()+" "+e.GetType().String())
		}
	})
	var got []string
	r := &tenurev1.WatchRequest{Prefixes: []string{""}, VisibleOnly: true, AfterRevision: 1, Limit: 2}
	for len(got) < len(want) {
		stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(as(t.Context(), w.token), r)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for {
			message, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range message.GetEvents().GetEvents() {
				got = append(got, e.GetKey()+" "+e.GetType().String())
				n++
			}
			r.AfterRevision, r.ResumeToken = 0, message.GetResumeToken()
		}
		if n < 2 || n > 3 {
			t.Errorf("got %d events, want 2 or the rest of a revision", n)
		}
		if len(want)-len(got) < 2 {
			break
		}
	}
	if !slices.Equal(got, want[:len(got)]) || len(got) < 6 {
		t.Errorf("got %v, want %v", got, want)
	}
}
