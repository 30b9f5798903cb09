package main

import "fmt"

// goal is a figure that the project wants to reach. Missing one is a fact for the reader, not a failure of the program.
type goal struct {
	Name     string  `json:"name"`
	Relation string  `json:"relation"` // ≥ or ≤
	Wanted   float64 `json:"wanted"`
	Got      float64 `json:"got"`
	// Low and High are where the median of very many rounds lies, with 95 % confidence. Both are zero with fewer than 6 rounds, which say
	// nothing about that.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	Met  bool    `json:"met"`
}

const (
	atLeast = "≥"
	atMost  = "≤"
)

func (g goal) verdict() string {
	if g.Met {
		return "met"
	}
	return "MISSED"
}

func newGoal(name, relation string, wanted, got float64) goal {
	met := got >= wanted
	if relation == atMost {
		met = got <= wanted
	}
	return goal{Name: name, Relation: relation, Wanted: wanted, Got: got, Met: met}
}

// Clients at which rates and latencies are compared.
const (
	manyClients = 64
	oneClient   = 1
)

// goals judges what was measured; a goal whose figures are missing is left out.
func (r *results) goals(members int) []goal {
	putShare := 0.5
	if members > 1 {
		putShare = 0.3
	}
	var goals []goal
	add := func(name, relation string, wanted float64, got []float64) {
		if len(got) > 0 {
			g := newGoal(name, relation, wanted, median(got))
			g.Low, g.High = medianWithin(got)
			goals = append(goals, g)
		}
	}
	echo := cellKey{workEcho, manyClients}
	add("put rate at 64 clients / echo rate", atLeast, putShare, r.ratios(cellKey{workPut, manyClients}, echo, sample.rate))
	add("put p50 at 1 client / (fdatasync p50 + echo p50)", atMost, 3, r.putLatencyRatios())
	add("get rate at 64 clients / echo rate", atLeast, 0.8, r.ratios(cellKey{workGet, manyClients}, echo, sample.rate))
	if best := r.bestRate(workRenew); best > 0 {
		add("renewals per second, best number of streams", atLeast, 500_000, []float64{best})
	}
	for _, m := range r.memory {
		switch m.Workload {
		case workSessions:
			add("bytes of a live session", atMost, 500, []float64{m.BytesEach})
		case workWatchers:
			add("bytes of an idle watcher", atMost, 16<<10, []float64{m.BytesEach})
		}
	}
	few, many := cellKey{workHandover, handoverWaiters[0]}, cellKey{workHandover, handoverWaiters[len(handoverWaiters)-1]}
	add("hand-overs with 1 000 waiters / with 10", atLeast, 0.8, r.ratios(many, few, sample.rate))
	for _, kind := range wearKinds {
		workload := workWear + "-" + kind
		add("rate of "+workload+" after 100 000 / in the first seconds", atLeast, 0.8,
			r.ratios(cellKey{workload, wornOperations}, cellKey{workload, 0}, sample.rate))
	}
	for _, workload := range crowdWorkloads() {
		add("rate of "+workload+" beside 10 000 / beside 10", atLeast, 0.8,
			r.ratios(cellKey{workload, crowdMany}, cellKey{workload, crowdFew}, sample.rate))
	}
	r.costs(add)
	for _, g := range r.gaps {
		if g.workload == workRestart {
			add("seconds to restart with all keys", atMost, 5, []float64{g.worst().Seconds()})
		}
	}
	for _, every := range fleetStorms {
		if puts, storm := r.fleetPhase(fleetPuts(every)).PutP50Us, r.fleetPhase(fleetStorm(every)).PutP50Us; puts > 0 && storm > 0 {
			add(fmt.Sprintf("put p50 of a quiet client while one check in ten changes each %v / beside as many puts", every), atMost, 1.2,
				[]float64{storm / puts})
		}
		if storm := r.fleetPhase(fleetStorm(every)); storm.StillP50Us > 0 {
			add(fmt.Sprintf("put p50 of a quiet client in gusts in which one check in ten changes each %v / between them", every), atMost, 1.2,
				[]float64{storm.PutP50Us / storm.StillP50Us})
		}
	}
	return goals
}

// costs judges what security and exactly-once cost, with each number of clients.
func (r *results) costs(add func(name, relation string, wanted float64, got []float64)) {
	for _, key := range r.order {
		than := func(kind string) []float64 {
			return r.ratios(key, cellKey{workSecure + "-" + kind, key.clients}, sample.rate)
		}
		switch key.workload {
		case workSecure + "-" + secureTLS:
			add(fmt.Sprintf("put rate with TLS / without, %d clients", key.clients), atLeast, 0.85, than(secureOff))
		case workSecure + "-" + secureEnforce:
			add(fmt.Sprintf("put rate with TLS and rules enforced / TLS alone, %d clients", key.clients), atLeast, 0.98, than(secureTLS))
		case rulesEnforce:
			off := cellKey{rulesOff, key.clients}
			add(fmt.Sprintf("put rate with rules enforced / in mode off, %d clients", key.clients), atLeast, 0.98, r.ratios(key, off, sample.rate))
		case onceRequest, onceKey:
			plain := cellKey{oncePlain, key.clients}
			add(fmt.Sprintf("rate of %s / %s, %d clients", key.workload, oncePlain, key.clients), atLeast, 0.9, r.ratios(key, plain, sample.rate))
			add(fmt.Sprintf("server CPU of %s / %s, %d clients", key.workload, oncePlain, key.clients), atMost, 1.1,
				r.ratios(key, plain, func(s sample) float64 { return float64(s.cpuPerOp()) }))
		}
	}
}

// fleetPhase returns a phase; the zero one if it was not measured.
func (r *results) fleetPhase(phase string) (none fleetPhase) {
	for _, p := range r.fleet {
		if p.Name == phase {
			return p
		}
	}
	return none
}

// putLatencyRatios compares the p50 of a put with what it cannot do without: one sync and one call.
func (r *results) putLatencyRatios() []float64 {
	puts, syncs := r.rounds[cellKey{workPut, oneClient}], r.rounds[cellKey{workFsync, oneClient}]
	echoes := r.rounds[cellKey{workEcho, oneClient}]
	var ratios []float64
	for i := range min(len(puts), len(syncs), len(echoes)) {
		ratios = append(ratios, float64(puts[i].P50)/float64(syncs[i].P50+echoes[i].P50))
	}
	return ratios
}

// bestRate returns the highest median rate of a workload over all numbers of clients.
func (r *results) bestRate(workload string) float64 {
	best := 0.0
	for _, key := range r.order {
		if key.workload == workload {
			best = max(best, r.medianOf(key, sample.rate))
		}
	}
	return best
}
