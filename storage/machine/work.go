package machine

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/effects"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// fullResultBytesMax is how large a result may be that is remembered in a full store: more than what deletes and the ends of holds and waits
// return, also of long keys. A release that finds nothing returns a few of the holds that there are.
const fullResultBytesMax = 32 << 10

// Outcome is what a batch of entries did.
type Outcome struct {
	// Entries has one element for each entry with commands, in order.
	Entries []EntryOutcome
	// Events are those of the whole batch, by revision and index. They are shared: nobody may change them.
	Events []*storev1.Event
	// Applied is the state's account of itself after the batch.
	Applied layout.Applied
	// MembersChanged says that Reader.Members or Reader.RemovedMembers may return something else than before.
	MembersChanged bool
	// LimitsChanged says that Reader.Limits may return something else than before.
	LimitsChanged bool
	// RowsWritten is how many rows the batch wrote or deleted, BytesWritten what they take in Pebble's batch.
	RowsWritten, BytesWritten int
	// RowsRead is how many rows the batch read from the disk, or from what Pebble keeps of it, BytesRead what they take. What the
	// store remembers itself does not count, so they differ from member to member.
	RowsRead, BytesRead int
}

// EntryOutcome is what one entry did.
type EntryOutcome struct {
	// Index and Term are the entry's.
	Index, Term uint64
	// Proposer and Sequence are the envelope's; they lead to those who wait.
	Proposer, Sequence uint64
	// Results has one element for each command, in order. They are shared: nobody may change them.
	Results []*storev1.Result
}

// Work is one Apply under way.
type Work struct {
	rows   *table.Overlay
	state  layout.Applied
	sum    *table.Checksum
	events []*storev1.Event
	limits *storev1.Limits // nil until somebody asks
	recent recentSession
	// membersChanged says that a record of a member was written.
	membersChanged bool
	// limitsChanged says that limits were set.
	limitsChanged bool
	// denyRevision is that of the state, without the revocations of tokens that the entry under way has made so far.
	denyRevision uint64
	// Keys is what the store knows of idempotency keys; nil knows none.
	Keys *requests.KnownKeys
	// Gaps are those of the store; nil knows none.
	Gaps *requests.Gaps
}

// NewWork begins with rows that hold nothing yet, above those on disk, of which state is the account.
func NewWork(rows *table.Overlay, state layout.Applied) *Work {
	return &Work{rows: rows, state: state, sum: table.NewChecksum(state.Checksum, state.ClusterVersion)}
}

// Applied returns the account of the state with all that was done.
func (w *Work) Applied() layout.Applied {
	state := w.state
	state.Checksum, state.StoreBytes = w.sum.Sum, w.rows.Bytes
	return state
}

// Checksum returns the checksum after what was done so far.
func (w *Work) Checksum() uint64 { return w.sum.Sum }

// Seal ends what is written outside of entries: it cannot be taken back any more.
func (w *Work) Seal() { w.rows.Seal(w.sum) }

// Outcome returns what was done, but for the results and what the commit writes.
func (w *Work) Outcome() Outcome {
	return Outcome{
		Events: w.events, Applied: w.Applied(), MembersChanged: w.membersChanged, LimitsChanged: w.limitsChanged,
		RowsRead: w.rows.Reads.Rows, BytesRead: w.rows.Reads.Bytes,
	}
}

// Entry applies one entry.
func (w *Work) Entry(e layout.Entry) (EntryOutcome, error) {
	if e.Index != w.state.Index+1 || e.Term < w.state.Term {
		return EntryOutcome{}, fmt.Errorf("%w: index %d of term %d after index %d of term %d",
			layout.ErrEntryOrder, e.Index, e.Term, w.state.Index, w.state.Term)
	}
	w.state.Index, w.state.Term = e.Index, e.Term
	w.rows.Voids.Begin(e.Index)
	w.sum.Follow(w.state.ClusterVersion)
	w.sum.AddEntry(e)
	if len(e.ConfState) > 0 {
		w.state.ConfState = append([]byte(nil), e.ConfState...)
	}
	out := EntryOutcome{Index: e.Index, Term: e.Term}
	if len(e.Data) == 0 {
		return out, nil
	}
	env, err := layout.DecodeEnvelope(e.Data)
	if err != nil {
		return EntryOutcome{}, err
	}
	out.Proposer, out.Sequence = env.GetProposer(), env.GetSequence()
	out.Results = make([]*storev1.Result, 0, len(env.GetCommands()))
	w.denyRevision = w.state.DenyRevision
	for i, cmd := range env.GetCommands() {
		before := w.state.DenyRevision
		result, err := w.command(e.Term, cmd)
		if err != nil {
			return EntryOutcome{}, fmt.Errorf("command %d: %w", i, err)
		}
		if w.state.DenyRevision > before && !revokes(cmd) {
			w.denyRevision = w.state.DenyRevision
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// command applies one command once: an attempt that is remembered gets its first result.
func (w *Work) command(term uint64, cmd *storev1.Command) (*storev1.Result, error) {
	f, err := w.denied(cmd)
	if err != nil {
		return nil, err
	}
	if f != nil {
		return &storev1.Result{Revision: w.state.Revision, Failure: f}, nil
	}
	c := newCommand(w, term, cmd)
	m, err := requests.SlotOf(cmd)
	if err == nil && m != nil {
		var result *storev1.Result
		if result, err = m.Recall(&c.keeper); err == nil && result != nil {
			return result, c.locks.findAgain(cmd, result)
		}
	}
	if failure := rule.At(w.state.ClusterVersion, err); failure != nil {
		return &storev1.Result{Revision: w.state.Revision, Failure: failure}, nil
	}
	if err != nil {
		return nil, err
	}
	result, err := w.attempt(c, cmd, m != nil)
	if err != nil || m == nil {
		return result, err
	}
	if !remembers(cmd, result) {
		return result, m.Pass(&c.keeper)
	}
	if err := m.Remember(&c.keeper, result); err != nil {
		return nil, fmt.Errorf("remember: %w", err)
	}
	w.rows.Seal(w.sum)
	return result, nil
}

// denied returns the failure of a command that was authorised before rights were taken away, or by what was found under an id where something
// else is now. Whether the rights are its caller's is for whoever proposed it to find out.
//
// Revocations of tokens in one entry do not deny each other: none of them was answered yet, and in whatever order they are made, the same tokens
// are gone in the end. So those that come together all succeed.
func (w *Work) denied(cmd *storev1.Command) (*storev1.Failure, error) {
	deny := w.state.DenyRevision
	if revokes(cmd) {
		deny = w.denyRevision
	}
	if below := cmd.GetAuthorisedBelow(); below != 0 && below <= deny {
		return rule.Of(rule.Broken(storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD,
			storev1.FailureDetail_FAILURE_DETAIL_AUTHORISED_BEFORE, below-1, deny)), nil
	}
	if w.state.ClusterVersion < layout.Version3 {
		return nil, nil //nolint:nilnil // Most commands are not denied, which is no error.
	}
	outrun, err := w.outrun(cmd.GetFindings())
	if err != nil || !outrun {
		return nil, err
	}
	return rule.Of(rule.Broken(storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD, storev1.FailureDetail_FAILURE_DETAIL_FOUND_OTHERWISE)), nil
}

// outrun reports whether something else is now where a member found what decided about a command. Of more than a command may have, none is believed.
func (w *Work) outrun(findings []*storev1.Finding) (bool, error) {
	if len(findings) > records.FindingsMax {
		return true, nil
	}
	for _, was := range findings {
		now, err := records.Find(w.rows, was)
		if err != nil {
			return false, err
		}
		if now.GetFound() != was.GetFound() || now.GetName() != was.GetName() || now.GetByPrefix() != was.GetByPrefix() {
			return true, nil
		}
	}
	return false, nil
}

// revokes reports whether a command revokes a token.
func revokes(cmd *storev1.Command) bool {
	_, is := cmd.GetChangeAuth().GetChange().(*storev1.ChangeAuth_RevokeToken)
	return is
}

// attempt applies one command whole, or not at all. Named says that it may be sent again, and that its result is remembered.
func (w *Work) attempt(c *command, cmd *storev1.Command, named bool) (*storev1.Result, error) {
	before, bytes := w.state, w.rows.Bytes
	result, err := c.run(cmd)
	if err == nil && named {
		err = c.needSpaceToRemember(cmd, result, bytes)
	}
	if failure := rule.At(w.state.ClusterVersion, err); failure != nil {
		w.rows.Rollback()
		w.state = before
		invariants.That(w.rows.Mark() == 0, "a refused command left %d writes", w.rows.Mark())
		result = &storev1.Result{Revision: w.state.Revision, Failure: failure}
		if named {
			return c.refused(cmd, result)
		}
		return result, nil
	}
	if err != nil {
		return nil, err
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	if invariants.Enabled {
		reads := w.rows.Reads
		if err := c.verify(before); err != nil {
			return nil, err
		}
		w.rows.Reads = reads
	}
	result.Revision = w.state.Revision
	result.Changed = len(c.events) > 0
	w.rows.Seal(w.sum)
	return result, nil
}

// remembers says whether the result of a command is worth keeping. What only reads may as well be done again, and so may
// what failed because the store is full: nothing was done, and remembering that would make it fuller.
func remembers(cmd *storev1.Command, result *storev1.Result) bool {
	if result.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_STORE_FULL {
		return false
	}
	txn := cmd.GetTxn()
	return txn == nil || !effects.ReadsOnly(txn)
}

// needSpaceToRemember refuses what would make a full store grow by its result, although it writes nothing itself or frees space. From where on the
// state grows no more, only small results are remembered. What is left above that is for what goes on; if that is gone, too, it is kept for commands
// that free space. Bytes is what the state had before the command: one that fills the store, or makes room in it, is not refused for that.
func (c *command) needSpaceToRemember(cmd *storev1.Command, result *storev1.Result, bytes uint64) error {
	if c.state.ClusterVersion < layout.Version3 || !remembers(cmd, result) {
		return nil
	}
	limits, err := c.effectiveLimits()
	if err != nil {
		return err
	}
	bytes = min(bytes, c.rows.Bytes)
	switch {
	case bytes < quota.GrowthBytesMax(limits):
		return nil
	case proto.Size(result) > fullResultBytesMax, bytes >= limits.GetStoreBytesMax() && effects.Grows(cmd):
		return storeFull(limits, bytes)
	default:
		return nil
	}
}

// refused returns the result of a command that was taken back, which is another one if there is no room to remember it.
func (c *command) refused(cmd *storev1.Command, result *storev1.Result) (*storev1.Result, error) {
	err := c.needSpaceToRemember(cmd, result, c.rows.Bytes)
	if full := rule.Of(err); full != nil {
		result.Failure, err = full, nil
	}
	return result, err
}

// effectiveLimits returns the limits in force; nobody may change them.
func (w *Work) effectiveLimits() (*storev1.Limits, error) {
	if w.limits == nil {
		limits, err := records.ReadLimits(w.rows)
		if err != nil {
			return nil, err
		}
		w.limits = limits
	}
	return w.limits, nil
}

// Overlay returns the rows, for what is written outside of entries.
func (w *Work) Overlay() *table.Overlay { return w.rows }
