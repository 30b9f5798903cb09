package antientropy

import (
	"context"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// fullEvery is how often all is compared, with up to nodesSmall nodes.
	fullEvery  = time.Minute
	nodesSmall = 128
	// refusedAgainMax is how many entries that were refused a full comparison tries again in vain. It leaves the others to the next one.
	refusedAgainMax = 32
)

// Options say what a Syncer needs.
type Options struct {
	Client   tenurev1.CatalogServiceClient
	Registry *registry.Registry
	// Node returns what the agent says about its node. Its name and id do not change.
	Node func() *tenurev1.Node
	// Boot is the number of the agent's start, and Continue is called before a later one is used.
	Boot     uint64
	Continue func(boot uint64) error
	// Save makes the states of checks durable before the catalog has them: after a crash no check may come back worse
	// than the catalog has it.
	Save func() error
	// Nodes returns about how many nodes there are; 0: not known.
	Nodes func() int
	Log   *zap.Logger
	// Synced is told how each round ended. It must not block.
	Synced func(error)
}

// Syncer keeps the catalog like an agent.
type Syncer struct {
	*view
	options Options
	nodeID  string

	// These belong to Run.
	number number
	// catalog is what the cluster has, as far as known is true.
	catalog catalogRows
	known   bool
	// other is the id of another machine that has the node's name, as far as was read; called says that the cluster was asked before.
	other  string
	called bool
	// refused are left out until they change, or a full comparison tries them again. The last that one tried is tried.
	refused refusals
	tried   string
	// all says that this round read the catalog, so that it compares all rows and not only those that changed. made is what it made.
	all  bool
	made []*batch
}

// number orders calls: first by the start of the agent, then within it.
type number struct {
	boot, call uint64
}

// New returns a Syncer that does nothing yet.
func New(options Options) *Syncer {
	if options.Synced == nil {
		options.Synced = func(error) {}
	}
	if options.Nodes == nil {
		options.Nodes = func() int { return 0 }
	}
	node := options.Node()
	s := &Syncer{view: newView(options, node), options: options, nodeID: node.GetNodeId(), catalog: newCatalogRows(newRows())}
	s.refused = refusals{}
	s.number.boot = options.Boot
	return s
}

// Run keeps the catalog like the agent until ctx ends.
func (s *Syncer) Run(ctx context.Context) error {
	var plan schedule
	plan.begin(time.Now())
	for {
		due := plan.due(s.peek(), time.Now())
		if !s.wait(ctx, due) {
			return nil
		}
		now := time.Now()
		if now.Before(due) {
			// Something changed, which may be due sooner.
			continue
		}
		full, outputs := plan.next(now)
		s.clear()
		err := s.round(ctx, full, outputs, plan.attempts == 0)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // The round was ended, and did not fail.
		}
		if err != nil {
			plan.failed(time.Now())
			continue
		}
		plan.succeeded(time.Now(), full, outputs, s.fullAfter())
		if !outputs {
			s.Changed(registry.Change{Output: true})
		}
	}
}

// wait waits until due or until something changed; false if ctx ended first.
func (s *Syncer) wait(ctx context.Context, due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	case <-s.wake:
		return true
	}
}

// fullAfter returns when all is compared again: the later, the more nodes there are, and at a time of its own.
func (s *Syncer) fullAfter() time.Duration {
	every := fullEvery
	if n := s.options.Nodes(); n > nodesSmall {
		every += fullEvery * time.Duration(bits.Len(uint((n-1)/nodesSmall)))
	}
	return every/2 + rand.N(every/2) //nolint:gosec // Nobody guesses it.
}

// Round is one round for a caller that has a clock of its own, instead of Run: it compares all, or what changed since the last round, and writes what
// differs, on demand also outputs that alone are others. After one that failed, all is compared.
func (s *Syncer) Round(ctx context.Context, full, outputs bool) error {
	s.clear()
	return s.round(ctx, full || !s.known, outputs, true)
}

// round compares, and writes what differs. Only the first of several failures is logged.
func (s *Syncer) round(ctx context.Context, full, outputs, first bool) error {
	s.all, s.made = false, nil
	changes := s.begin()
	err := s.sync(ctx, full || !s.known, outputs)
	s.known = err == nil
	s.finish(changes, outcome{err: err, all: s.all, catalog: s.catalog.rows, made: s.made, refused: s.refused})
	s.options.Synced(err)
	switch {
	case ctx.Err() != nil:
	case err != nil && first:
		s.options.Log.Warn("sync failed", zap.Error(err))
	case err == nil && !first:
		s.options.Log.Info("sync works again")
	}
	return err
}

func (s *Syncer) sync(ctx context.Context, full, outputs bool) error {
	if full || s.todo(outputs).overridesTags(s.catalog.rows) {
		// An instance is written with its tags: what others have made of them since the last comparison would be lost.
		found, err := s.read(ctx, s.options.Node())
		if err != nil {
			return err
		}
		s.catalog, s.known, s.all = newCatalogRows(found), true, true
	}
	before := maps.Clone(s.refused)
	if err := s.write(ctx, outputs); err != nil {
		return err
	}
	if full {
		if err := s.retry(ctx, before); err != nil {
			return err
		}
	}
	if s.refused.freed() { // Services have no service, so once more is enough.
		return s.write(ctx, outputs)
	}
	return nil
}

// write makes what is to be written and deleted but for what was refused.
func (s *Syncer) write(ctx context.Context, outputs bool) error {
	todo := s.todo(outputs)
	if todo.size() == 0 {
		return nil
	}
	if err := s.ready(); err != nil {
		return err
	}
	for todo.size() > 0 {
		if err := s.push(ctx, todo.take(rowsMax)); err != nil {
			return err
		}
	}
	return nil
}

// retry tries what was refused before this comparison, each entry alone, so that it takes one call. It goes on after the entry that the last
// comparison ended with, and ends when refusedAgainMax of them are refused again: the others stay refused until it is their turn. What is accepted
// does not count, since it is not tried again.
func (s *Syncer) retry(ctx context.Context, before refusals) error {
	if len(before) == 0 {
		return nil
	}
	agent, of := s.agent(true)
	open := difference(s.catalog.rows, agent, of, true)
	s.refused.keep(open)
	open.leaveOut(func(key string, entry proto.Message) bool { return !before.stands(key, entry) || s.orphan(entry) })
	again := open.alone()
	if len(again) == 0 {
		return nil
	}
	if err := s.ready(); err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(again))
	next, is := slices.BinarySearch(keys, s.tried)
	if is {
		next++
	}
	left := refusedAgainMax
	for _, key := range slices.Concat(keys[next:], keys[:next]) {
		s.tried = key
		if err := s.push(ctx, again[key]); err != nil {
			return err
		}
		if s.refused.has(key) {
			left--
		}
		if left == 0 {
			break
		}
	}
	return nil
}

// ready is called before entries are sent.
func (s *Syncer) ready() error {
	if err := s.options.Save(); err != nil {
		return err
	}
	return s.options.Continue(s.number.boot)
}

// todo returns what is to be written and deleted but for what was refused.
func (s *Syncer) todo(outputs bool) *batch {
	agent, of := s.agent(outputs)
	return s.refused.difference(s.catalog.rows, agent, of, outputs)
}

// agent returns the rows that the agent is right about, and which are looked at: all, or those that may differ.
func (s *Syncer) agent(outputs bool) (rows, ids) {
	if !s.all {
		return s.part(outputs)
	}
	agent := s.whole()
	return agent, allIDs(s.catalog.rows, agent)
}
