package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// headings say what the rows of a workload are.
var headings = map[string]string{
	workPut:            "Puts of 256 bytes, by stubs on 16 connections",
	workPutByLibrary:   "Puts of 256 bytes, by the library of one process",
	workLock:           "Acquire and release of a lock that nobody else wants, by stubs on 16 connections",
	workLockByLibrary:  "Acquire and release of a lock that nobody else wants, by the library of one process",
	workHandover:       "Hand-overs of one lock between all callers, by stubs on 16 connections",
	workHandoverByLibs: "Hand-overs of one lock between all callers, by the library of one process",
}

// report prints a table for each workload and number of members.
func (b *bench) report(out io.Writer, begin time.Time) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %d processors, %s. %d rounds, %v a cell; medians, ranges in parentheses.\n",
		begin.UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), b.rounds, b.duration)
	for _, members := range b.members {
		for _, work := range b.work {
			b.table(&text, work, members)
		}
		if b.life {
			b.lifeTable(&text, members)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (b *bench) table(out *strings.Builder, work string, members int) {
	fmt.Fprintf(out, "\n%s; members: %d\n\n| callers |", headings[work], members)
	for _, s := range b.systems {
		fmt.Fprintf(out, " %s, a second | p99 ms | CPU µs | others |", s.name())
	}
	fmt.Fprintf(out, " %s : best other |\n|---:|%s---:|\n", b.systems[0].name(), strings.Repeat("---:|---:|---:|---:|", len(b.systems)))
	for _, callers := range b.callers {
		fmt.Fprintf(out, "| %d |", callers)
		rates := make([]float64, len(b.systems))
		for i, s := range b.systems {
			samples := b.samples[key{work: work, members: members, callers: callers, system: s.name()}]
			if len(samples) == 0 {
				fmt.Fprint(out, " - | - | - | - |")
				continue
			}
			rates[i] = median(samples, func(s sample) float64 { return s.rate })
			fmt.Fprintf(out, " %s | %.2f | %.0f | %.0f %% |", spread("%.0f", samples, func(s sample) float64 { return s.rate }),
				median(samples, func(s sample) float64 { return ms(s.p99) }), median(samples, func(s sample) float64 { return us(s.cpu) }),
				100*median(samples, func(s sample) float64 { return s.foreign }))
		}
		fmt.Fprintf(out, " %s |\n", ratio(rates))
	}
}

// ratio compares the first system with the best of the others.
func ratio(rates []float64) string {
	if len(rates) < 2 || slices.Max(rates[1:]) == 0 || rates[0] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", rates[0]/slices.Max(rates[1:]))
}

// median returns the middle figure; of an even number the lower one in the middle.
func median[S any](samples []S, figure func(S) float64) float64 {
	all := figures(samples, figure)
	return all[(len(all)-1)/2]
}

func bounds[S any](samples []S, figure func(S) float64) (low, high float64) {
	all := figures(samples, figure)
	return all[0], all[len(all)-1]
}

func figures[S any](samples []S, figure func(S) float64) []float64 {
	all := make([]float64, 0, len(samples))
	for _, s := range samples {
		all = append(all, figure(s))
	}
	slices.Sort(all)
	return all
}
