package check

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// Options says what a history is checked against.
type Options struct {
	// DriftPercent is by how much the rate of a clock may differ from the true one.
	DriftPercent float64
	// SlackMs is how late an event's At may be behind its commit, and how early an answer's Return; 0 where both are exact.
	SlackMs int64
	// CalmFrom is from when on nothing was disturbed and one member led, so that sessions end in time; zero: never.
	CalmFrom int64
	// GrantsMayLag is set when grants of a lock may stand still, because a command reached its limit of grants.
	GrantsMayLag bool
	// SearchMax bounds the search of an order for the operations on one key; zero is 5 minutes.
	SearchMax time.Duration
}

// Violation is a promise that was broken.
type Violation struct {
	// Checker found it.
	Checker string
	// Text says what was seen and what was promised.
	Text string
	// Undecided says that a search took too long: nothing was shown, neither that the promise was broken nor that it was kept.
	Undecided bool
}

// String returns the violation on one line.
func (v Violation) String() string { return v.Checker + ": " + v.Text }

// Report is what the checkers found, and how much they looked at.
type Report struct {
	Violations []Violation
	// Counts are by name, so that floors can be demanded.
	Counts map[string]int
}

// violationsMax is how many violations one checker reports.
const violationsMax = 8

// checker gathers what one checker finds.
type checker struct {
	name   string
	report *Report
	found  int
}

func (c *checker) fail(format string, args ...any) {
	c.add(Violation{Checker: c.name, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) add(v Violation) {
	c.found++
	if c.found <= violationsMax {
		c.report.Violations = append(c.report.Violations, v)
	}
}

func (c *checker) count(name string, n int) { c.report.Counts[c.name+" "+name] += n }

// Run runs all checkers.
func Run(h *History, o Options) *Report {
	r := &Report{Counts: map[string]int{}}
	h.sort()
	linearizable(h, o, &checker{name: "linearizable", report: r})
	replay(h, o, &checker{name: "replay", report: r})
	locks(h, o, &checker{name: "locks", report: r})
	ttl(h, o, &checker{name: "ttl", report: r})
	watches(h, &checker{name: "watches", report: r})
	return r
}

// sort brings ops into the order of their calls and events into theirs.
func (h *History) sort() {
	sort.SliceStable(h.Ops, func(i, j int) bool { return h.Ops[i].Call < h.Ops[j].Call })
	sort.SliceStable(h.Events, func(i, j int) bool {
		a, b := h.Events[i], h.Events[j]
		return a.Revision < b.Revision || a.Revision == b.Revision && a.Index < b.Index
	})
}

// String returns counts and violations for people.
func (r *Report) String() string {
	var b strings.Builder
	names := make([]string, 0, len(r.Counts))
	for n := range r.Counts {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(&b, "%s: %d\n", n, r.Counts[n])
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "VIOLATION %s\n", v)
	}
	return b.String()
}
