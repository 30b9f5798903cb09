package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is everything that a run found; -o writes it as JSON.
type report struct {
	Begin   time.Time      `json:"begin"`
	Machine machine        `json:"machine"`
	Options reportOptions  `json:"options"`
	Cells   []cellResult   `json:"cells"`
	Memory  []memoryReport `json:"memory"`
	Gaps    []gapReport    `json:"gaps"`
	Fleet   []fleetPhase   `json:"fleet"`
	Goals   []goal         `json:"goals"`
}

// reportOptions are the options that figures depend on.
type reportOptions struct {
	Rounds     int     `json:"rounds"`
	DurationS  float64 `json:"duration_s"`
	WarmupS    float64 `json:"warmup_s"`
	ValueBytes int     `json:"value_bytes"`
	Keys       int     `json:"keys"`
	Conns      int     `json:"conns"`
	Members    int     `json:"members"`
}

// gapReport is how long nobody was served.
type gapReport struct {
	Workload string    `json:"workload"`
	MedianMs float64   `json:"median_ms"`
	WorstMs  float64   `json:"worst_ms"`
	Ms       []float64 `json:"ms"`
}

// cellResult is one workload at one number of clients: medians over the rounds.
type cellResult struct {
	Workload    string   `json:"workload"`
	Clients     int      `json:"clients"`
	OpsPerS     float64  `json:"ops_per_s"`
	OpsPerSMin  float64  `json:"ops_per_s_min"`
	OpsPerSMax  float64  `json:"ops_per_s_max"`
	P50Us       float64  `json:"p50_us"`
	P99Us       float64  `json:"p99_us"`
	ServerCPUUs float64  `json:"server_cpu_us_per_op"`
	RSSBytes    int64    `json:"rss_bytes"`
	EchoRatio   float64  `json:"ratio_to_echo"` // median of the rounds' ratios; 0: not compared
	Samples     []sample `json:"samples"`
}

// memoryReport is what idle things cost.
type memoryReport struct {
	Workload    string  `json:"workload"`
	Count       int     `json:"count"`
	RSSBefore   int64   `json:"rss_bytes_before"`
	RSSAfter    int64   `json:"rss_bytes_after"`
	BytesEach   float64 `json:"bytes_each"`
	CreatePerS  float64 `json:"create_per_s"`
	ServerCPUUs float64 `json:"server_cpu_us_each"`
}

// cellKey names a cell.
type cellKey struct {
	workload string
	clients  int
}

// results are the samples of all rounds, by cell.
type results struct {
	order  []cellKey
	rounds map[cellKey][]sample
	memory []memoryResult
	gaps   []gap
	fleet  []fleetPhase
}

func (r *results) add(key cellKey, s sample) {
	if r.rounds == nil {
		r.rounds = make(map[cellKey][]sample)
	}
	if !slices.Contains(r.order, key) {
		r.order = append(r.order, key)
	}
	r.rounds[key] = append(r.rounds[key], s)
}

// ratios divides a figure of one cell by that of another, round by round.
func (r *results) ratios(of, to cellKey, figure func(sample) float64) []float64 {
	var ratios []float64
	for i, s := range r.rounds[of] {
		if i < len(r.rounds[to]) {
			ratios = append(ratios, figure(s)/figure(r.rounds[to][i]))
		}
	}
	return ratios
}

// medianOf returns the median of a figure over the rounds of a cell.
func (r *results) medianOf(key cellKey, figure func(sample) float64) float64 {
	var values []float64
	for _, s := range r.rounds[key] {
		values = append(values, figure(s))
	}
	return median(values)
}

func (r *results) cells() []cellResult {
	var cells []cellResult
	for _, key := range r.order {
		var rates []float64
		for _, s := range r.rounds[key] {
			rates = append(rates, s.rate())
		}
		cells = append(cells, cellResult{
			Workload: key.workload, Clients: key.clients,
			OpsPerS: median(rates), OpsPerSMin: slices.Min(rates), OpsPerSMax: slices.Max(rates),
			P50Us:       r.medianOf(key, func(s sample) float64 { return micros(s.P50) }),
			P99Us:       r.medianOf(key, func(s sample) float64 { return micros(s.P99) }),
			ServerCPUUs: r.medianOf(key, func(s sample) float64 { return micros(s.cpuPerOp()) }),
			RSSBytes:    int64(r.medianOf(key, func(s sample) float64 { return float64(s.RSSBytes) })),
			EchoRatio:   r.echoRatio(key),
			Samples:     r.rounds[key],
		})
	}
	return cells
}

// echoRatio compares a workload of unary calls with the echo at as many clients.
func (r *results) echoRatio(key cellKey) float64 {
	switch key.workload {
	case workPut, workGet, workLock:
		return median(r.ratios(key, cellKey{workEcho, key.clients}, sample.rate))
	default:
		return 0
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (r *results) report(begin time.Time, o options) report {
	out := report{
		Begin:   begin.UTC(),
		Machine: thisMachine(),
		Options: reportOptions{
			Rounds: o.rounds, DurationS: o.duration.Seconds(), WarmupS: o.warmup.Seconds(),
			ValueBytes: o.valueBytes, Keys: o.keys, Conns: o.conns, Members: o.members,
		},
		Cells: r.cells(),
		Fleet: r.fleet,
		Goals: r.goals(o.members),
	}
	for _, g := range r.gaps {
		out.Gaps = append(out.Gaps, g.report())
	}
	for _, m := range r.memory {
		out.Memory = append(out.Memory, memoryReport{
			Workload: m.Workload, Count: m.Count, RSSBefore: m.BeforeBytes, RSSAfter: m.AfterBytes,
			BytesEach: m.BytesEach, CreatePerS: m.CreatePerSec, ServerCPUUs: micros(m.ServerCPUEach),
		})
	}
	return out
}

func (r report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(text, '\n'))
}

// print writes the report for people.
func (r report) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var text strings.Builder
	fmt.Fprintf(&text, "\nworkload\tclients\tops/s\tmin\tmax\tp50 µs\tp99 µs\tserver CPU µs/op\tRSS MiB\tof echo\t\n")
	for _, c := range r.Cells {
		fmt.Fprintf(&text, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%s\t%s\t%s\t\n", c.Workload, c.Clients,
			c.OpsPerS, c.OpsPerSMin, c.OpsPerSMax, c.P50Us, c.P99Us,
			orDash(c.ServerCPUUs, 1), orDash(float64(c.RSSBytes)/(1<<20), 0), orDash(c.EchoRatio, 2))
	}
	if len(r.Memory) > 0 {
		fmt.Fprintf(&text, "\nidle\tcount\tRSS MiB before\tafter\tbytes each\tmade/s\tserver CPU µs each\t\n")
	}
	for _, m := range r.Memory {
		fmt.Fprintf(&text, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.1f\t\n", m.Workload, m.Count,
			float64(m.RSSBefore)/(1<<20), float64(m.RSSAfter)/(1<<20), m.BytesEach, m.CreatePerS, m.ServerCPUUs)
	}
	if len(r.Gaps) > 0 {
		fmt.Fprintf(&text, "\nnot served\ttimes\tmedian ms\tworst ms\t\n")
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&text, "%s\t%d\t%.0f\t%.0f\t\n", g.Workload, len(g.Ms), g.MedianMs, g.WorstMs)
	}
	if len(r.Fleet) > 0 {
		fmt.Fprintf(&text, "\nfleet\tagents\tseconds\treports/s\tcommands/s\tmembers' CPUs\tagents' CPUs\tRSS MiB\tput p50 µs\tput p99 µs\tput p50 µs between gusts\t\n")
	}
	for _, p := range r.Fleet {
		fmt.Fprintf(&text, "%s\t%d\t%.1f\t%.0f\t%.0f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t%s\t\n", p.Name, p.Agents, p.Seconds,
			float64(p.Reports)/p.Seconds, float64(p.Commands)/p.Seconds, p.MemberCPU, p.AgentCPU, float64(p.RSSBytes)/(1<<20), p.PutP50Us, p.PutP99Us,
			orDash(p.StillP50Us, 0))
	}
	if len(r.Goals) > 0 {
		fmt.Fprintf(&text, "\ngoal\twanted\tgot\t95 %% confidence\t\t\n")
	}
	for _, g := range r.Goals {
		within := "-"
		if g.High > 0 {
			within = figure(g.Low) + "–" + figure(g.High)
		}
		fmt.Fprintf(&text, "%s\t%s %s\t%s\t%s\t%s\t\n", g.Name, g.Relation, figure(g.Wanted), figure(g.Got), within, g.verdict())
	}
	if _, err := io.WriteString(table, text.String()); err != nil {
		return err
	}
	return table.Flush()
}

// orDash writes a figure, or a dash for one that was not measured.
func orDash(value float64, decimals int) string {
	if value == 0 {
		return "-"
	}
	return fmt.Sprintf("%.*f", decimals, value)
}

// figure writes a goal's number: small ones are ratios.
func figure(value float64) string {
	if value < 100 {
		return fmt.Sprintf("%.2f", value)
	}
	return fmt.Sprintf("%.0f", value)
}
