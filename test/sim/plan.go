package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"time"
)

// Plan is a run written down: what a seed expands to. Times are in milliseconds of the run.
type Plan struct {
	// Seed is what everything is drawn from that the plan does not say.
	Seed uint64 `json:"seed"`
	// Note says why the plan is kept.
	Note string `json:"note,omitempty"`
	// SearchMax bounds how long the answers about one key are checked; zero: as check does.
	SearchMax time.Duration `json:"-"`
	// Members is how many there are at the beginning.
	Members int `json:"members"`
	// FaultsMs is how long faults come, HealMs how long the cluster then has to make progress under load, SilentMs how
	// long everything then has to come free.
	FaultsMs int64 `json:"faults_ms"`
	HealMs   int64 `json:"heal_ms"`
	SilentMs int64 `json:"silent_ms"`
	// TickMs and ElectionTicks are raft's.
	TickMs        int64 `json:"tick_ms"`
	ElectionTicks int   `json:"election_ticks"`
	// DriftPercent is by how much the rates of clocks differ from the true one, at most.
	DriftPercent float64 `json:"drift_percent"`
	// FIFO keeps the messages of a link in order.
	FIFO bool `json:"fifo,omitempty"`
	// Duplicates is how many messages come twice.
	Duplicates float64 `json:"duplicates,omitempty"`
	// Loss is how many messages are lost while faults come.
	Loss float64 `json:"loss,omitempty"`
	// LateTasks is how many decisions of timers are proposed seconds late.
	LateTasks float64 `json:"late_tasks,omitempty"`
	// InstallCrashes is how likely a member crashes before a step of an installation.
	InstallCrashes float64 `json:"install_crashes,omitempty"`
	// BrokenStreams is how likely a stream that brings a snapshot breaks, in every second case because the receiver crashes.
	BrokenStreams float64 `json:"broken_streams,omitempty"`
	// CheckpointEntries is after how many entries a member makes a checkpoint and cuts its log.
	CheckpointEntries int `json:"checkpoint_entries"`
	// RingEvents is how many events are kept in memory for watches.
	RingEvents int `json:"ring_events"`
	// KeepRevisions is how much history a compaction leaves.
	KeepRevisions uint64 `json:"keep_revisions"`
	// Keys and Locks are how many there are of each kind; ThinkMs is how long clients pause between calls, on average.
	Keys    int   `json:"keys"`
	Locks   int   `json:"locks"`
	ThinkMs int64 `json:"think_ms"`
	// LocksAtOnce is how many locks more than one a client uses at once.
	LocksAtOnce int `json:"locks_at_once,omitempty"`
	// Breaks lets an operator break locks, Deaths lets clients die.
	Breaks bool `json:"breaks,omitempty"`
	Deaths bool `json:"deaths,omitempty"`
	// Lapses is how likely a client is silent for about a TTL instead of renewing its session.
	Lapses float64 `json:"lapses,omitempty"`
	// Keyed is how many puts of clients without a session have an idempotency key.
	Keyed float64 `json:"keyed,omitempty"`
	// Machines is how many there are that take part in gossip beside the members; 0: there is no gossip.
	Machines int `json:"machines,omitempty"`
	// Tokens lets the cluster enforce rules, and clients show tokens that come and go. Stale reads and new streams are served for
	// StaleMaxMs after a member proved that it knows which rights were taken away.
	Tokens     bool  `json:"tokens,omitempty"`
	StaleMaxMs int64 `json:"stale_max_ms,omitempty"`
	// Clients are the roles of the clients.
	Clients []string `json:"clients"`
	// Faults are what breaks, in the order of their times.
	Faults []Fault `json:"faults"`
}

// Fault is one thing that breaks, and for how long.
type Fault struct {
	Kind string `json:"kind"`
	AtMs int64  `json:"at_ms"`
	// ForMs is how long it lasts.
	ForMs int64 `json:"for_ms,omitempty"`
	// Member is which one, from 1; 0 is whoever leads then.
	Member int `json:"member,omitempty"`
	// Members are a side of a partition, as bits from the first member on.
	Members uint64 `json:"members,omitempty"`
	// Way is "" for both ways, "in" or "out" for links that lose in one direction only, as seen from the side.
	Way string `json:"way,omitempty"`
	// Keep says that a crash loses nothing.
	Keep bool `json:"keep,omitempty"`
	// Machine is which one, from 0.
	Machine int `json:"machine,omitempty"`
	// Client is which one, from 0.
	Client int `json:"client,omitempty"`
	// Percent is how much of something.
	Percent int `json:"percent,omitempty"`
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (p *Plan) tick() time.Duration            { return ms(p.TickMs) }
func (p *Plan) electionTimeout() time.Duration { return time.Duration(p.ElectionTicks) * p.tick() }
func (p *Plan) think() time.Duration           { return ms(p.ThinkMs) }

// ttlMin is the shortest TTL that a server grants.
func (p *Plan) ttlMin() time.Duration {
	return max(2*time.Second, 2*time.Duration(p.ElectionTicks)*p.tick())
}

func (p *Plan) lateTasks() bool { return p.LateTasks > 0 }

// locks are the names of all locks: x exclusive, r shared and exclusive, s semaphores.
func (p *Plan) locks() []string {
	var names []string
	for i := range p.Locks {
		names = append(names, fmt.Sprintf("x%d", i), fmt.Sprintf("%c%d", "rs"[i%2], i))
	}
	return names
}

// end is when the run is over.
func (p *Plan) end() time.Duration { return ms(p.FaultsMs + p.HealMs + p.SilentMs) }

// JSON returns the plan as it is written down.
func (p *Plan) JSON() string {
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b) + "\n"
}

// Expand draws a plan from a seed.
func Expand(seed uint64) *Plan {
	d := rand.New(rand.NewPCG(seed, 0x706c616e)) //nolint:gosec // It must be repeatable.
	p := &Plan{
		Seed:              seed,
		Members:           choose(d, 3, 3, 3, 3, 3, 5, 5, 1, 2, 4),
		FaultsMs:          45_000,
		HealMs:            9_000,
		SilentMs:          18_000,
		TickMs:            choose(d, int64(50), 50, 100),
		ElectionTicks:     10,
		DriftPercent:      choose(d, 0, 0.5, 1.0),
		FIFO:              d.IntN(2) == 0,
		CheckpointEntries: choose(d, 100, 300, 1000),
		RingEvents:        choose(d, 16, 64, 1024),
		KeepRevisions:     choose(d, uint64(20), 100, 1000),
		Keys:              2 + d.IntN(5),
		Locks:             2 + d.IntN(2),
		ThinkMs:           choose(d, int64(100), 200, 400),
		LocksAtOnce:       d.IntN(3),
		Breaks:            d.IntN(3) == 0,
		Deaths:            d.IntN(2) == 0,
	}
	for range 1 + d.IntN(3) {
		p.Clients = append(p.Clients, "keys")
	}
	for range 2 + d.IntN(3) {
		p.Clients = append(p.Clients, "session")
	}
	for range 1 + d.IntN(2) {
		p.Clients = append(p.Clients, "watch")
	}
	p.Clients = append(p.Clients, "operator")
	if d.IntN(3) == 0 {
		p.Duplicates = choose(d, 0.01, 0.1)
	}
	if d.IntN(3) == 0 {
		p.Loss = choose(d, 0.005, 0.02, 0.1)
	}
	if d.IntN(4) == 0 {
		p.LateTasks = 0.5
	}
	if d.IntN(2) == 0 {
		p.InstallCrashes = 0.2
	}
	p.drawFaults(d)
	p.drawPool(rand.New(rand.NewPCG(seed, 0x706f6f6c)))                         //nolint:gosec // It must be repeatable.
	if lapses := rand.New(rand.NewPCG(seed, 0x6c617073)); lapses.IntN(2) == 0 { //nolint:gosec // It must be repeatable.
		p.Lapses = choose(lapses, 0.03, 0.1)
	}
	if keyed := rand.New(rand.NewPCG(seed, 0x6b657964)); keyed.IntN(2) == 0 { //nolint:gosec // It must be repeatable.
		p.Keyed = choose(keyed, 0.3, 1)
	}
	p.drawAgents(rand.New(rand.NewPCG(seed, 0x61676e74))) //nolint:gosec // It must be repeatable.
	p.drawTokens(rand.New(rand.NewPCG(seed, 0x746f6b6e))) //nolint:gosec // It must be repeatable.
	return p
}

func choose[T any](d *rand.Rand, of ...T) T { return of[d.IntN(len(of))] }

// faultKinds are how often each kind comes when a seed has it.
var faultKinds = []string{
	"crash", "crash", "crash leader", "restart all", "pause", "pause leader", "partition", "partition", "isolate leader",
	"one way", "loss", "slow network", "slow disk", "transfer", "checkpoint", "freeze client", "members", "wipe",
}

// drawFaults draws which kinds of faults a seed has, and when they come.
func (p *Plan) drawFaults(d *rand.Rand) {
	var kinds []string
	for range 2 + d.IntN(6) {
		kinds = append(kinds, choose(d, faultKinds...))
	}
	if p.LateTasks > 0 {
		// A late decision is of another term only if terms change often.
		kinds = append(kinds, "transfer", "transfer", "pause leader", "freeze client", "freeze client", "isolate leader")
	}
	gap := choose(d, int64(1500), 3000, 6000)
	for at := 1500 + d.Int64N(gap); at < p.FaultsMs; at += d.Int64N(2 * gap) {
		p.Faults = append(p.Faults, p.drawFault(d, choose(d, kinds...), at))
	}
	p.drawDiskFaults(rand.New(rand.NewPCG(p.Seed, 0x6469736b)))                   //nolint:gosec // It must be repeatable.
	p.drawSlowLinks(rand.New(rand.NewPCG(p.Seed, 0x6c696e6b)))                    //nolint:gosec // As above.
	if broken := rand.New(rand.NewPCG(p.Seed, 0x736e6170)); broken.IntN(2) == 0 { //nolint:gosec // As above.
		p.BrokenStreams = choose(broken, 0.2, 0.6)
	}
	p.drawHangs(rand.New(rand.NewPCG(p.Seed, 0x68616e67)))     //nolint:gosec // As above.
	p.drawOldCopies(rand.New(rand.NewPCG(p.Seed, 0x636f7079))) //nolint:gosec // As above.
	p.drawResets(rand.New(rand.NewPCG(p.Seed, 0x72736574)))    //nolint:gosec // As above.
	p.drawStarved(rand.New(rand.NewPCG(p.Seed, 0x73747276)))   //nolint:gosec // As above.
	sortFaults(p.Faults)
}

func sortFaults(faults []Fault) {
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].AtMs < faults[j].AtMs })
}

// drawSlowLinks lets members lag in every third seed: what the others commit meanwhile is news to them, and what they ask
// the leader is answered late. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawSlowLinks(d *rand.Rand) {
	if d.IntN(3) > 0 {
		return
	}
	for range 1 + d.IntN(3) {
		p.Faults = append(p.Faults, Fault{
			Kind: "slow links", AtMs: 1500 + d.Int64N(p.FaultsMs-1500), ForMs: choose(d, int64(3000), 9000),
			Member: 1 + d.IntN(p.Members), Percent: choose(d, 20, 100, 300), // milliseconds
		})
	}
}

// drawStarved gives members, mostly the leader, too little time in every third seed. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawStarved(d *rand.Rand) {
	if d.IntN(3) > 0 {
		return
	}
	for range 1 + d.IntN(2) {
		p.Faults = append(p.Faults, Fault{
			Kind: "starved", AtMs: 1500 + d.Int64N(p.FaultsMs-1500), ForMs: choose(d, int64(4000), 12_000, 30_000),
			Member: max(0, d.IntN(2*p.Members)-p.Members+1), Percent: choose(d, 220, 300, 700), // milliseconds
		})
	}
}

// drawHangs lets disks hang in every second seed, the leader's more often, and mostly for so long that it hands over. Draws of
// its own leave the rest of the plan as it is.
func (p *Plan) drawHangs(d *rand.Rand) {
	if d.IntN(2) > 0 {
		return
	}
	for range 2 + d.IntN(3) {
		p.Faults = append(p.Faults, Fault{
			Kind: "disk hangs", AtMs: 1500 + d.Int64N(p.FaultsMs-1500), ForMs: choose(d, int64(1000), 7000, 12_000),
			Member: max(0, d.IntN(2*p.Members)-p.Members+1),
		})
	}
}

// drawOldCopies puts disks back to older copies in every third seed. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawOldCopies(d *rand.Rand) {
	if d.IntN(3) > 0 {
		return
	}
	for range 4 + d.IntN(5) {
		p.Faults = append(p.Faults, Fault{
			Kind: "old copy", AtMs: 1500 + d.Int64N(p.FaultsMs-1500), ForMs: choose(d, int64(20), 300, 1500),
			Member: 1 + d.IntN(p.Members),
		})
	}
}

// drawResets cuts connections to the leader in every third seed, mostly again and again. Percent of those who try again are
// refused, so that they take the leader for gone, wrongly. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawResets(d *rand.Rand) {
	if d.IntN(3) > 0 {
		return
	}
	for range 1 + d.IntN(4) {
		p.Faults = append(p.Faults, Fault{
			Kind: "resets", AtMs: 1500 + d.Int64N(p.FaultsMs-1500), ForMs: choose(d, int64(0), 3000, 20_000),
			Percent: choose(d, 0, 50, 100),
		})
	}
}

// drawDiskFaults lets disks fail in every third seed. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawDiskFaults(d *rand.Rand) {
	if d.IntN(3) > 0 {
		return
	}
	for range 1 + d.IntN(4) {
		p.Faults = append(p.Faults, Fault{
			Kind: choose(d, "syncs fail", "syncs fail", "writes fail", "disk full"), AtMs: 1500 + d.Int64N(p.FaultsMs-1500),
			ForMs: choose(d, int64(300), 1500, 4000), Member: d.IntN(p.Members + 1), Keep: d.IntN(2) == 0,
		})
	}
}

func (p *Plan) drawFault(d *rand.Rand, kind string, at int64) Fault {
	f := Fault{Kind: kind, AtMs: at, ForMs: choose(d, int64(300), 1500, 4000, 9000), Member: 1 + d.IntN(p.Members)}
	f.ForMs += d.Int64N(f.ForMs)
	switch kind {
	case "crash", "crash leader":
		f.Keep = d.IntN(3) == 0
		f.ForMs = choose(d, int64(10), 700, 3000, 10_000)
	case "restart all":
		f.ForMs = choose(d, int64(10), 2000)
	case "partition":
		f.Members = 1 + d.Uint64N(1<<p.Members-1)
	case "one way":
		f.Members, f.Way = 1+d.Uint64N(1<<p.Members-1), choose(d, "in", "out")
		if d.IntN(2) == 0 {
			f.Members, f.Member = 0, 0 // the leader
		}
	case "loss":
		f.Percent = choose(d, 2, 10, 30)
	case "slow network", "slow disk":
		f.Percent = choose(d, 5, 50, 300) // milliseconds
	case "freeze client":
		f.Client = d.IntN(len(p.Clients))
	}
	switch kind {
	case "crash leader", "pause leader", "isolate leader", "transfer":
		f.Member = 0
	}
	return f
}
