package queries_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
)

const (
	dashboardFile = "../../deploy/grafana/tenure.json"
	alertsFile    = "../../deploy/prometheus/alerts.yaml"
	runbooksFile  = "../../docs/operations.md"
	runbooksURL   = "https://github.com/tenure-io/tenure/blob/main/docs/operations.md#"
)

// alert is one rule.
type alert struct {
	expr, runbook string
	after         time.Duration // for how long its expression must have had data
}

// alerts reads the rules as Prometheus does, which refuses unknown fields and bad templates, too.
func alerts(t *testing.T) map[string]alert {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alertsFile, false, model.LegacyValidation, language(), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := map[string]alert{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			if _, twice := all[r.Alert]; twice || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%q is there twice, or lacks severity or summary", r.Alert)
			}
			all[r.Alert] = alert{expr: r.Expr, after: time.Duration(r.For), runbook: r.Annotations["runbook_url"]}
		}
	}
	return all
}

// panels returns the queries of the dashboard by panel, with an interval in place of Grafana's variable.
func panels(t *testing.T) map[string]string {
	t.Helper()
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
	all := map[string]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all[p.Title+" / "+target.RefID+" / "+target.Expr] = strings.ReplaceAll(target.Expr, "$__rate_interval", rateInterval)
		}
	}
	return all
}
