package cluster_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const operationsPage = "../../docs/operations.md"

var typeLine = regexp.MustCompile(`(?m)^# TYPE (tenure_\S+) \S+$`)

// exportedMetrics returns the names of Tenure's own metrics on all members.
func exportedMetrics(ctx context.Context, t *testing.T, c *rig.Cluster) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range c.Members {
		_, body, err := m.Fetch(ctx, "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range typeLine.FindAllStringSubmatch(string(body), -1) {
			names[found[1]] = true
		}
	}
	return names
}

// use does a little of everything, so that what is counted is there.
func use(ctx context.Context, t *testing.T, c *rig.Cluster) {
	t.Helper()
	for i, m := range c.Members {
		cl := dial(t, m, "")
		if _, err := cl.Put(ctx, &tenurev1.PutRequest{Key: fmt.Sprint("k", i)}); err != nil {
			t.Fatal(err)
		}
		s, err := cl.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = cl.GetSession(ctx, &tenurev1.GetSessionRequest{SessionId: s.GetSessionId()}); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/v1/kv/k0": http.StatusOK, "/v1/event/list": http.StatusNotImplemented} {
			// While there is no leader it cannot be answered.
			waiting, cancel := context.WithTimeout(ctx, time.Minute)
			got := consulStatus(ctx, t, m, path)
			for got != want && waiting.Err() == nil {
				pause(waiting, 100*time.Millisecond)
				got = consulStatus(ctx, t, m, path)
			}
			cancel()
			if got != want {
				t.Fatalf("%s: got status %d, want %d", path, got, want)
			}
		}
	}
}

// consulStatus returns the status of the answer to a GET over Consul's HTTP.
func consulStatus(ctx context.Context, t *testing.T, m *rig.Member, path string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Addresses.Consul+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err = answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

var documentedMetric = regexp.MustCompile("`(_[a-z_]+|tenure_[a-z_]+)(?:\\{[^`]*\\})?`")

// documentedMetrics returns the metrics that the page's table names. In a row, a name that begins with an underscore is of
// the same room as the first.
func documentedMetrics(page string) map[string]bool {
	documented := map[string]bool{}
	_, table, _ := strings.Cut(page, "\n## Metrics\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		room := ""
		for _, found := range documentedMetric.FindAllStringSubmatch(cells[1], -1) {
			name := found[1]
			if strings.HasPrefix(name, "_") {
				name = room + name
			}
			parts := strings.SplitN(name, "_", 3)
			room = strings.Join(parts[:2], "_")
			documented[name] = true
		}
	}
	return documented
}

// missing tells whether something that is wanted is not there.
func missing(wanted, there map[string]bool) bool {
	for name := range wanted {
		if !there[name] {
			return true
		}
	}
	return false
}

// What a cluster exports is documented, and what is documented is exported.
func TestMetricsAreDocumented(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3, "--consul-http", "127.0.0.1:0")
	c.Leader(ctx)
	use(ctx, t, c)
	page, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	documented := documentedMetrics(string(page))
	exported := exportedMetrics(ctx, t, c)
	// Some are there only once something has been counted.
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for missing(documented, exported) && waiting.Err() == nil {
		pause(waiting, 100*time.Millisecond)
		exported = exportedMetrics(ctx, t, c)
	}
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		if !documented[name] {
			t.Errorf("%s is exported and not in docs/operations.md", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documented)) {
		if !exported[name] {
			t.Errorf("%s is in docs/operations.md and not exported", name)
		}
	}
	if len(exported) < 60 {
		t.Errorf("floor: %d metrics", len(exported))
	}
}

// problemName is where the code names a problem of the status.
var problemName = regexp.MustCompile(`\b(?:[Pp]roblem|Alarm)[A-Z]\w* += "([a-z-]+)"`)

// Every problem that the status can tell of has a runbook under its name, and so has what operators ask for by other names.
func TestProblemsHaveRunbooks(t *testing.T) {
	page, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"majority-lost", "slow-disk", "wiped-disk", "lock-not-released", "mass-expiry", "history-too-short", "restore", "clock-jump"}
	others := len(names)
	for _, room := range []string{"../../server", "../../raftnode"} {
		err = filepath.WalkDir(room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			code, err := os.ReadFile(path)
			for _, found := range problemName.FindAllStringSubmatch(string(code), -1) {
				names = append(names, found[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if !strings.Contains(string(page), "\n### "+name+"\n") {
			t.Errorf("no runbook %q", name)
		}
	}
	if found := len(names) - others; found < 8 {
		t.Errorf("floor: %d problems found in the code", found)
	}
}
