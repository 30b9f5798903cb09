package consulhttp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenure-io/tenure/consulhttp"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// shownSession is a session as it is shown.
type shownSession struct {
	ID, Name, Node, Behavior, TTL string
	LockDelay                     int64
	NodeChecks                    []string
	ServiceChecks                 []any
	CreateIndex, ModifyIndex      uint64
}

// info returns a session; nil if there is none.
func (r *rig) info(id string) *shownSession {
	r.t.Helper()
	got := r.send("GET", "/v1/session/info/"+id, "")
	var sessions []shownSession
	if err := json.Unmarshal([]byte(got.body), &sessions); err != nil || got.status != 200 || len(sessions) > 1 {
		r.t.Fatalf("got %d %s", got.status, got.body)
	}
	if len(sessions) == 0 {
		return nil
	}
	return &sessions[0]
}

// TestSessionsAreShownAsConsulShowsThem is golden.
func TestSessionsAreShownAsConsulShowsThem(t *testing.T) {
	r := newRig(t)
	r.want("GET", "/v1/session/list", "", 200, "[]")
	id := r.session(`{"name":"web","ttl":"15.0s","LOCKDELAY":"20s","behavior":"delete","unknown":1}`)
	want := `[{"ID":"` + id + `","Name":"web","Node":"node-1","LockDelay":20000000000,"Behavior":"delete","TTL":"15.0s",` +
		`"NodeChecks":[],"ServiceChecks":null,"CreateIndex":1,"ModifyIndex":1}]`
	for _, path := range []string{"/v1/session/list", "/v1/session/info/" + id, "/v1/session/node/node-1", "/v1/session/node/NODE-1"} {
		r.want("GET", path, "", 200, want)
	}
	r.want("PUT", "/v1/session/renew/"+id, "", 200, want)
	r.want("GET", "/v1/session/node/other", "", 200, "[]")
	r.want("PUT", "/v1/session/destroy/"+id, "", 200, "true")
	r.want("PUT", "/v1/session/destroy/"+id, "", 200, "true")
	for _, path := range []string{"/v1/session/list", "/v1/session/info/" + id, "/v1/session/node/node-1", "/v1/session/info/nonsense", "/v1/session/info/%ff"} {
		r.want("GET", path, "", 200, "[]")
	}
	for _, unknown := range []string{id, "nonsense", "11111111-2222-3333-4444-555555555555"} {
		r.want("PUT", "/v1/session/renew/"+unknown, "", 404, "Session id '"+unknown+"' not found")
		r.want("PUT", "/v1/session/destroy/"+unknown, "", 200, "true")
	}
	r.want("PUT", "/v1/session/destroy/%ff", "", 200, "true")
	for _, path := range []string{"destroy/", "renew/"} {
		r.want("PUT", "/v1/session/"+path, "", 400, "Missing session")
	}
	r.want("GET", "/v1/session/info/", "", 400, "Missing session")
	r.want("GET", "/v1/session/node/", "", 400, "Missing node name")
}

// TestBodiesOfSessions is the table of what a new session may ask for, and what is shown of it.
func TestBodiesOfSessions(t *testing.T) {
	r := newRig(t)
	for body, want := range map[string]shownSession{
		``:                                     {Behavior: "release", LockDelay: 15e9},
		`{}`:                                   {Behavior: "release", LockDelay: 15e9},
		`null`:                                 {Behavior: "release", LockDelay: 15e9},
		`{"TTL":"0s"}`:                         {Behavior: "release", LockDelay: 15e9, TTL: "0s"},
		`{"TTL":"10s"}`:                        {Behavior: "release", LockDelay: 15e9, TTL: "10s"},
		`{"TTL":"24h"}`:                        {Behavior: "release", LockDelay: 15e9, TTL: "24h"},
		`{"LockDelay":0}`:                      {Behavior: "release"},
		`{"LockDelay":"0s"}`:                   {Behavior: "release"},
		`{"LockDelay":5}`:                      {Behavior: "release", LockDelay: 5e9},
		`{"LockDelay":"500ns"}`:                {Behavior: "release", LockDelay: 60e9},
		`{"LockDelay":"1ms"}`:                  {Behavior: "release", LockDelay: 1e6},
		`{"LockDelay":"0.001s"}`:               {Behavior: "release", LockDelay: 1e6},
		`{"LockDelay":1000}`:                   {Behavior: "release", LockDelay: 1e6},
		`{"LockDelay":1000001}`:                {Behavior: "release", LockDelay: 2e6},
		`{"LockDelay":"10m"}`:                  {Behavior: "release", LockDelay: 60e9},
		`{"LockDelay":15000000000}`:            {Behavior: "release", LockDelay: 15e9},
		`{"LockDelay":null}`:                   {Behavior: "release", LockDelay: 15e9},
		`{"Checks":[]}`:                        {Behavior: "release", LockDelay: 15e9},
		`{"Checks":null}`:                      {Behavior: "release", LockDelay: 15e9},
		`{"NodeChecks":[]}`:                    {Behavior: "release", LockDelay: 15e9},
		`{"NodeChecks":[],"ServiceChecks":[]}`: {Behavior: "release", LockDelay: 15e9},
		`{"Node":"NODE-1","Name":"x"}`:         {Behavior: "release", LockDelay: 15e9, Name: "x"},
		`{"Behavior":"release"}`:               {Behavior: "release", LockDelay: 15e9},
	} {
		got := r.info(r.session(body))
		got.ID, got.CreateIndex, got.ModifyIndex = "", 0, 0
		want.Node, want.NodeChecks = "node-1", []string{}
		if fmt.Sprintf("%#v", *got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: got %#v, want %#v", body, *got, want)
		}
	}
}

// TestBodiesThatAreRefused is the table of texts that programs look for, and of mistakes.
func TestBodiesThatAreRefused(t *testing.T) {
	r := newRig(t)
	for body, want := range map[string]struct {
		status int
		text   string
	}{
		`{"TTL":"15"}`:                         {500, "Invalid Session TTL '15'"},
		`{"TTL":"soon"}`:                       {500, "Invalid Session TTL 'soon'"},
		`{"TTL":"9.9s"}`:                       {500, "Invalid Session TTL '9.9s'"},
		`{"TTL":"24h1s"}`:                      {500, "Invalid Session TTL '24h1s'"},
		`{"TTL":"-10s"}`:                       {500, "Invalid Session TTL '-10s'"},
		`{"Node":"other"}`:                     {500, "Missing node registration"},
		`{"Checks":["serfHealth"]}`:            {500, "Missing check 'serfHealth' registration"},
		`{"Checks":["consul"]}`:                {500, "Missing check 'consul' registration"},
		`{"NodeChecks":["serfHealth"]}`:        {500, "Missing check 'serfHealth' registration"},
		`{"ServiceChecks":[{"ID":"web"}]}`:     {500, "Missing check 'web' registration"},
		`{"Behavior":"keep"}`:                  {400, "Invalid Behavior setting 'keep'"},
		`{"LockDelay":"soon"}`:                 {400, "Request decode failed"},
		`{"LockDelay":-1}`:                     {400, "Request decode failed"},
		`{"LockDelay":[]}`:                     {400, "Request decode failed"},
		`{"Checks":7}`:                         {400, "Request decode failed"},
		`{"Name":7}`:                           {400, "Request decode failed"},
		`{`:                                    {400, "Request decode failed"},
		`[]`:                                   {400, "Request decode failed"},
		`TTL=15s`:                              {400, "Request decode failed"},
		`{"Name":"` + long(257) + `"}`:         {400, "name"},
		`{"TTL":"` + long(600) + `"}`:          {500, "Invalid Session TTL"},
		`{"TTL":"` + zeros(70) + `15s"}`:       {500, "Invalid Session TTL"},
		`{"NodeChecks":["` + long(600) + `"]}`: {500, "Missing check"},
	} {
		got := r.send("PUT", "/v1/session/create", body)
		if got.status != want.status || !strings.HasPrefix(got.body, want.text) || len(got.body) > 600 {
			t.Errorf("%.60s: got %d %s, want %d %s", body, got.status, got.body, want.status, want.text)
		}
	}
	r.want("GET", "/v1/session/list", "", 200, "[]")
}

func long(n int) string  { return strings.Repeat("n", n) }
func zeros(n int) string { return strings.Repeat("0", n) }

// TestSessionsGetAMultipleOfTheirTTL asks for TTLs, and looks at the session's own.
func TestSessionsGetAMultipleOfTheirTTL(t *testing.T) {
	for factor, want := range map[float64]time.Duration{0: 30 * time.Second, 1: 15 * time.Second, 1.5: 22500 * time.Millisecond} {
		t.Run(fmt.Sprint(factor), func(t *testing.T) {
			r := newRig(t, func(o *consulhttp.Options) { o.TTLFactor, o.SessionTTLMin = factor, 250*time.Millisecond })
			for asked, granted := range map[string]time.Duration{"15s": want, "24h": 24 * time.Hour, "0s": 0, "": 0} {
				id := r.session(`{"TTL":"` + asked + `"}`)
				got, err := tenurev1.NewSessionServiceClient(r.grpc).GetSession(t.Context(), &tenurev1.GetSessionRequest{SessionId: id})
				if err != nil {
					t.Fatal(err)
				}
				if got.GetSession().GetTtl().AsDuration() != granted || r.info(id).TTL != asked {
					t.Errorf("asked for %q: got %v, shown as %q, want %v", asked, got.GetSession().GetTtl().AsDuration(), r.info(id).TTL, granted)
				}
			}
		})
	}
}

// TestEphemeralKeysGoWithTheirSession destroys a session that deletes.
func TestEphemeralKeysGoWithTheirSession(t *testing.T) {
	r := newRig(t)
	id := r.session(`{"Behavior":"delete"}`)
	r.want("PUT", "/v1/kv/e?acquire="+id, "1", 200, "true")
	r.want("PUT", "/v1/session/destroy/"+id, "", 200, "true")
	r.want("GET", "/v1/kv/e", "", 404, "")
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]consulhttp.Options{
		"a datacenter with a space":    {Datacenter: "dc 1"},
		"a TTL factor below 1":         {TTLFactor: 0.5},
		"a TTL factor above 2":         {TTLFactor: 2.1},
		"a node id that is no UUID":    {NodeID: "node-1"},
		"a shortest TTL above 24 h":    {SessionTTLMin: 25 * time.Hour},
		"a shortest TTL that is below": {SessionTTLMin: -time.Second},
	} {
		if o.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := (consulhttp.Options{}).Validate(); err != nil {
		t.Error(err)
	}
}
