package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tenure-io/tenure/gossip"
)

const (
	// gossipEvery is how often gossip reaches a member.
	gossipEvery = 200 * time.Millisecond
	// suspicionMin and suspicionMax bound how long a machine is silent until a member calls it failed.
	suspicionMin, suspicionMax = time.Second, 5 * time.Second
)

// machine is something that takes part in gossip without being a member.
type machine struct {
	number int
	key    gossip.Key
	name   string
	boot   uint64
	up     bool
	left   bool // said so before it went down
	port   int
	downs  int
	agent  *machineAgent // nil where agents do not take part
	// falseUntil is until when a member hears nothing from it although it is up, by the member.
	falseUntil map[uint64]time.Duration
}

func newMachine(number int) *machine {
	name := fmt.Sprintf("m%d", number)
	return &machine{
		number: number, name: name, key: gossip.KeyOf([16]byte{0xa0, byte(number)}, name), boot: 1, up: true, port: 1000,
		falseUntil: map[uint64]time.Duration{},
	}
}

func (m *machine) address() string { return fmt.Sprintf("10.1.0.%d:%d", m.number+1, m.port) }

// node is the machine as gossip tells of it.
func (m *machine) node(s gossip.State, now time.Time) gossip.Node {
	return gossip.Node{Key: m.key, Name: m.name, Role: gossip.Agent, Address: m.address(), State: s, Since: now}
}

// face is what a life has heard of a machine.
type face struct {
	boot      uint64        // the newest it heard of
	silent    time.Duration // since when; negative: it is heard
	suspicion time.Duration
	told      bool // that it left
}

// gossips injects what breaks in the pool.
type gossips struct{ *World }

// drawPool gives every second seed a pool with what breaks in it. Draws of its own leave the rest of the plan as it is.
func (p *Plan) drawPool(d *rand.Rand) {
	if d.IntN(2) > 0 {
		return
	}
	p.Machines = 2 + d.IntN(3)
	p.Clients = append(p.Clients, "catalog")
	gap := choose(d, int64(1500), 3000)
	for at := 2000 + d.Int64N(gap); at < p.FaultsMs; at += d.Int64N(2 * gap) {
		f := Fault{
			Kind: choose(d, "machine down", "machine down", "machine down", "machine leaves", "false alarm", "false alarm", "gossip cut"),
			AtMs: at, Machine: d.IntN(p.Machines), ForMs: choose(d, int64(200), 2500, 9000, 20_000),
			Member: d.IntN(p.Members + 1), Members: 1 + d.Uint64N(1<<p.Members-1),
		}
		p.Faults = append(p.Faults, f)
	}
	sortFaults(p.Faults)
}

// inject starts a fault of the pool.
func (w gossips) inject(f Fault, target *member) {
	if f.Machine >= len(w.machines) {
		return
	}
	length := ms(f.ForMs)
	mc := w.machines[f.Machine]
	switch f.Kind {
	case "machine down", "machine leaves":
		if !mc.up {
			return
		}
		mc.up, mc.left = false, f.Kind == "machine leaves"
		mc.downs++
		mc.agent.stop()
		downs := mc.downs
		w.after(length, func() {
			if mc.downs == downs {
				mc.start(f.ForMs%2 == 0)
			}
		})
	case "false alarm":
		w.floors.FalseAlarms += int(boolNumber(mc.up))
		for _, m := range w.members {
			if m.id <= 64 && f.Members&(1<<(m.id-1)) != 0 {
				mc.falseUntil[m.id] = max(mc.falseUntil[m.id], w.now+min(length, 4*time.Second))
			}
		}
	case "gossip cut":
		if target == nil {
			return
		}
		for _, mc := range w.machines {
			mc.falseUntil[target.id] = max(mc.falseUntil[target.id], w.now+length)
		}
	}
}

// start lets a machine take part again, at another address.
func (m *machine) start(elsewhere bool) {
	if m.up {
		return
	}
	m.up, m.left = true, false
	m.boot++
	if elsewhere {
		m.port++
	}
	m.agent.start()
}

// heal ends what is broken in the pool, except for one machine, which stays down.
func (w gossips) heal() {
	for i, mc := range w.machines {
		clear(mc.falseUntil)
		if i > 0 {
			mc.start(false)
		} else if mc.up {
			mc.up = false
			mc.downs++
			mc.agent.stop()
		}
	}
}

// pooling is a life's part in gossip, and what it makes of it while it leads.
type pooling struct{ *life }

// run takes what gossip brings, again and again.
func (r pooling) run() {
	if r.w.plan.Machines == 0 {
		return
	}
	r.pool = gossip.NewView(r.m.moment())
	r.faces = make([]face, len(r.w.machines))
	for i := range r.faces {
		r.faces[i].silent = r.w.now
		r.faces[i].suspicion = between(r.dice, suspicionMin, suspicionMax)
	}
	r.hearLater()
}

func (r pooling) hearLater() {
	r.after(gossipEvery, func() {
		now := r.m.moment()
		r.pool.Look(now)
		changed := false
		for i, mc := range r.w.machines {
			if r.dice.IntN(3) > 0 { // Rumours take a while.
				changed = r.hear(mc, &r.faces[i], now) || changed
			}
		}
		if changed {
			r.keep(func(k *poolKeeper) error { return k.steps.PoolChanged() })
		}
		r.hearLater()
	})
}

// hear takes what gossip brings of a machine now, and reports whether that changes anything.
func (r pooling) hear(mc *machine, f *face, now time.Time) bool {
	falsely := r.w.now < mc.falseUntil[r.m.id]
	if mc.up && !falsely {
		changed := false
		if f.boot != 0 && f.boot < mc.boot {
			changed = r.pool.Note(mc.node(gossip.Failed, now), f.boot, false)
		}
		f.boot, f.silent, f.told = mc.boot, -1, false
		f.suspicion = between(r.dice, suspicionMin, suspicionMax)
		changed = r.pool.Note(mc.node(gossip.Alive, now), mc.boot, true) || changed
		r.pool.Heard(mc.key, mc.boot)
		return changed
	}
	if f.silent < 0 {
		f.silent = r.w.now
	}
	if f.boot == 0 || r.w.now-f.silent < f.suspicion {
		return false
	}
	changed := false
	if mc.left && !f.told && f.boot == mc.boot && !falsely {
		f.told = true
		changed = r.pool.Leave(mc.key, f.boot, now)
	}
	return r.pool.Note(mc.node(gossip.Failed, now), f.boot, false) || changed
}

// judge returns which nodes this life says have failed.
func (r pooling) judge(asked []gossip.Asked) []bool {
	out := make([]bool, len(asked))
	now := r.m.moment()
	r.pool.Look(now)
	for i, a := range asked {
		switch r.pool.Judge(a, now) {
		case gossip.SaysFailed:
			out[i] = true
		case gossip.MustDial:
			out[i] = !r.w.reachable(r.m, a.Key)
		case gossip.SaysAlive:
		}
		if out[i] {
			r.w.truth.pool.votes(r.m.id, a.Key, r.w.reachable(r.m, a.Key))
		}
	}
	return out
}

// reachable reports whether a member could reach a machine.
func (w *World) reachable(from *member, k gossip.Key) bool {
	for _, mc := range w.machines {
		if mc.key == k {
			return mc.up && w.now >= mc.falseUntil[from.id]
		}
	}
	return false
}
