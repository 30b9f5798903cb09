package registry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
)

// holder is a registry and what it announced.
type holder struct {
	*registry.Registry
	changes []registry.Change
}

func hold(stored map[string]check.State) *holder {
	h := &holder{}
	h.Registry = registry.New(registry.Options{Node: "here", ExecFromFile: true, Changed: func(c registry.Change) {
		h.changes = append(h.changes, c)
	}}, stored)
	return h
}

func (h *holder) add(t *testing.T, a registry.Addition) {
	t.Helper()
	if err := h.Add(a); err != nil {
		t.Fatal(err)
	}
}

// rows returns what is registered, in short.
func (h *holder) rows() string {
	services, checks := h.Rows()
	var b strings.Builder
	for _, s := range services {
		fmt.Fprintf(&b, "%s ", s.ID)
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "%s=%s ", c.Definition.ID, c.State.Status)
	}
	return strings.TrimSpace(b.String())
}

func (h *holder) want(t *testing.T, rows string) {
	t.Helper()
	if got := h.rows(); got != rows {
		t.Errorf("rows: got %q, want %q", got, rows)
	}
}

func web(id string) registry.Service { return registry.Service{ID: id, Name: "web"} }

func ttl(id, serviceID string) check.Definition {
	return check.Definition{ID: id, ServiceID: serviceID, Kind: check.TTL{TTL: 10 * time.Second}}
}

func api(s []registry.Service, c ...check.Definition) registry.Addition {
	return registry.Addition{Content: registry.Content{Services: s, Checks: c}}
}

func files(s []registry.Service, c ...check.Definition) registry.Addition {
	return registry.Addition{Content: registry.Content{Services: s, Checks: c}, Source: registry.File, Replace: true}
}

func services(ids ...string) []registry.Service {
	var all []registry.Service
	for _, id := range ids {
		all = append(all, web(id))
	}
	return all
}

func TestAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hold(nil)
		h.Loaded()
		h.add(t, files(services("a", "b"), ttl("ca", "a"), ttl("cb", "b")))
		h.want(t, "a b ca=critical cb=critical")
		h.add(t, api(services("c"), ttl("cc", "c"), ttl("node", "")))
		if err := h.Report("cc", check.Result{Status: check.Passing}); err != nil {
			t.Fatal(err)
		}
		h.want(t, "a b c ca=critical cb=critical cc=passing node=critical")

		// The same again is no change, and keeps the state.
		h.changes = nil
		h.add(t, api(services("c"), ttl("cc", "c")))
		if len(h.changes) != 0 {
			t.Errorf("registering the same again announced %+v", h.changes)
		}
		// Another definition keeps the state, a call that says one sets it.
		changed := ttl("cc", "c")
		changed.Notes = "changed"
		h.add(t, api(nil, changed))
		h.want(t, "a b c ca=critical cb=critical cc=passing node=critical")
		changed.Status = check.Warning
		h.add(t, api(nil, changed))
		h.want(t, "a b c ca=critical cb=critical cc=warning node=critical")

		// Files are replaced whole; what calls registered stays, except what goes with its service.
		h.add(t, api(nil, ttl("extra", "b")))
		h.add(t, files(services("a"), ttl("ca2", "a")))
		h.want(t, "a c ca2=critical cc=warning node=critical")
		// Replacing a service's checks leaves others alone.
		replace := api(services("c"), ttl("cc2", "c"))
		replace.Replace = true
		h.add(t, replace)
		h.want(t, "a c ca2=critical cc2=critical node=critical")

		for id, removed := range map[string]bool{"c": true, "missing": false} {
			if got, err := h.RemoveService(id); err != nil || got != removed {
				t.Errorf("remove service %s: got %t and %v, want %t", id, got, err, removed)
			}
		}
		if got, err := h.RemoveCheck("node"); err != nil || !got {
			t.Errorf("remove check: got %t and %v", got, err)
		}
		h.want(t, "a ca2=critical")
	})
}

func TestRefusals(t *testing.T) {
	h := hold(nil)
	h.Loaded()
	h.add(t, files(services("a"), ttl("ca", "a")))
	h.add(t, api(nil, check.Definition{ID: "tcp", Kind: check.TCP{Address: "localhost:1"}}))
	before := h.rows()
	h.changes = nil
	program := check.Definition{ID: "x", Kind: check.Exec{Args: []string{"true"}}}
	many := make([]check.Definition, 0, registry.ChecksMax)
	for i := range registry.ChecksMax {
		many = append(many, ttl(fmt.Sprint("many-", i), ""))
	}
	tests := map[string]struct {
		do   func() error
		want error
	}{
		"a check of an unknown service":  {func() error { return h.Add(api(services("z"), ttl("c", "y"))) }, registry.ErrServiceNotFound},
		"a check of a service that goes": {func() error { return h.Add(files(nil, ttl("c", "a"))) }, registry.ErrServiceNotFound},
		"a file's service":               {func() error { return h.Add(api(services("a"))) }, registry.ErrFromFile},
		"a file's check":                 {func() error { return h.Add(api(nil, ttl("ca", ""))) }, registry.ErrFromFile},
		"removing a file's service":      {func() error { _, err := h.RemoveService("a"); return err }, registry.ErrFromFile},
		"removing a file's check":        {func() error { _, err := h.RemoveCheck("ca"); return err }, registry.ErrFromFile},
		"a program from a call":          {func() error { return h.Add(api(nil, program)) }, registry.ErrExecOff},
		"too many checks":                {func() error { return h.Add(api(nil, many...)) }, registry.ErrTooMany},
		"a report of an unknown check":   {func() error { return h.Report("z", check.Result{Status: check.Passing}) }, registry.ErrCheckNotFound},
		"a report of another kind":       {func() error { return h.Report("tcp", check.Result{Status: check.Passing}) }, registry.ErrNotTTL},
		"a report without status":        {func() error { return h.Report("ca", check.Result{}) }, registry.ErrNoStatus},
		"maintenance of nothing":         {func() error { return h.SetMaintenance("z", true, "") }, registry.ErrServiceNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.do(); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	var invalid *registry.InvalidError
	if err := h.Add(api([]registry.Service{{Port: 70_000}})); !errors.As(err, &invalid) || len(invalid.Violations) != 2 {
		t.Errorf("a service without name and with a port too high: got %v, want both", err)
	}
	h.want(t, before)
	if len(h.changes) != 0 {
		t.Errorf("refusals announced %+v", h.changes)
	}
	h.add(t, files(services("a"), ttl("ca", "a"), program))
}

// Whoever follows the registry row by row takes each row that changed, and no other.
func TestTakeReturnsWhatChanged(t *testing.T) {
	h := hold(nil)
	h.Loaded()
	h.add(t, api(services("a", "b"), ttl("ca", "a"), ttl("cb", "b"), check.Definition{ID: "alias", Kind: check.Alias{Service: "a"}}))
	taken := func() string {
		got := h.Take()
		var rows []string
		for id, s := range got.Services {
			if s == nil {
				rows = append(rows, "-"+id)
			} else {
				rows = append(rows, "+"+s.ID)
			}
		}
		for id, c := range got.Checks {
			if c == nil {
				rows = append(rows, "-"+id)
			} else {
				rows = append(rows, fmt.Sprint(id, "=", c.State.Status))
			}
		}
		slices.Sort(rows)
		return strings.Join(rows, " ")
	}
	steps := []struct {
		name string
		do   func() error
		want string
	}{
		{"all is new", func() error { return nil }, "+a +b alias=critical ca=critical cb=critical"},
		{"nothing happened", func() error { return nil }, ""},
		{"a report, and the alias of it", func() error { return h.Report("ca", check.Result{Status: check.Passing}) }, "alias=passing ca=passing"},
		{"the same report", func() error { return h.Report("ca", check.Result{Status: check.Passing}) }, ""},
		{"another output", func() error { return h.Report("cb", check.Result{Status: check.Critical, Output: "x"}) }, "cb=critical"},
		{"a service goes", func() error { _, err := h.RemoveService("b"); return err }, "-b -cb"},
		{"a check goes", func() error { _, err := h.RemoveCheck("alias"); return err }, "-alias"},
		{"maintenance begins", func() error { return h.SetMaintenance("a", true, "") }, "_maintenance:a=critical"},
		{"maintenance ends", func() error { return h.SetMaintenance("a", false, "") }, "-_maintenance:a"},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := taken(); got != step.want {
			t.Errorf("%s: took %q, want %q", step.name, got, step.want)
		}
	}
}

func TestTTLsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hold(nil)
		h.Loaded()
		removing := ttl("c", "a")
		removing.DeregisterCriticalAfter = time.Minute
		h.add(t, api(services("a"), removing))
		_ = h.Report("c", check.Result{Status: check.Passing})
		due := h.Tick()
		if want := time.Now().Add(10 * time.Second); !due.Equal(want) {
			t.Fatalf("due: got %s, want %s", due, want)
		}
		<-time.After(time.Until(due))
		due = h.Tick()
		h.want(t, "a c=critical")
		<-time.After(time.Until(due))
		if due = h.Tick(); !due.IsZero() {
			t.Errorf("due after the last check went: got %s", due)
		}
		h.want(t, "")
	})
}

func TestMaintenance(t *testing.T) {
	h := hold(nil)
	h.Loaded()
	h.add(t, files(services("a")))
	for _, id := range []string{"", "a"} {
		if err := h.SetMaintenance(id, true, "disk"); err != nil {
			t.Fatal(err)
		}
	}
	h.want(t, "a _maintenance=critical _maintenance:a=critical")
	if got := h.Registered(); len(got.Checks) != 2 {
		t.Errorf("registered by calls: got %+v, want both", got)
	}
	for _, id := range []string{"", "a", "a"} {
		if err := h.SetMaintenance(id, false, ""); err != nil {
			t.Fatal(err)
		}
	}
	h.want(t, "a")
}

// The check is named after the service. Where that is too long nothing begins; what an older agent began ends.
func TestMaintenanceOfAServiceWithALongID(t *testing.T) {
	h := hold(nil)
	h.Loaded()
	id := strings.Repeat("a", check.IDBytesMax)
	h.add(t, files(services(id)))
	var refused *registry.InvalidError
	if err := h.SetMaintenance(id, true, "disk"); !errors.As(err, &refused) || refused.Violations[0].Field != "service_id" {
		t.Errorf("it begins: got %v, want a violation of service_id", err)
	}
	h.want(t, id)
	h.add(t, api(nil, check.Definition{ID: check.MaintenancePrefix + ":" + id, ServiceID: id, Kind: check.Maintenance{}}))
	if err := h.SetMaintenance(id, false, ""); err != nil {
		t.Errorf("it ends: got %v", err)
	}
	h.want(t, id)
}

func TestAliases(t *testing.T) {
	h := hold(nil)
	h.Loaded()
	alias := func(id, of, serviceID string) check.Definition {
		return check.Definition{ID: id, ServiceID: serviceID, Kind: check.Alias{Service: of, Node: "Here"}}
	}
	h.add(t, api(services("a", "b"), ttl("ca", "a"), ttl("node", ""), alias("of-a", "a", "b"), alias("of-b", "b", "a"), alias("of-z", "z", "")))
	h.want(t, "a b ca=critical node=critical of-a=critical of-b=critical of-z=critical")
	report := func(id string, s check.Status) {
		t.Helper()
		if err := h.Report(id, check.Result{Status: s}); err != nil {
			t.Fatal(err)
		}
	}
	report("node", check.Passing)
	h.want(t, "a b ca=critical node=passing of-a=critical of-b=passing of-z=critical")
	report("ca", check.Warning)
	h.want(t, "a b ca=warning node=passing of-a=warning of-b=passing of-z=critical")
	h.add(t, api(services("z")))
	h.want(t, "a b z ca=warning node=passing of-a=warning of-b=passing of-z=passing")
	if _, err := h.RemoveService("a"); err != nil {
		t.Fatal(err)
	}
	h.want(t, "b z node=passing of-a=critical of-z=passing")
	if of, err := h.Check("of-z"); err != nil || of.Definition.Kind != (check.Alias{Service: "z", Node: "here"}) {
		t.Errorf("an alias of the own node in another case: got %v and %v, want it with the name of the node", of.Definition.Kind, err)
	}
}

// An alias names the first of the worst checks that it stands for. It ends with its id, also where that comes to be another kind of check.
func TestAnAliasComesAndGoes(t *testing.T) {
	h := hold(nil)
	h.Loaded()
	alias := check.Definition{ID: "of-a", Kind: check.Alias{Service: "a"}}
	h.add(t, api(services("a"), ttl("c3", "a"), ttl("c1", "a"), ttl("c2", "a"), ttl("c0", "a"), alias))
	if err := h.Report("c0", check.Result{Status: check.Warning}); err != nil {
		t.Fatal(err)
	}
	if of, err := h.Check("of-a"); err != nil || of.State.Output != `check "c1" is critical` {
		t.Errorf("alias: got %+v and %v, want the first of those that are critical", of.State, err)
	}
	for _, id := range []string{"c1", "c2", "c3"} {
		if err := h.Report(id, check.Result{Status: check.Passing}); err != nil {
			t.Fatal(err)
		}
	}
	h.want(t, "a c0=warning c1=passing c2=passing c3=passing of-a=warning")
	h.add(t, api(nil, ttl("of-a", "")))
	if err := h.Report("c0", check.Result{Status: check.Passing}); err != nil {
		t.Fatal(err)
	}
	h.want(t, "a c0=passing c1=passing c2=passing c3=passing of-a=warning")
	h.add(t, api(nil, alias))
	h.want(t, "a c0=passing c1=passing c2=passing c3=passing of-a=passing")
	if _, err := h.RemoveCheck("of-a"); err != nil {
		t.Fatal(err)
	}
	if err := h.Report("c0", check.Result{Status: check.Warning}); err != nil {
		t.Fatal(err)
	}
	h.want(t, "a c0=warning c1=passing c2=passing c3=passing")
}

// A report is followed by a Tick. Both take as many allocations at an agent with many checks as at one with few.
func TestAReportAndATickAllocateTheSameHoweverManyChecksThereAre(t *testing.T) {
	costs := func(n int) float64 {
		r := registry.New(registry.Options{Node: "here"}, nil)
		r.Loaded()
		var checks []check.Definition
		for i := range n {
			checks = append(checks, check.Definition{ID: fmt.Sprintf("c%d", i), Kind: check.TTL{TTL: 24 * time.Hour}})
		}
		if err := r.Add(api(nil, checks...)); err != nil {
			t.Fatal(err)
		}
		status := check.Passing
		return testing.AllocsPerRun(10, func() {
			status = check.Passing + check.Warning - status
			if err := r.Report("c3", check.Result{Status: status}); err != nil {
				t.Fatal(err)
			}
			r.Tick()
		})
	}
	if few, many := costs(10), costs(1_000); many > few {
		t.Errorf("got %v allocations with 1000 checks, and %v with 10", many, few)
	}
}

// A restart gives every check the state that it had, in whichever order registrations come back.
func TestRestart(t *testing.T) {
	stored := map[string]check.State{}
	for _, id := range []string{"ca", "alias", "node"} {
		stored[id] = check.State{Status: check.Passing, Output: "as before"}
	}
	h := hold(stored)
	alias := check.Definition{ID: "alias", Kind: check.Alias{Service: "a"}}
	h.add(t, files(nil, alias, ttl("node", "")))
	if got := h.States(); len(got) != 3 || got["ca"].Status != check.Passing {
		t.Errorf("what would be stored now: got %v, want all three passing", got)
	}
	h.add(t, api(services("a"), ttl("ca", "a"), ttl("new", "a")))
	for _, c := range h.changes {
		if c.Output {
			t.Errorf("an output changed before all was back: %+v", c)
		}
	}
	h.want(t, "a alias=passing ca=passing new=critical node=passing")
	h.Loaded()
	h.want(t, "a alias=critical ca=passing new=critical node=passing")
	if got := h.States(); len(got) != 4 {
		t.Errorf("stored after the start: got %v, want the four checks", got)
	}
}
