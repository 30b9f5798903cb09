package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/auth"
	"github.com/tenure-io/tenure/storage/history"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/members"
	"github.com/tenure-io/tenure/storage/nodes"
	"github.com/tenure-io/tenure/storage/queries"
	"github.com/tenure-io/tenure/storage/quota"
	"github.com/tenure-io/tenure/storage/requests"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// keyBytesMax is the longest key.
	keyBytesMax = 1024
	// valueBytesMax is the longest value.
	valueBytesMax = 512 << 10
	// endObjectsMax is how many objects of sessions one command ends, but for the first session; under versions 2 and 1 it was more.
	endObjectsMax  = 128
	endObjectsMax2 = 512
	endObjectsMax1 = 4096
)

// command is one command under way: what it sees, and what it has done so far.
type command struct {
	*Work
	verbs
	ns       uint64
	term     uint64 // of the entry
	revision uint64 // that it will have if it emits events
	wallMs   int64
	// principal is on whose behalf it runs, from version 3 on.
	principal string

	events    []*storev1.Event
	keyEvent  keyEvents
	touched   []layout.Name // locks whose waiters may be granted, in order
	isTouched map[layout.Name]bool
	granted   int
	passed    int                  // waiters of dead sessions that left instead
	readBytes uint64               // of waiters to be granted, and of their keys
	moved     int                  // bytes of keys
	unmoved   map[layout.Name]bool // keys that the command leaves to be moved
	idle      []layout.Name        // locks that nobody used at some time of the command, in order
	isIdle    map[layout.Name]bool
	// prefixDeleted is how many keys were deleted by prefix.
	prefixDeleted int
	// keeper remembers what may be asked again.
	keeper requests.Keeper
	// grantsLater holds grants to waiters back, until all operations of a transaction are done.
	grantsLater bool
	// room is how many bytes the result of a transaction may grow by.
	room int
	// catalog is the command's part of the catalog, queries that of prepared queries.
	catalog nodes.Change
	queries queries.Change
	// meter counts what the command reads and writes where it has a budget; nil until it does.
	meter *table.Meter
}

func newCommand(w *Work, term uint64, cmd *storev1.Command) *command {
	c := &command{
		Work:     w,
		ns:       cmd.GetNamespaceId(),
		term:     term,
		revision: w.state.Revision + 1,
		wallMs:   w.wallTime(cmd),
	}
	if w.state.ClusterVersion >= layout.Version3 {
		c.principal = cmd.GetPrincipal()
	}
	c.verbs = verbsOf(c)
	c.keeper = requests.Keeper{Rows: w.rows, State: &w.state, Sum: w.sum, Keys: w.Keys, Revision: c.revision, Command: asked{c}, Gaps: w.Gaps}
	c.catalog = nodes.Change{Rows: w.rows, State: &w.state, Command: asked{c}, Revision: c.revision, Term: term, WallMs: c.wallMs}
	c.queries = queries.Change{Rows: w.rows, State: &w.state, Command: asked{c}, Revision: c.revision}
	return c
}

// wallTime returns the wall clock that a command carries.
func (w *Work) wallTime(cmd *storev1.Command) int64 {
	return cmd.GetWallTimeMs()
}

// run does what the command says, if its guards hold. An error that carries a failure means that the caller takes
// everything back.
func (c *command) run(cmd *storev1.Command) (*storev1.Result, error) {
	if c.ns != 0 {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED, storev1.FailureDetail_FAILURE_DETAIL_DEFAULT_NAMESPACE_ONLY)
	}
	if len(cmd.GetGuards()) > 0 {
		if err := c.withinBudget(func() error { return c.ops.checkGuards(cmd.GetGuards()) }); err != nil {
			return nil, err
		}
	}
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_CreateSession:
		return c.sessions.createSession(kind.CreateSession)
	case *storev1.Command_DestroySession:
		return c.sessions.destroySession(kind.DestroySession)
	case *storev1.Command_ExpireSessions:
		return c.sessions.expireSessions(kind.ExpireSessions)
	case *storev1.Command_TakeOverSession:
		taken, err := c.sessions.takeOverSession(kind.TakeOverSession)
		return &storev1.Result{Kind: &storev1.Result_TakeOverSession{TakeOverSession: taken}}, err
	case *storev1.Command_Put:
		put, err := c.keys.put(kind.Put, 0)
		return &storev1.Result{Kind: &storev1.Result_Put{Put: put}}, err
	case *storev1.Command_Delete:
		deleted, err := c.keys.deleteOne(kind.Delete)
		if err == nil {
			err = c.queue.grantTouched()
		}
		return &storev1.Result{Kind: &storev1.Result_Delete{Delete: deleted}}, err
	case *storev1.Command_DeletePrefix:
		var deleted *storev1.DeleteResult
		err := c.withinBudget(func() (err error) {
			deleted, err = c.keys.deletePrefix(kind.DeletePrefix)
			return err
		})
		if err == nil {
			err = c.queue.grantTouched() // It has a bound of its own.
		}
		return &storev1.Result{Kind: &storev1.Result_Delete{Delete: deleted}}, err
	case *storev1.Command_Txn:
		txn, err := c.ops.txn(kind.Txn)
		return &storev1.Result{Kind: &storev1.Result_Txn{Txn: txn}}, err
	default:
		return c.runLock(cmd)
	}
}

// runLock is run for the commands about locks and the cluster.
func (c *command) runLock(cmd *storev1.Command) (*storev1.Result, error) {
	switch kind := cmd.GetKind().(type) {
	case *storev1.Command_AcquireLock:
		acquired, err := c.locks.acquireLock(kind.AcquireLock)
		return &storev1.Result{Kind: &storev1.Result_AcquireLock{AcquireLock: acquired}}, err
	case *storev1.Command_CancelWait:
		cancelled, err := c.queue.cancelWait(kind.CancelWait)
		return &storev1.Result{Kind: &storev1.Result_CancelWait{CancelWait: cancelled}}, err
	case *storev1.Command_EndWaits:
		return c.queue.endWaits(kind.EndWaits)
	case *storev1.Command_ReleaseLock:
		released, err := c.locks.releaseLock(kind.ReleaseLock)
		return &storev1.Result{Kind: &storev1.Result_ReleaseLock{ReleaseLock: released}}, err
	case *storev1.Command_Resign:
		released, err := c.locks.resign(kind.Resign)
		return &storev1.Result{Kind: &storev1.Result_ReleaseLock{ReleaseLock: released}}, err
	case *storev1.Command_BreakLock:
		broken, err := c.breaks.breakLock(kind.BreakLock)
		return &storev1.Result{Kind: &storev1.Result_BreakLock{BreakLock: broken}}, err
	case *storev1.Command_EndDelays:
		return c.locks.endDelays(kind.EndDelays)
	case *storev1.Command_GrantWaiters:
		return c.queue.grantWaiters(kind.GrantWaiters)
	case *storev1.Command_EndFreeze:
		return c.queue.endFreeze(kind.EndFreeze)
	case *storev1.Command_Compact:
		return c.memory.compact(kind.Compact)
	case *storev1.Command_SetLimits:
		return c.members.setLimits(kind.SetLimits)
	case *storev1.Command_SetClusterVersion:
		return c.members.setClusterVersion(kind.SetClusterVersion)
	case *storev1.Command_PutMember:
		return c.members.change(func(m *members.Change) (*storev1.Result, error) { return m.Put(kind.PutMember) })
	case *storev1.Command_DeleteMember:
		return c.members.change(func(m *members.Change) (*storev1.Result, error) { return m.Remove(kind.DeleteMember) })
	case *storev1.Command_ChangeAuth, *storev1.Command_EndTokens:
		return c.runAuth(cmd)
	case *storev1.Command_MakeJoinToken:
		return c.members.change(func(m *members.Change) (*storev1.Result, error) {
			made, err := m.MakeToken(kind.MakeJoinToken)
			return &storev1.Result{Kind: &storev1.Result_MakeJoinToken{MakeJoinToken: made}}, err
		})
	case *storev1.Command_JoinMember:
		return c.members.change(func(m *members.Change) (*storev1.Result, error) { return m.Join(kind.JoinMember) })
	case *storev1.Command_EndJoinTokens:
		return c.members.change(func(m *members.Change) (*storev1.Result, error) { return m.EndTokens(kind.EndJoinTokens) })
	case *storev1.Command_PutQuery:
		return c.runQuery(func(out *storev1.QueryResult) error { return c.queries.Put(kind.PutQuery, out) })
	case *storev1.Command_DeleteQuery:
		return c.runQuery(func(out *storev1.QueryResult) error { return c.queries.Delete(kind.DeleteQuery, out) })
	default:
		return c.runCatalog(cmd)
	}
}

// runAuth does what a command says of what decides who may do what.
func (c *command) runAuth(cmd *storev1.Command) (*storev1.Result, error) {
	change := auth.Change{Rows: c.rows, State: &c.state, Principal: c.principal, WallMs: c.wallMs}
	if e := cmd.GetEndTokens(); e != nil {
		return change.End(e, c.term)
	}
	changed, err := change.Do(cmd.GetChangeAuth())
	return &storev1.Result{Kind: &storev1.Result_ChangeAuth{ChangeAuth: changed}}, err
}

// runQuery does what a command says of a prepared query.
func (c *command) runQuery(do func(*storev1.QueryResult) error) (*storev1.Result, error) {
	if err := rule.NeedVersion3(c.state.ClusterVersion); err != nil {
		return nil, err
	}
	out := &storev1.QueryResult{}
	return &storev1.Result{Kind: &storev1.Result_Query{Query: out}}, do(out)
}

// runCatalog is run for the commands about nodes, services and checks.
func (c *command) runCatalog(cmd *storev1.Command) (*storev1.Result, error) {
	verb, err := c.catalog.Verb(cmd)
	if err != nil {
		return nil, err
	}
	if err = rule.NeedVersion2(c.state.ClusterVersion); err != nil {
		return nil, err
	}
	out := &storev1.CatalogResult{}
	// What a command writes for its caller has a budget; which sessions it ends is not the caller's doing, and has a bound of its own.
	if err = c.withinBudget(func() error { return verb(out) }); err != nil {
		return nil, err
	}
	if out.SessionsEnded, err = c.sessions.endBound(cmd.GetEndMarked() != nil); err != nil {
		return nil, err
	}
	out.MarksLeft = c.state.EndMarks > 0
	out.GrantsLeft = c.state.GrantsLeft > 0
	return &storev1.Result{Kind: &storev1.Result_Catalog{Catalog: out}}, nil
}

// finish grants nothing more; it deletes the keys that are left unused, writes the history of the command and moves the
// revision.
func (c *command) finish() error {
	if err := c.keys.dropUnused(); err != nil {
		return err
	}
	if err := c.keeper.ForgetBuried(); err != nil {
		return err
	}
	if c.wallMs != 0 {
		c.state.WallTimeMs = c.wallMs
	}
	if len(c.events) == 0 {
		return nil
	}
	kept := c.history()
	for i, e := range c.events {
		e.Revision, e.Index, e.Count = c.revision, uint32(i), uint32(len(c.events))
		if err := kept.Append(e); err != nil {
			return err
		}
	}
	c.state.Revision = c.events[len(c.events)-1].GetRevision()
	c.Work.events = append(c.Work.events, c.events...)
	return nil
}

// history returns the history that the command adds to, or takes from.
func (c *command) history() history.Log { return history.Log{Rows: c.rows, State: &c.state} }

// name returns a key of the command's namespace, or why it is none.
func (c *command) name(key string) (layout.Name, error) {
	if key == "" {
		return layout.Name{}, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_KEY_EMPTY)
	}
	if len(key) > keyBytesMax {
		return layout.Name{}, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_KEY_TOO_LONG, len(key), keyBytesMax)
	}
	return layout.Name{NS: c.ns, Key: key}, nil
}

// checkTerm refuses a decision of a leader's timers that reached the log in another term.
func (c *command) checkTerm(decided uint64) error { return rule.CheckTerm(decided, c.term) }

// withinBudget does a part of the command that anybody can make as dear as he likes, and refuses it once it has read and
// written more than a command may. All such parts of a command share one budget. Under version 1 there is none.
func (c *command) withinBudget(do func() error) error {
	if !quota.HasCommandBudget(c.state.ClusterVersion) {
		return do()
	}
	if c.meter == nil {
		limits, err := c.effectiveLimits() // First: whether it reads a row is for the batch to know.
		if err != nil {
			return err
		}
		c.meter = &table.Meter{RowsMax: uint64(limits.GetCommandRowsMax()), BytesMax: limits.GetCommandBytesMax()}
	}
	c.rows.Meter = c.meter
	defer func() { c.rows.Meter = nil }()
	err := do()
	if over := c.meter.Over(); over != nil && (err == nil || rule.Of(err) != nil) {
		return over
	}
	return err
}

// needSpace refuses what makes the state grow once the store has reached the part of its limit that is for growth. It
// looks at the state as the command has left it so far, so a transaction may first delete and then put.
func (c *command) needSpace() error {
	limits, err := c.effectiveLimits()
	if err != nil || c.rows.Bytes < quota.GrowthBytesMax(limits) {
		return err
	}
	return storeFull(limits, c.rows.Bytes)
}

// storeFull returns the failure of what would make a full store grow.
func storeFull(limits *storev1.Limits, bytes uint64) error {
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_STORE_FULL,
		storev1.FailureDetail_FAILURE_DETAIL_STORE_IS_FULL, bytes, quota.GrowthBytesMax(limits))
	f.Failure.LimitName = "store_bytes_max"
	f.Failure.Limit = limits.GetStoreBytesMax()
	f.Failure.Actual = bytes
	return f
}

// needSpaceFor is needSpace for a value that comes with the release of a lock, which goes on in a full store: a value
// that is no longer than the one before needs no space.
func (c *command) needSpaceFor(old keyFacts, value []byte) error {
	if len(value) <= old.valueBytes {
		return nil
	}
	return c.needSpace()
}
