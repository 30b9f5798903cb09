package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/envelope"
	"github.com/tenure-io/tenure/storage"
)

// Errors of changes of members. With all of them nothing was changed.
var (
	// ErrMemberUnknown says that no member has that id.
	ErrMemberUnknown = errors.New("unknown member")
	// ErrMemberExists says that a member has that name, or that id from another disk.
	ErrMemberExists = errors.New("the member already exists")
	// ErrMemberRemoved says that the id belonged to a member that was removed. Ids are never used again.
	ErrMemberRemoved = errors.New("member was removed")
	// ErrMemberRefused says that the member cannot be of this cluster; the text says why.
	ErrMemberRefused = errors.New("the member was refused")
	// ErrLosesQuorum says that too few voters could be reached after the change.
	ErrLosesQuorum = errors.New("the change would lose the quorum")
	// ErrNotCaughtUp says that a member lacks too much of the log for what is asked of it.
	ErrNotCaughtUp = errors.New("member has not caught up")
	// ErrTransferFailed says that the leadership was not taken over in time.
	ErrTransferFailed = errors.New("leadership was not transferred")
	// ErrOnlyVoter says that the leadership cannot be handed over, because no other member votes.
	ErrOnlyVoter = errors.New("no other member votes, so leadership cannot be transferred")
	// ErrRightsTaken says that rights were taken away since the change was allowed, as AllowedBelow says.
	ErrRightsTaken = errors.New("rights were taken away since the change of members was allowed")
	// ErrRightsUnsettled says that rights are perhaps being taken away, and were for as long as the change waited.
	ErrRightsUnsettled = errors.New("rights are perhaps being taken away")
	// ErrRemoved says that this member was removed from its cluster, and stops for good.
	ErrRemoved = errors.New("this member was removed from the cluster")
)

// Consensus is what changes of members need of the member that makes them.
type Consensus interface {
	// Propose replicates a command, waits until it is applied here, and returns what it returned.
	Propose(ctx context.Context, cmd *storev1.Command) (*storev1.Result, error)
	// ReadIndexLeader proves that this member leads, after everything that was committed before is applied here.
	ReadIndexLeader(ctx context.Context) (term uint64, err error)
	// Store returns the state machine, which may be another one at the next call.
	Store() *storage.Store
}

// Options says for which member, and by what means, members are changed. All of it is required but ManualPromotion
// and VersionMax.
type Options struct {
	Consensus Consensus
	// Member is this one's id.
	Member uint64
	Logger *zap.Logger
	// Tick and ElectionTicks are raft's.
	Tick          time.Duration
	ElectionTicks int
	// ManualPromotion leaves it to Promote to let a learner vote, instead of doing so when it has caught up.
	ManualPromotion bool
	// VersionMax is a cluster version that this program is said to follow, for tests; 0 is the truth.
	VersionMax uint32
	// Confs replicates what raft has to know, Peers is what this member sees of the others while it leads.
	Confs *ConfChanges
	Peers *Peers
	// Connected reports whether messages to a member have a way, as far as this one knows.
	Connected func(id uint64) bool
	// View returns who leads, and the highest index known to be committed.
	View func() (lead core.Leadership, commit uint64)
	// MayPropose returns why nothing can be proposed here now, nil if it can.
	MayPropose func() error
	// Explain adds to ErrNotLeader who leads.
	Explain func(error) error
	// Post gives an event to the loop. It does not block.
	Post func(ev ...core.Event)
	// Done is closed when the member has stopped.
	Done <-chan struct{}
}

// Changes makes the changes of members that are asked for on the leader, one after another.
type Changes struct {
	o       Options
	log     *zap.Logger
	records records
	slot    chan struct{} // 1 slot: whoever changes members holds it
	term    uint64        // of the last proof that this member leads; it belongs to whoever holds the slot
}

// belowKey is the key of what AllowedBelow says.
type belowKey struct{}

// AllowedBelow returns a context for a change of members that was allowed below a deny revision. It is not made once the cluster has that one: a command
// that was proposed before it and raised the deny revision that far stops it. Zero, or another context: it is allowed whatever happens.
func AllowedBelow(ctx context.Context, below uint64) context.Context {
	return context.WithValue(ctx, belowKey{}, below)
}

// allowedBelow returns what AllowedBelow was told.
func allowedBelow(ctx context.Context) uint64 {
	below, _ := ctx.Value(belowKey{}).(uint64)
	return below
}

// guard returns how long a change that was begun is allowed.
func (c *Changes) guard(ctx context.Context) core.Guard {
	if below := allowedBelow(ctx); below != 0 {
		return core.Guard{Term: c.term, Below: below}
	}
	return core.Guard{}
}

// NewChanges returns what changes members through this one.
func NewChanges(o Options) *Changes {
	return &Changes{o: o, log: o.Logger, records: records{o.Consensus}, slot: make(chan struct{}, 1)}
}

const (
	// caughtUpEntries is how many entries a learner may lack to be promoted.
	caughtUpEntries = 1000
	// caughtUpChecks is for how many looks in a row it must have caught up.
	caughtUpChecks = 4
	// orphanGrace is how long a record of a learner may be there before raft knows it: time for a member that joins to
	// ask again after a change of leaders.
	orphanGrace = 30 * time.Second
)

// Conf returns the members as applied, or core.ErrConfChangePending while a joint change is under way.
func (c *Changes) Conf() (*raftpb.ConfState, error) {
	cs, err := core.UnmarshalConfState(c.o.Consensus.Store().Applied().ConfState)
	if err != nil {
		return nil, err
	}
	if len(cs.GetVotersOutgoing()) > 0 || len(cs.GetLearnersNext()) > 0 {
		return nil, core.ErrConfChangePending
	}
	return cs, nil
}

// Records returns the members' records; none while the store is being replaced. Nobody changes them.
func (c *Changes) Records() []*storev1.Member { return c.records.all() }

// TakesTokens reports whether the cluster version knows join tokens. A member of an older program could not apply a command
// about them.
func (c *Changes) TakesTokens() bool {
	return storage.KnowsJoinTokens(c.o.Consensus.Store().Applied().ClusterVersion)
}

// begin waits until no other change of members is made through this member, proves that it leads, and returns the
// members. end is due when the error is nil.
func (c *Changes) begin(ctx context.Context) (cs *raftpb.ConfState, end func(), err error) {
	select {
	case c.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%w: %w", core.ErrConfChangePending, ctx.Err())
	case <-c.o.Done:
		return nil, nil, core.ErrStopped
	}
	end = func() { <-c.slot }
	if c.term, err = c.o.Consensus.ReadIndexLeader(ctx); err == nil {
		cs, err = c.Conf()
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return cs, end, nil
}

// Promote lets a learner vote. Forced, also one that has not caught up or cannot be reached.
func (c *Changes) Promote(ctx context.Context, id uint64, force bool) error {
	cs, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return c.promote(ctx, cs, id, force)
}

func (c *Changes) promote(ctx context.Context, cs *raftpb.ConfState, id uint64, force bool) error {
	switch {
	case slices.Contains(cs.GetVoters(), id):
		return nil
	case !slices.Contains(cs.GetLearners(), id):
		return fmt.Errorf("%w: %x", ErrMemberUnknown, id)
	}
	if !force {
		if err := c.patiently(ctx, func() error { return c.caughtUp(id) }); err != nil {
			return err
		}
		after := append(slices.Clone(cs.GetVoters()), id)
		if err := c.patiently(ctx, func() error { return c.checkQuorum(after) }); err != nil {
			return err
		}
	}
	if err := c.o.Confs.Change(ctx, c.guard(ctx), single(raftpb.ConfChangeAddNode, id)); err != nil {
		return err
	}
	c.log.Info("promoted member", zap.Uint64("member", id))
	// The record says the same later if this fails.
	if err := c.recordVoter(ctx, id); err != nil {
		c.log.Debug("record of a promoted member", zap.Error(err))
	}
	return nil
}

func (c *Changes) recordVoter(ctx context.Context, id uint64) error {
	record := c.records.of(id)
	if record == nil || !record.GetLearner() {
		return nil
	}
	record.Learner, record.StayLearner = false, false
	return c.records.put(ctx, record)
}

// Remove removes a member for good. A leader that is asked to remove itself hands the leadership over and answers
// ErrNotLeader with a hint: the next one removes it.
func (c *Changes) Remove(ctx context.Context, id uint64, force bool) error {
	cs, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if !core.IsMember(cs, id) {
		if c.records.of(id) == nil {
			return fmt.Errorf("%w: %x", ErrMemberUnknown, id)
		}
		return c.records.removeAllowed(ctx, id)
	}
	rest := without(cs.GetVoters(), id)
	if len(rest) == 0 {
		return fmt.Errorf("%w: it is the only voter", ErrLosesQuorum)
	}
	if slices.Contains(cs.GetVoters(), id) && !force {
		if err := c.patiently(ctx, func() error { return c.checkQuorum(rest) }); err != nil {
			return err
		}
	}
	if id == c.o.Member {
		return c.stepAside(ctx)
	}
	if err := c.o.Confs.Change(ctx, c.guard(ctx), single(raftpb.ConfChangeRemoveNode, id)); err != nil {
		return err
	}
	c.log.Info("removed member", zap.Uint64("member", id))
	return c.records.remove(ctx, id)
}

// stepAside hands the leadership to whoever can take it, and says who that is.
func (c *Changes) stepAside(ctx context.Context) error {
	if err := c.transfer(ctx, 0); err != nil {
		return err
	}
	return c.o.Explain(core.ErrNotLeader)
}

// Transfer hands the leadership to a voter; 0 lets the one take it that can soonest.
func (c *Changes) Transfer(ctx context.Context, id uint64) error {
	_, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return c.transfer(ctx, id)
}

func (c *Changes) transfer(ctx context.Context, id uint64) error {
	if id == c.o.Member {
		return nil
	}
	cs, err := c.Conf()
	if err != nil {
		return err
	}
	if id != 0 && !slices.Contains(cs.GetVoters(), id) {
		return fmt.Errorf("%w: %x is not a voter", ErrMemberUnknown, id)
	}
	if len(cs.GetVoters()) == 1 {
		return ErrOnlyVoter
	}
	var found *Peer
	err = c.patiently(ctx, func() error {
		found, err = c.successor(cs.GetVoters(), id)
		return err
	})
	if err != nil {
		return err
	}
	c.log.Info("transfers the leadership", zap.Uint64("to", found.ID))
	guard := c.guard(ctx)
	if err = c.o.Confs.Transfer(ctx, guard, found.ID); err != nil {
		return err
	}
	tick := time.NewTicker(c.o.Tick)
	defer tick.Stop()
	for range 2 * c.o.ElectionTicks {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrTransferFailed, ctx.Err())
		case <-c.o.Done:
			return core.ErrStopped
		}
		if l, _ := c.o.View(); l.Leader != 0 && l.Leader != c.o.Member {
			if l.Leader != found.ID {
				return fmt.Errorf("%w: member %x is now the leader", ErrTransferFailed, l.Leader)
			}
			return nil
		}
		// The other member does not campaign before it has applied the last change of members, and the message to it may be lost.
		c.o.Confs.TransferAgain(guard, found.ID)
	}
	return fmt.Errorf("%w: %x did not become leader", ErrTransferFailed, found.ID)
}

// successor returns which voter can take the leadership over: the member wanted, or the one that can soonest. What was seen
// of the members is up to a tick old; one that was removed since can lead no more.
func (c *Changes) successor(voters []uint64, id uint64) (*Peer, error) {
	var found *Peer
	for _, p := range c.o.Peers.List() {
		if p.Self || !slices.Contains(voters, p.ID) || !c.reachable(&p) {
			continue
		}
		if p.ID == id || id == 0 && (found == nil || p.Match > found.Match) {
			found = &p
		}
	}
	switch {
	case found == nil:
		return nil, fmt.Errorf("%w: no other voter can be reached", ErrTransferFailed)
	case !found.Replicating:
		return nil, fmt.Errorf("%w: %x", ErrNotCaughtUp, found.ID)
	default:
		return found, nil
	}
}

// patiently checks at every tick, up to an election time-out, until nothing is wrong: a new leader has not heard of
// everybody yet.
func (c *Changes) patiently(ctx context.Context, check func() error) error {
	tick := time.NewTicker(c.o.Tick)
	defer tick.Stop()
	err := check()
	for range c.o.ElectionTicks {
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		case <-c.o.Done:
			return core.ErrStopped
		}
		err = check()
	}
	return err
}

func without(ids []uint64, id uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(ids), func(x uint64) bool { return x == id })
}

// reachable reports whether a member can be reached, of which a tick saw p, or nothing. One that has just stopped was heard of a moment ago, but its
// connection is lost.
func (c *Changes) reachable(p *Peer) bool {
	return p != nil && p.Reachable && (p.Self || c.o.Connected(p.ID))
}

// checkQuorum refuses voters of which too few can be reached.
func (c *Changes) checkQuorum(voters []uint64) error {
	reachable := 0
	var missing []string
	for _, id := range voters {
		if c.reachable(c.o.Peers.Of(id)) {
			reachable++
		} else {
			missing = append(missing, fmt.Sprintf("%x", id))
		}
	}
	if need := len(voters)/2 + 1; reachable < need {
		return fmt.Errorf("%w: after it there are %d voters, of which %d can be reached and %d are needed (unreachable: %v)",
			ErrLosesQuorum, len(voters), reachable, need, missing)
	}
	return nil
}

// caughtUp refuses a member that lacks too much.
func (c *Changes) caughtUp(id uint64) error {
	p := c.o.Peers.Of(id)
	switch {
	case !c.reachable(p):
		return fmt.Errorf("%w: %x cannot be reached", ErrNotCaughtUp, id)
	case !p.Replicating:
		return fmt.Errorf("%w: %x is receiving a snapshot", ErrNotCaughtUp, id)
	}
	if _, commit := c.o.View(); p.Match+caughtUpEntries < commit {
		return fmt.Errorf("%w: %x lacks %d entries", ErrNotCaughtUp, id, commit-p.Match)
	}
	return nil
}

// awaitConf waits until the members are as wanted.
func (c *Changes) awaitConf(ctx context.Context, is func(*raftpb.ConfState) bool) error {
	return c.await(ctx, func() (bool, error) {
		cs, err := core.UnmarshalConfState(c.o.Consensus.Store().Applied().ConfState)
		return err == nil && is(cs), err
	}, func() error { return envelope.ErrOutcomeUnknown })
}

// await looks at every tick until something is so. late explains what it was not when ctx ended.
func (c *Changes) await(ctx context.Context, is func() (bool, error), late func() error) error {
	tick := time.NewTicker(c.o.Tick)
	defer tick.Stop()
	for {
		if ok, err := is(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(late(), ctx.Err())
		case <-c.o.Done:
			return core.ErrStopped
		}
	}
}
