package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"gopkg.in/yaml.v3"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	operationsPage = "../../docs/operations.md"
	dashboardFile  = "../../deploy/grafana/tenure.json"
	alertsFile     = "../../deploy/prometheus/alerts.yaml"
)

// sample is one line of a member's metrics: a name and its labels.
type sample struct {
	name   string
	labels map[string]string
}

var (
	sampleLine = regexp.MustCompile(`^([a-z_][a-z0-9_]*)(?:\{(.*)\})? \S+`)
	labelPair  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (tenure_\S+) \S+$`)
)

// scrape returns the samples of all members, and the names of Tenure's own metrics.
func scrape(ctx context.Context, t *testing.T, c *rig.Cluster) (samples []sample, names map[string]bool) {
	t.Helper()
	names = map[string]bool{}
	for _, m := range c.Members {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.Addresses.HTTP+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range typeLine.FindAllStringSubmatch(string(body), -1) {
			names[found[1]] = true
		}
		for line := range strings.Lines(string(body)) {
			if found := sampleLine.FindStringSubmatch(line); found != nil {
				s := sample{name: found[1], labels: map[string]string{}}
				for _, pair := range labelPair.FindAllStringSubmatch(found[2], -1) {
					s.labels[pair[1]] = pair[2]
				}
				samples = append(samples, s)
			}
		}
	}
	return samples, names
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
	}
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

var (
	selector = regexp.MustCompile(`\b((?:tenure|process|go)_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`([a-z_]+)(=~|!~|!=|=)"([^"]*)"`)
)

// hasData tells whether a selector of a query finds a sample.
func hasData(samples []sample, name, matchers string) bool {
	return slices.ContainsFunc(samples, func(s sample) bool {
		if s.name != name {
			return false
		}
		for _, m := range matcher.FindAllStringSubmatch(matchers, -1) {
			if equal := s.labels[m[1]] == m[3]; m[2] == "=" && !equal || m[2] == "!=" && equal {
				return false
			}
		}
		return true
	})
}

// queries returns all queries of the dashboard and the alerts, by where they stand, and the runbooks of the alerts.
func queries(t *testing.T) (all map[string]string, runbooks []string) {
	t.Helper()
	all = map[string]string{}
	raw, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				RefID string `json:"refId"`
				Expr  string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err = json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all["dashboard, "+p.Title+", "+target.RefID] = target.Expr
		}
	}
	if raw, err = os.ReadFile(alertsFile); err != nil {
		t.Fatal(err)
	}
	var alerts struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `yaml:"alert"`
				Expr        string            `yaml:"expr"`
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	if err = yaml.Unmarshal(raw, &alerts); err != nil {
		t.Fatal(err)
	}
	for _, g := range alerts.Groups {
		for _, r := range g.Rules {
			all["alert "+r.Alert] = r.Expr
			runbooks = append(runbooks, r.Annotations["runbook_url"])
		}
	}
	return all, runbooks
}

// What a cluster exports is documented, what is documented is exported, and every query finds data.
func TestMetricsAreDocumentedAndQueriesFindThem(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	c.Leader(ctx)
	use(ctx, t, c)
	samples, exported := scrape(ctx, t, c)
	raw, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	documented := documentedMetrics(page)
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
	all, runbooks := queries(t)
	used := 0
	for where, query := range all {
		if strings.Count(query, "(") != strings.Count(query, ")") {
			t.Errorf("%s: unbalanced: %s", where, query)
		}
		found := selector.FindAllStringSubmatch(query, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for no metric: %s", where, query)
		}
		for _, s := range found {
			used++
			if !hasData(samples, s[1], s[2]) {
				t.Errorf("%s: no data for %s", where, s[0])
			}
		}
	}
	if len(exported) < 60 || len(all) < 50 || used < 60 || len(runbooks) < 10 {
		t.Errorf("floors: %d metrics, %d queries, %d selectors, %d alerts", len(exported), len(all), used, len(runbooks))
	}
	for _, url := range runbooks {
		_, name, _ := strings.Cut(url, "docs/operations.md#")
		if !strings.Contains(page, "\n### "+name+"\n") {
			t.Errorf("no runbook at %s", url)
		}
	}
}

// Every problem that the status can tell of has a runbook under its name.
func TestProblemsHaveRunbooks(t *testing.T) {
	raw, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"no-leader", "store-full", "quorum-at-risk", "member-unreachable", "member-behind", "grants-frozen", "disk-full",
		"checksum-mismatch", "majority-lost", "slow-disk", "wiped-disk", "lock-not-released", "mass-expiry", "history-too-short",
		"restore", "clock-jump",
	} {
		if !strings.Contains(string(raw), "\n### "+name+"\n") {
			t.Errorf("no runbook %q", name)
		}
	}
}
