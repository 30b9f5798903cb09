package antientropy_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-io/tenure/agent/antientropy"
	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestWhatIsRefusedDoesNotKeepTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.refuse["bad"], c.refuse["c7"] = true, true
		a := start(t, c, 1, func(a *agent) {
			a.add([]string{"good", "bad"}, "c@bad")
			for i := range 20 {
				a.add(nil, fmt.Sprintf("c%d", i))
			}
		})
		if len(c.services) != 1 || len(c.checks) != 19 {
			t.Errorf("got %d services and %d checks, want all but what is refused", len(c.services), len(c.checks))
		}
		s := a.sync.State()
		if s.Err == nil || s.Missing != 3 || !s.OutOfSync[antientropy.CheckKey("c7")] || !s.OutOfSync[antientropy.ServiceKey("bad")] {
			t.Errorf("state: got %+v, want three entries missing and why", s)
		}
		// It is not tried again with every change, but with every comparison.
		c.taken()
		a.report("c1", check.Passing, "")
		c.want(t, "0s: sync +c1=passing")
		c.mu.Lock()
		clear(c.refuse)
		c.mu.Unlock()
		pass(time.Minute)
		if len(c.services) != 2 || len(c.checks) != 21 {
			t.Errorf("a minute later: got %d services and %d checks, want all", len(c.services), len(c.checks))
		}
		if s := a.sync.State(); s.Err != nil || s.Missing != 0 {
			t.Errorf("state: got %+v, want no difference", s)
		}
	})
}

// A cluster whose disk is full takes no service more. It learns all the same that one is down.
func TestAFullClusterLearnsWhatItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) { a.add([]string{"s"}, "c@s") })
		a.report("c@s", check.Passing, "")
		c.mu.Lock()
		c.full = true
		c.mu.Unlock()
		a.add([]string{"new"}, "d@new")
		c.taken()
		a.report("c@s", check.Critical, "")
		pass(2 * time.Minute)
		c.mu.Lock()
		if got := c.checks["c@s"].GetStatus(); got != tenurev1.CheckStatus_CHECK_STATUS_CRITICAL || len(c.services) != 1 {
			t.Errorf("got status %v and %d services, want a critical one and none more", got, len(c.services))
		}
		c.full = false
		c.mu.Unlock()
		if s := a.sync.State(); s.Err == nil {
			t.Errorf("state: got %+v, want why the rest is missing", s)
		}
		pass(2 * time.Minute)
		if s := a.sync.State(); s.Err != nil || s.Missing != 0 || len(c.services) != 2 {
			t.Errorf("state once there is room: got %+v with %d services, want no difference", s, len(c.services))
		}
	})
}

// Entries that are too large for one call are made in several.
func TestWhatIsTooLargeIsMadeInSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.entriesMax = 10
		a := start(t, c, 1, func(a *agent) {
			a.add([]string{"s"})
			for i := range 30 {
				a.add(nil, fmt.Sprintf("c%d", i))
			}
		})
		if c.node == nil || len(c.services) != 1 || len(c.checks) != 30 {
			t.Errorf("got node %v, %d services and %d checks, want all", c.node, len(c.services), len(c.checks))
		}
		if s := a.sync.State(); s.Err != nil || s.Refused != 0 {
			t.Errorf("state: got %+v, want nothing refused", s)
		}
	})
}

// Entries that are large together are made in several calls, none of which is so large that it is refused without a reason.
func TestWhatIsLargeTogetherIsMadeInSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) {
			meta := map[string]string{}
			for i := range 64 {
				meta[fmt.Sprintf("%0128d", i)] = strings.Repeat("x", 512)
			}
			var content registry.Content
			for i := range 200 {
				content.Services = append(content.Services, registry.Service{ID: fmt.Sprint("s", i), Name: "web", Meta: meta})
			}
			if err := a.Add(registry.Addition{Content: content}); err != nil {
				t.Fatal(err)
			}
		})
		if s := a.sync.State(); s.Err != nil || len(c.services) != 200 {
			t.Errorf("got %d services, %v; want all", len(c.services), s.Err)
		}
	})
}

// One service for which the token has no right keeps neither the node nor another entry from the catalog. It is tried again with each comparison,
// and not with each change.
func TestAnEntryWithoutARightDoesNotKeepTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.deny["bad"] = true
		a := start(t, c, 1, func(a *agent) {
			a.add([]string{"good", "bad"}, "c@good", "c@bad", "d@bad", "e")
			for i := range 200 {
				a.add([]string{fmt.Sprint("s", i)})
			}
		})
		if c.node == nil || len(c.services) != 201 || len(c.checks) != 2 {
			t.Fatalf("got node %v, %d services and %d checks, want all but what is denied", c.node, len(c.services), len(c.checks))
		}
		s := a.sync.State()
		if s.Missing != 3 || s.Refused != 3 || !s.OutOfSync[antientropy.ServiceKey("bad")] || !s.OutOfSync[antientropy.CheckKey("c@bad")] {
			t.Errorf("state: got %+v, want three entries missing, all refused", s)
		}
		if s.Err == nil || !strings.Contains(s.Err.Error(), `service bad: `) || !strings.Contains(s.Err.Error(), "3 entries") {
			t.Errorf("error: got %v, want how many entries are refused, which and why", s.Err)
		}
		c.taken()
		a.report("e", check.Passing, "")
		a.report("c@bad", check.Passing, "")
		c.want(t, "0s: sync +e=passing")
		c.denied()
		pass(time.Hour)
		if n := c.denied(); n < 50 || n > 125 {
			t.Errorf("an hour of one entry without a right: got %d calls that were denied, want one for each comparison", n)
		}
		if got := a.logs.FilterMessage("the cluster refused an entry").Len(); got != 3 {
			t.Errorf("log lines of refusals: got %d, want one for each entry", got)
		}
		// The right comes.
		c.mu.Lock()
		clear(c.deny)
		c.mu.Unlock()
		pass(time.Minute)
		if len(c.services) != 202 || len(c.checks) != 4 || c.checks["c@bad"].GetStatus() != tenurev1.CheckStatus_CHECK_STATUS_PASSING {
			t.Errorf("a minute after the right came: got %d services and %d checks, want all", len(c.services), len(c.checks))
		}
		if s := a.sync.State(); s.Err != nil || s.Missing != 0 || s.Refused != 0 {
			t.Errorf("state: got %+v, want no difference", s)
		}
		if got := a.logs.FilterMessage("the cluster accepted an entry that it had refused").Len(); got != 3 {
			t.Errorf("log lines of entries that are accepted: got %d, want one for each entry", got)
		}
	})
}

// A service that is in the catalog, and whose change is refused, stays there as it is. Nothing waits for it, and no change of another entry sends it.
func TestAChangeWithoutARightDoesNotKeepTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) { a.add([]string{"bad"}, "c@bad", "e") })
		pass(time.Minute) // The agent has read the entries as the catalog shows them.
		c.mu.Lock()
		c.deny["bad"] = true
		c.mu.Unlock()
		c.taken()
		changed := registry.Service{ID: "bad", Name: "web", Port: 81}
		if err := a.Add(registry.Addition{Content: registry.Content{Services: []registry.Service{changed}}}); err != nil {
			t.Fatal(err)
		}
		a.report("c@bad", check.Passing, "")
		if n := c.denied(); n == 0 {
			t.Error("the changes were not tried")
		}
		s := a.sync.State()
		if s.Missing != 2 || s.Refused != 2 || !s.OutOfSync[antientropy.ServiceKey("bad")] || !s.OutOfSync[antientropy.CheckKey("c@bad")] {
			t.Errorf("state: got %+v, want two differences, all refused", s)
		}
		c.taken()
		a.report("e", check.Passing, "")
		c.want(t, "1m0s: sync +e=passing")
		a.report("c@bad", check.Warning, "")
		c.want(t)
		c.mu.Lock()
		if bad := c.services["bad"]; bad.GetPort() != 0 || c.checks["c@bad"].GetStatus() != tenurev1.CheckStatus_CHECK_STATUS_CRITICAL {
			t.Errorf("got %v and %v, want both as they were", bad, c.checks["c@bad"])
		}
		clear(c.deny)
		c.mu.Unlock()
		pass(time.Minute)
		if s := a.sync.State(); s.Missing != 0 || s.Err != nil || c.services["bad"].GetPort() != 81 {
			t.Errorf("a minute after the right came: got %v and state %+v, want no difference", c.services["bad"], s)
		}
	})
}

// A service that was refused comes to the catalog under another name, and its checks with it.
func TestChecksOfAServiceThatIsNoLongerRefusedAreWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		c.deny["bad"] = true
		a := start(t, c, 1, func(a *agent) { a.add([]string{"bad"}, "c@bad", "d@bad") })
		if s := a.sync.State(); s.Refused != 3 {
			t.Fatalf("state: got %+v, want all refused", s)
		}
		c.mu.Lock()
		clear(c.deny)
		c.mu.Unlock()
		c.taken()
		renamed := registry.Service{ID: "bad", Name: "good"}
		if err := a.Add(registry.Addition{Content: registry.Content{Services: []registry.Service{renamed}}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		c.want(t, "100ms: sync +bad", "100ms: sync +c@bad=critical +d@bad=critical")
		if s := a.sync.State(); s.Missing != 0 || s.Err != nil {
			t.Errorf("state: got %+v, want no difference", s)
		}
		if got := a.logs.FilterMessage("the cluster accepted an entry that it had refused").Len(); got != 3 {
			t.Errorf("log lines of entries that are accepted: got %d, want one for each entry", got)
		}
	})
}

// However many entries are refused, a full comparison tries few of them again, and each of them in turn.
func TestAFullComparisonTriesFewRefusedEntriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const entries, most, mostRounds = 100, 32, 4
		c := newCatalog()
		var ids []string
		for i := range entries {
			ids = append(ids, fmt.Sprint("bad", i))
			c.deny[ids[i]] = true
		}
		a := start(t, c, 1, func(a *agent) {
			for _, id := range ids {
				a.add([]string{id}, "c@"+id)
			}
			a.add(nil, "e")
		})
		c.taken()
		// Each comparison begins with a read.
		tried, reads := map[string]int{}, 0
		for reads < mostRounds {
			pass(time.Second)
			n := 0
			for _, call := range c.taken() {
				_, what, _ := strings.Cut(call, ": ")
				if id, is := strings.CutPrefix(what, "denied +"); is {
					tried[id]++
					n++
				} else if what != "read" {
					t.Errorf("call: got %q", call)
				} else {
					reads++
				}
			}
			if n > most {
				t.Errorf("one comparison made %d calls that were denied, want at most %d", n, most)
			}
		}
		for _, id := range ids {
			if tried[id] < 1 || tried[id] > 2 {
				t.Errorf("%s was tried %d times in %d comparisons, want each in its turn", id, tried[id], reads)
			}
		}
		s := a.sync.State()
		if s.Missing != 2*entries || s.Refused != 2*entries || s.Err == nil || !strings.Contains(s.Err.Error(), fmt.Sprint(2*entries, " entries")) {
			t.Errorf("state: got %d missing, %d refused and %v, want all refused", s.Missing, s.Refused, s.Err)
		}
		if got := a.logs.FilterMessage("the cluster refused an entry").Len(); got != 2*entries {
			t.Errorf("log lines of refusals: got %d, want one for each entry", got)
		}
		// A new check of a service that has not had its turn costs no call, and what may be written is.
		a.add(nil, "d@"+ids[0], "f")
		pass(time.Second)
		if got := a.sync.State().Refused; got != 2*entries+1 || c.checks["f"] == nil {
			t.Errorf("got %d refused and check %v, want one more refused and the other written", got, c.checks["f"])
		}
		// What the agent no longer has is not tried.
		if _, err := a.RemoveService(ids[1]); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if s := a.sync.State(); s.Refused != 2*entries-1 || !strings.Contains(s.Err.Error(), fmt.Sprint(2*entries-1, " entries")) {
			t.Errorf("state: got %d refused and %v, want those of the other services", s.Refused, s.Err)
		}
		// The right comes: what is accepted does not count.
		c.mu.Lock()
		clear(c.deny)
		c.mu.Unlock()
		pass(time.Minute)
		if s := a.sync.State(); s.Missing != 0 || s.Err != nil || len(c.services) != entries-1 || len(c.checks) != entries+2 {
			t.Errorf("a minute after the right came: got %d services, %d checks and state %+v, want all", len(c.services), len(c.checks), s)
		}
	})
}

// What the agent no longer has, and its token may not delete, stays in the catalog, and nothing else waits for it.
func TestADeletionWithoutARightDoesNotKeepTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(a *agent) { a.add([]string{"good", "bad", "worse"}, "c@bad", "e") })
		c.mu.Lock()
		c.deny["bad"], c.deny["worse"] = true, true
		c.mu.Unlock()
		for _, id := range []string{"bad", "worse", "good"} {
			if _, err := a.RemoveService(id); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		if len(c.services) != 2 || c.services["good"] != nil {
			t.Errorf("got %v, want the two that may not be deleted", c.services)
		}
		if s := a.sync.State(); s.Missing != 2 || s.Refused != 2 || s.Err == nil {
			t.Errorf("state: got %+v, want two differences, all refused", s)
		}
		c.taken()
		a.report("e", check.Passing, "")
		c.want(t, "1s: sync +e=passing")
		// One is wanted again, and for the other one the right comes.
		a.add([]string{"bad"}, "c@bad")
		c.mu.Lock()
		delete(c.deny, "worse")
		c.mu.Unlock()
		pass(time.Minute)
		if s := a.sync.State(); s.Missing != 0 || s.Err != nil || c.services["bad"] == nil || c.services["worse"] != nil {
			t.Errorf("got %v and state %+v, want that which the agent has", c.services, s)
		}
	})
}

// Without the right to the node nothing can be written: that is one failure, and not one for each entry.
func TestWithoutTheRightToTheNodeEntriesAreNotTriedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCatalog()
		a := start(t, c, 1, func(*agent) {})
		c.mu.Lock()
		c.denyNode = true
		c.mu.Unlock()
		for i := range 300 {
			a.add([]string{fmt.Sprint("s", i)})
		}
		pass(10 * time.Minute)
		if n := c.denied(); n < 20 || n > 100 {
			t.Errorf("ten minutes without the right: got %d calls that were denied, want one for each try", n)
		}
		if s := a.sync.State(); s.Err == nil || s.Missing != 301 || s.Refused != 0 {
			t.Errorf("state: got %d missing, %d refused and %v, want a failure", s.Missing, s.Refused, s.Err)
		}
		c.mu.Lock()
		c.denyNode = false
		c.mu.Unlock()
		pass(30 * time.Second)
		if len(c.services) != 300 || a.sync.State().Err != nil {
			t.Errorf("30 s after the right came: got %d services and %v", len(c.services), a.sync.State().Err)
		}
	})
}
