package antientropy

import (
	"sync"
	"time"

	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// State says how the catalog compares with the agent.
type State struct {
	// OutOfSync are the keys of services and checks that are not yet in the catalog as the agent has them.
	OutOfSync map[string]bool
	// Missing counts all differences, also those of the node and of what is to be deleted.
	Missing int
	// Refused counts those of them that the cluster refused, so that they wait for their turn in a comparison of everything, or for a change.
	Refused int
	// LastTime is when a round succeeded; zero: none has.
	LastTime time.Time
	// Err is why the last round failed; nil: it succeeded.
	Err error
}

// ServiceKey and CheckKey are how State.OutOfSync names entries.
func ServiceKey(id string) string { return "s" + id }

// CheckKey is how State.OutOfSync names a check.
func CheckKey(id string) string { return "c" + id }

// view is what any goroutine may tell a Syncer and ask it. The one that makes the calls tells it how rounds end.
type view struct {
	registry *registry.Registry
	node     func() *tenurev1.Node
	wake     chan struct{}

	// mu guards what follows. The registry's lock, and those that node takes, come after it.
	mu      sync.Mutex
	pending registry.Change
	state   State
	now     comparison
	// changes counts changes of rows and of the status of checks. What was there after the first synced of them is in the catalog, or refused.
	changes, synced uint64
}

func newView(options Options, node *tenurev1.Node) *view {
	v := &view{registry: options.Registry, node: options.Node, wake: make(chan struct{}, 1), now: newComparison()}
	v.now.setNode(node)
	v.now.follow(v.registry.TakeAll())
	return v
}

// Changed is told what happened to the registry, or with Rows set to the node.
func (v *view) Changed(c registry.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending.Status = v.pending.Status || c.Status
	v.pending.Rows = v.pending.Rows || c.Rows
	v.pending.Output = v.pending.Output || c.Output
	if c.Rows || c.Status {
		v.changes++
	}
	if c.Rows {
		v.now.setNode(v.node())
	}
	v.now.follow(v.registry.Take())
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// Changes counts the changes of rows and of the status of checks that Changed was told.
func (v *view) Changes() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changes
}

// Settled reports whether the catalog, as the last round left it, is as the agent was after so many changes or later, or as it is now, but for what
// the cluster refused.
func (v *view) Settled(changes uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now.known && v.synced >= changes || v.now.settled()
}

// Brief is State without OutOfSync. It costs the same however much is registered.
func (v *view) Brief() State {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.brief()
}

// State returns how the catalog, as the last round left it, compares with the agent as it is now.
func (v *view) State() State {
	v.mu.Lock()
	defer v.mu.Unlock()
	state := v.brief()
	state.OutOfSync = v.now.outOfSync()
	return state
}

// brief returns the state without OutOfSync.
func (v *view) brief() State {
	v.now.follow(v.registry.Take())
	v.now.check()
	state := v.state
	state.Missing, state.Refused = v.now.missing(), v.now.waiting
	return state
}

// peek returns what changed since the last round began.
func (v *view) peek() registry.Change {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pending
}

func (v *view) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pending = registry.Change{}
}

// begin begins a round. It returns how many changes the round looks at, or more.
func (v *view) begin() (changes uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now.setNode(v.node())
	return v.changes
}

// part returns the agent's rows that may differ from the catalog, and which were looked at.
func (v *view) part(outputs bool) (rows, ids) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now.follow(v.registry.Take())
	return v.now.part(outputs)
}

// whole returns all of the agent's rows.
func (v *view) whole() rows {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now.follow(v.registry.Take())
	return v.now.whole()
}

// outcome is how a round ended.
type outcome struct {
	err error // nil: the cluster has or refused all that differed
	// catalog is what it has then, of which all was read, or only made is new.
	catalog rows
	all     bool
	made    []*batch
	refused refusals
}

// finish notes how a round ended that looked at so many changes.
func (v *view) finish(changes uint64, o outcome) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case o.err != nil:
		v.now.forget()
	case o.all:
		v.now.compareAll(o.catalog, o.refused)
	default:
		v.now.compareMade(o.made, o.refused)
	}
	v.now.check()
	if v.state.Err = o.err; o.err == nil {
		v.synced, v.state.Err = changes, o.refused.err()
	}
	if v.state.Err == nil {
		v.state.LastTime = time.Now()
	}
}
