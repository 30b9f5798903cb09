package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tenure-io/tenure/agent/check"
)

// TestMachine runs the dialogues in testdata: one command begins a check, the others are what happens to it.
func TestMachine(t *testing.T) {
	datadriven.Walk(t, "testdata/machine", func(t *testing.T, path string) {
		begin := time.Unix(0, 0)
		now := begin
		var m *check.Machine
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var fx check.Effect
			switch d.Cmd {
			case "begin":
				m = check.NewMachine(definition(t, d), check.State{Status: status(t, d, "stored"), Output: text(t, d, "stored-output")}, now)
			case "found":
				fx = m.Found(check.Result{Status: status(t, d, "status"), Output: text(t, d, "output")}, now)
			case "report":
				fx = m.Report(check.Result{Status: status(t, d, "status"), Output: text(t, d, "output")}, now)
			case "tick":
				var by string
				d.ScanArgs(t, "after", &by)
				now = now.Add(duration(t, by))
				fx = m.Tick(now)
			default:
				d.Fatalf(t, "unknown command")
			}
			return describe(m, fx, begin)
		})
	})
}

func describe(m *check.Machine, fx check.Effect, begin time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q", m.State().Status, m.State().Output)
	if fx.Changed {
		b.WriteString(" changed")
	}
	if fx.Annotated {
		b.WriteString(" annotated")
	}
	if fx.Deregister {
		b.WriteString(" deregister")
	}
	if at := m.Deadline(); !at.IsZero() {
		fmt.Fprintf(&b, " next at %s", at.Sub(begin))
	}
	return b.String() + "\n"
}

func definition(t *testing.T, d *datadriven.TestData) check.Definition {
	def := check.Definition{
		ID: "c", ServiceID: "s", Status: status(t, d, "initial"),
		DeregisterCriticalAfter: duration(t, text(t, d, "deregister-after")),
		SuccessBeforePassing:    number(t, d, "successes"),
		FailuresBeforeWarning:   number(t, d, "failures-warning"),
		FailuresBeforeCritical:  number(t, d, "failures-critical"),
		Kind:                    check.TCP{Address: "127.0.0.1:1"},
	}
	if ttl := text(t, d, "ttl"); ttl != "" {
		def.Kind = check.TTL{TTL: duration(t, ttl)}
	}
	if d.HasArg("maintenance") {
		def.Kind, def.Notes = check.Maintenance{}, "disk is being replaced"
	}
	return def
}

func text(t *testing.T, d *datadriven.TestData, name string) string {
	var v string
	if d.HasArg(name) {
		d.ScanArgs(t, name, &v)
	}
	return v
}

func number(t *testing.T, d *datadriven.TestData, name string) int {
	var v int
	if d.HasArg(name) {
		d.ScanArgs(t, name, &v)
	}
	return v
}

func status(t *testing.T, d *datadriven.TestData, name string) check.Status {
	s, ok := check.ParseStatus(text(t, d, name))
	if !ok {
		d.Fatalf(t, "%s is no status", name)
	}
	return s
}

func duration(t *testing.T, v string) time.Duration {
	if v == "" {
		return 0
	}
	got, err := time.ParseDuration(v)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
