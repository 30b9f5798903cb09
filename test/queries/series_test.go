package queries_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/tenure-io/tenure/test/rig"
)

const (
	// interval is how long, in the time of the queries, one scrape follows another.
	interval = 15 * time.Second
	// rateInterval is what Grafana puts in place of $__rate_interval: four scrapes.
	rateInterval = "1m"
	samplesMax   = 10_000_000
	queryTimeout = time.Minute
)

// begin is when the first scrape was, in the time of the queries.
var begin = time.Unix(1_800_000_000, 0).UTC()

// sample is a value at a time.
type sample struct {
	at int64 // Milliseconds.
	v  float64
}

func (s sample) T() int64                    { return s.at }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.v }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

// series is what one metric with its labels was at each scrape.
type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func (s *series) add(at time.Time, v float64) {
	s.samples = append(s.samples, sample{at.UnixMilli(), v})
}

// recorded is what scrapes found; the engine queries it.
type recorded struct {
	scrapes int
	agents  []string           // where agents export metrics
	series  map[string]*series // by labels
}

func newRecorded() *recorded { return &recorded{series: map[string]*series{}} }

// last is when the last scrape was.
func (r *recorded) last() time.Time { return begin.Add(time.Duration(r.scrapes-1) * interval) }

// get returns the series with such labels.
func (r *recorded) get(ls labels.Labels) *series {
	id := ls.String()
	if r.series[id] == nil {
		r.series[id] = &series{labels: ls}
	}
	return r.series[id]
}

// scrape asks all members for their metrics at the next moment. The series of one that does not answer end, as they do in
// Prometheus.
func (r *recorded) scrape(ctx context.Context, t *testing.T, c *rig.Cluster) {
	t.Helper()
	r.scrapes++
	instances := slices.Clone(r.agents)
	for _, m := range c.Members {
		instances = append(instances, m.Addresses.HTTP)
	}
	for _, instance := range instances {
		present := map[string]bool{}
		up := 0.0
		if body, contentType, err := exported(ctx, instance); err == nil {
			up = 1
			present = r.parse(t, instance, body, contentType)
		}
		id := labels.FromStrings("__name__", "up", "instance", instance, "job", "tenure")
		r.get(id).add(r.last(), up)
		present[id.String()] = true
		r.stale(present, instance)
	}
}

// stale ends the series of a member that it does not export any more.
func (r *recorded) stale(present map[string]bool, instance string) {
	for id, s := range r.series {
		if !present[id] && s.labels.Get("instance") == instance && len(s.samples) > 0 {
			s.add(r.last(), math.Float64frombits(value.StaleNaN))
		}
	}
}

// exported returns what a member exports.
func exported(ctx context.Context, address string) (body []byte, contentType string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	body, err = io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, "", err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("metrics of %s: %s", address, answer.Status)
	}
	return body, answer.Header.Get("Content-Type"), nil
}

// parse stores one member's metrics, and returns the ids of its series.
func (r *recorded) parse(t *testing.T, instance string, body []byte, contentType string) map[string]bool {
	t.Helper()
	p, err := textparse.New(body, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		t.Fatalf("metrics of %s: %v", instance, err)
	}
	present := map[string]bool{}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return present
		}
		if err != nil {
			t.Fatalf("metrics of %s: %v", instance, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, v := p.Series()
		var ls labels.Labels
		p.Labels(&ls)
		ls = labels.NewBuilder(ls).Set("instance", instance).Set("job", "tenure").Labels()
		r.get(ls).add(r.last(), v)
		present[ls.String()] = true
	}
}

// load stores series in the notation of promtool's tests, as in `a{b="c"} 0+1x10`: values that are one interval apart.
func (r *recorded) load(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		ls, values, err := language().ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s := r.get(ls)
		for i, v := range values {
			if !v.Omitted {
				s.add(begin.Add(time.Duration(i)*interval), v.Value)
			}
		}
		r.scrapes = max(r.scrapes, len(values))
	}
}

// Querier is for the engine.
func (r *recorded) Querier(_, _ int64) (storage.Querier, error) {
	return querier{Querier: storage.NoopQuerier(), r: r}, nil
}

// querier finds series; labels are not asked for by queries.
type querier struct {
	storage.Querier
	r *recorded
}

// Select returns the series that match.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{}
	for _, id := range slices.Sorted(maps.Keys(q.r.series)) {
		s := q.r.series[id]
		matches := func(m *labels.Matcher) bool { return m.Matches(s.labels.Get(m.Name)) }
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !matches(m) }) {
			set.all = append(set.all, storage.NewListSeries(s.labels, s.samples))
		}
	}
	return set
}

// seriesSet walks through series.
type seriesSet struct {
	all []storage.Series
	at  storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.all) == 0 {
		return false
	}
	s.at, s.all = s.all[0], s.all[1:]
	return true
}
func (s *seriesSet) At() storage.Series              { return s.at }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// language is PromQL as Prometheus speaks it without experimental features.
func language() parser.Parser { return parser.NewParser(parser.Options{}) }

// newEngine returns what evaluates queries.
func newEngine(t *testing.T) *promql.Engine {
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: samplesMax, Timeout: queryTimeout, Parser: language()})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// ask evaluates a query at a moment. A warning, as of rates of what is no counter, is an error here.
func (r *recorded) ask(ctx context.Context, t *testing.T, e *promql.Engine, query string, at time.Time) promql.Vector {
	t.Helper()
	q, err := e.NewInstantQuery(ctx, r, nil, query, at)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	result := q.Exec(ctx)
	if result.Err != nil || len(result.Warnings) > 0 {
		t.Fatalf("%s: %v, %v", query, result.Err, result.Warnings)
	}
	vector, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return slices.Clone(vector)
}
