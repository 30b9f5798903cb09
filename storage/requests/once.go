package requests

import (
	"bytes"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/internal/invariants"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// digestBytes is the length of a digest of a request.
	digestBytes = 32
	// idempotencyKeyBytesMin and idempotencyKeyBytesMax bound idempotency keys: shorter ones meet by chance.
	idempotencyKeyBytesMin = 16
	idempotencyKeyBytesMax = 128
	// appliedNo says in a failure that no earlier attempt was applied.
	appliedNo = 2
	// pointReadsMax is how many requests are read one by one when they are done; more are scanned.
	pointReadsMax = 64
)

// Keeper remembers requests for a command, and forgets them.
type Keeper struct {
	Rows     *table.Overlay
	State    *layout.Applied
	Sum      *table.Checksum
	Keys     *KnownKeys // of the store; nil knows none
	Revision uint64     // that the command has if it emits events
	Command  Command
	// Gaps are those of the store; nil knows none.
	Gaps *Gaps
	// buried says that a request window became a tombstone.
	buried bool
}

// Command is what a Keeper asks of the command under way.
type Command interface {
	// Limits returns the limits in force; nobody may change them.
	Limits() (*storev1.Limits, error)
	// ActsAs returns why the command must not act as a session, or nil.
	ActsAs(ref *storev1.SessionRef) error
}

// Slot is where the result of a command that may be retried is kept.
type Slot interface {
	// Recall returns the remembered result of an earlier attempt, or nil. It refuses an attempt that must not run.
	Recall(k *Keeper) (*storev1.Result, error)
	// Remember keeps the result of the first attempt.
	Remember(k *Keeper, result *storev1.Result) error
	// Pass keeps what Recall learned of other requests, where the result of the attempt is not worth keeping.
	Pass(k *Keeper) error
}

// SlotOf returns where a command's result is kept; nil if it carries no request id and no idempotency key.
func SlotOf(cmd *storev1.Command) (Slot, error) {
	switch {
	case cmd.GetRequestId() == nil && len(cmd.GetIdempotencyKey()) == 0:
		return nil, nil //nolint:nilnil // Most commands have none, which is no error.
	case cmd.GetRequestId() != nil && len(cmd.GetIdempotencyKey()) > 0:
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_ID_AND_KEY)
	case len(cmd.GetRequestDigest()) != digestBytes:
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REQUEST_WITHOUT_DIGEST)
	case cmd.GetRequestId() == nil:
		if n := len(cmd.GetIdempotencyKey()); n < idempotencyKeyBytesMin || n > idempotencyKeyBytesMax {
			return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_IDEMPOTENCY_KEY_LENGTH,
				n, idempotencyKeyBytesMin, idempotencyKeyBytesMax)
		}
		return newKeyedMemory(cmd), nil
	}
	rid := cmd.GetRequestId()
	id, err := rule.SessionID(rid.GetSessionId())
	if err != nil {
		return nil, err
	}
	if rid.GetEpoch() == 0 || rid.GetSequence() == 0 || rid.GetDoneBelow() > rid.GetSequence() {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REQUEST_ID_BAD)
	}
	return &windowMemory{
		request: rid, session: id, digest: cmd.GetRequestDigest(), row: layout.WindowRow(id, rid.GetEpoch()), leavesWindows: leavesWindows(cmd),
	}, nil
}

// leavesWindows reports whether a command ends no session and no epoch, so that no request window closes while it runs.
func leavesWindows(cmd *storev1.Command) bool {
	switch cmd.GetKind().(type) {
	case *storev1.Command_Put, *storev1.Command_Delete, *storev1.Command_DeletePrefix, *storev1.Command_Txn,
		*storev1.Command_AcquireLock, *storev1.Command_CancelWait, *storev1.Command_ReleaseLock, *storev1.Command_Resign:
		return true
	}
	return false
}

// requestIn returns the request that a row remembers, or nil.
func requestIn(rows table.Reader, row []byte) (*storev1.RequestRecord, error) {
	value, ok, err := rows.Get(row)
	if err != nil || !ok {
		return nil, err
	}
	r := &storev1.RequestRecord{}
	if err := layout.Decode(value, r); err != nil {
		return nil, fmt.Errorf("remembered request: %w", err)
	}
	return r, nil
}

// recallRow returns the result that a row remembers of a request, or nil. Another request under the same id is refused.
func recallRow(rows table.Reader, row, digest []byte) (*storev1.Result, error) {
	r, err := requestIn(rows, row)
	if err == nil && r != nil && !same(r, digest) {
		err = anotherRequest()
	}
	if err != nil {
		return nil, err
	}
	return r.GetResult(), nil
}

// same reports whether a remembered request is the one with a digest.
func same(r *storev1.RequestRecord, digest []byte) bool { return bytes.Equal(r.GetDigest(), digest) }

// anotherRequest refuses a request under the id or key of another one.
func anotherRequest() error {
	return rule.Broken(storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED, storev1.FailureDetail_FAILURE_DETAIL_REQUEST_DIFFERS)
}

// encodeRequest returns what is remembered of a request. Caller is empty, except for a key whose row names it.
func encodeRequest(digest []byte, result *storev1.Result, caller string) ([]byte, error) {
	return layout.Encode(&storev1.RequestRecord{FormatVersion: layout.RecordFormat, Digest: digest, Result: result, Caller: caller})
}

// windowMemory keeps results under a session's request ids: the open window of its present epoch. What an earlier
// epoch, or the end of the session, left of a window still answers.
type windowMemory struct {
	request *storev1.RequestID
	session layout.SessionID
	digest  []byte
	row     []byte // of the window's head
	fresh   bool   // whether nothing was ever remembered of the request: its number is higher than all before, or was overtaken
	// leavesWindows says that the command closes no window, so that the head can be saved once, at its end.
	leavesWindows bool
	// raised is the head whose mark was raised and that is not saved yet; nil if there is none.
	raised *storev1.RequestWindowRecord
}

func (m *windowMemory) requestRow(sequence uint64) []byte {
	return layout.RequestRow(m.session, m.request.GetEpoch(), sequence)
}

func (m *windowMemory) Recall(k *Keeper) (*storev1.Result, error) {
	head, err := k.head(m.session, m.row)
	if err != nil {
		return nil, err
	}
	highest := head.GetHighestSequence()
	m.fresh = highest > 0 && m.request.GetSequence() > highest || k.Gaps.missing(m.row, highest, m.request.GetSequence())
	if !m.fresh || invariants.Enabled {
		result, recalled := recallRow(k.Rows, m.requestRow(m.request.GetSequence()), m.digest)
		invariants.That(!m.fresh || result == nil, "request %d of session %s is remembered, the highest is %d",
			m.request.GetSequence(), m.session, highest)
		if recalled != nil || result != nil {
			return result, recalled
		}
	}
	if invariants.Enabled {
		if err = records.VerifyWindow(k.Rows, m.session, head); err != nil {
			return nil, err
		}
	}
	live, err := m.live(k, head)
	if err != nil {
		return nil, err
	}
	if !live {
		return nil, m.tooLate(k, head)
	}
	if m.request.GetSequence() < head.GetDoneBelow() {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_REQUEST_ID_DONE,
			storev1.FailureDetail_FAILURE_DETAIL_REQUEST_BELOW_MARK,
			m.request.GetSequence(), head.GetDoneBelow())
		f.Failure.SessionId = m.session[:]
		return nil, f
	}
	if head == nil {
		head = &storev1.RequestWindowRecord{FormatVersion: layout.RecordFormat, Epoch: m.request.GetEpoch()}
	}
	if err = m.raiseMark(k, head); err != nil {
		return nil, err
	}
	if err = m.checkRoom(k, head); err != nil {
		if failed := m.Pass(k); failed != nil {
			return nil, failed
		}
	}
	return nil, err
}

// Pass saves a mark that was raised.
func (m *windowMemory) Pass(k *Keeper) error {
	if m.raised == nil {
		return nil
	}
	err := k.saveHead(m.row, m.raised)
	m.raised = nil
	k.Rows.Seal(k.Sum)
	return err
}

// live reports whether the request's epoch is the present one of a live session. A window that is open says so by itself: what ends a
// session, or its epoch, closes it.
func (m *windowMemory) live(k *Keeper, head *storev1.RequestWindowRecord) (bool, error) {
	open := head != nil && !head.GetTombstone()
	if open && !invariants.Enabled {
		return true, nil
	}
	r, err := records.LiveSession(k.Rows, m.session)
	if err != nil {
		return false, err
	}
	present := r != nil && r.GetEpoch() == m.request.GetEpoch()
	invariants.That(!open || present, "a window of epoch %d of session %s is open, and its epoch is over", m.request.GetEpoch(), m.session)
	return present, nil
}

// tooLate returns why a request under an epoch that is over is not applied, and whether it was before.
func (m *windowMemory) tooLate(k *Keeper, head *storev1.RequestWindowRecord) error {
	err := k.Command.ActsAs(&storev1.SessionRef{SessionId: m.session[:], Epoch: m.request.GetEpoch()})
	if f := rule.Of(err); f != nil && head != nil && m.request.GetSequence() >= head.GetDoneBelow() {
		f.Applied = appliedNo
	}
	return err
}

// raiseMark forgets the requests that the client says are done. That is no change that a failure takes back. From version 3 on, the mark
// is saved with what the command itself adds to the head.
func (m *windowMemory) raiseMark(k *Keeper, head *storev1.RequestWindowRecord) error {
	if m.request.GetDoneBelow() <= head.GetDoneBelow() {
		return nil
	}
	if err := m.forgetDone(k, head, m.request.GetDoneBelow()); err != nil {
		return err
	}
	head.DoneBelow = m.request.GetDoneBelow()
	if m.leavesWindows && k.State.ClusterVersion >= layout.Version3 {
		m.raised = head
	} else if err := k.saveHead(m.row, head); err != nil {
		return err
	}
	k.Rows.Seal(k.Sum)
	return nil
}

// forgetDone forgets the remembered requests below a number, and counts them off the head. The few that are done with one more request are
// mostly still in memory, where an iterator would have to look on disk. What they count is known from reading them, so nothing is read twice.
func (m *windowMemory) forgetDone(k *Keeper, head *storev1.RequestWindowRecord, below uint64) error {
	from := head.GetDoneBelow()
	if below-from > pointReadsMax {
		return m.forgetMany(k, head, below)
	}
	for sequence := from; sequence < below; sequence++ {
		row := m.requestRow(sequence)
		value, ok, err := k.Rows.Get(row)
		if err != nil {
			return err
		}
		if ok {
			k.forgetRequest(head, row, len(value))
		}
	}
	return nil
}

// forgetMany is forgetDone for a mark that moves far.
func (m *windowMemory) forgetMany(k *Keeper, head *storev1.RequestWindowRecord, below uint64) error {
	type result struct {
		row  []byte
		size int // of its value
	}
	var done []result
	err := k.Rows.Scan(m.requestRow(head.GetDoneBelow()), m.requestRow(below), func(row, value []byte) (bool, error) {
		done = append(done, result{bytes.Clone(row), len(value)})
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, r := range done {
		k.forgetRequest(head, r.row, r.size)
	}
	return nil
}

// forgetRequest forgets a remembered request whose value has a size, and counts it off the head of its window. The row belongs to the rows from then on.
func (k *Keeper) forgetRequest(head *storev1.RequestWindowRecord, row []byte, size int) {
	k.Rows.RemoveSized(row, uint64(len(row)+size))
	head.Requests--
	head.Bytes -= uint64(size)
}

// checkRoom refuses a request when too many are open, but never the oldest: the mark waits for its answer, so the window
// would stay full for ever. It may go over the limits by that one.
func (m *windowMemory) checkRoom(k *Keeper, head *storev1.RequestWindowRecord) error {
	if m.request.GetSequence() <= max(head.GetDoneBelow(), 1) {
		return nil
	}
	limits, err := k.Command.Limits()
	if err != nil {
		return err
	}
	limit, value := "request_window_max", uint64(limits.GetRequestWindowMax())
	switch {
	case head.GetRequests() >= limits.GetRequestWindowMax():
	case head.GetBytes() >= limits.GetRequestWindowBytesMax():
		limit, value = "request_window_bytes_max", limits.GetRequestWindowBytesMax()
	default:
		return nil
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_REQUEST_WINDOW_FULL,
		storev1.FailureDetail_FAILURE_DETAIL_REQUESTS_TOO_MANY,
		m.session, max(head.GetDoneBelow(), 1))
	f.Failure.SessionId = m.session[:]
	f.Failure.LimitName, f.Failure.Limit = limit, value
	return f
}

func (m *windowMemory) Remember(k *Keeper, result *storev1.Result) error {
	value, err := encodeRequest(m.digest, result, "")
	if err != nil {
		return err
	}
	epoch := m.request.GetEpoch()
	head, err := m.headNow(k)
	if err != nil {
		return err
	}
	before := head
	if head == nil {
		head = &storev1.RequestWindowRecord{FormatVersion: layout.RecordFormat, Epoch: epoch}
	}
	k.Gaps.remembered(m.row, head.GetHighestSequence(), m.request.GetSequence())
	if k.State.ClusterVersion >= layout.Version2 && (head.GetRequests() == 0 || head.GetHighestSequence() > 0) {
		head.HighestSequence = max(head.GetHighestSequence(), m.request.GetSequence())
	}
	head.Requests++
	head.Bytes += uint64(len(value))
	if row := m.requestRow(m.request.GetSequence()); m.fresh {
		k.Rows.InsertHot(row, value)
	} else {
		k.Rows.Set(row, value)
	}
	if err = k.saveHead(m.row, head); err != nil {
		return err
	}
	m.raised = nil
	if head.GetTombstone() {
		k.State.TombstoneBytes += uint64(len(value))
		return nil
	}
	live, err := m.live(k, before)
	if err != nil || live {
		return err
	}
	if err = k.BuryWindow(m.session, epoch); err != nil {
		return err
	}
	return k.ForgetBuried()
}

// headNow returns the window's head as the command leaves it, or nil.
func (m *windowMemory) headNow(k *Keeper) (*storev1.RequestWindowRecord, error) {
	if m.raised == nil {
		return k.head(m.session, m.row)
	}
	if invariants.Enabled {
		reads := k.Rows.Reads
		saved, err := k.head(m.session, m.row)
		k.Rows.Reads = reads
		if err != nil {
			return nil, err
		}
		invariants.That(saved.GetDoneBelow() < m.raised.GetDoneBelow() && !saved.GetTombstone(),
			"the window of session %s was written by a command that leaves windows", m.session)
	}
	return m.raised, nil
}

// window returns the head of a request window, or nil.
func (k *Keeper) window(id layout.SessionID, epoch uint64) (*storev1.RequestWindowRecord, error) {
	return k.head(id, layout.WindowRow(id, epoch))
}

// head returns what the head row of a session's window holds, or nil.
func (k *Keeper) head(id layout.SessionID, row []byte) (*storev1.RequestWindowRecord, error) {
	value, ok, err := k.Rows.Get(row)
	if err != nil || !ok {
		return nil, err
	}
	head := &storev1.RequestWindowRecord{}
	if err := layout.Decode(value, head); err != nil {
		return nil, fmt.Errorf("request window of session %s: %w", id, err)
	}
	return head, nil
}

// saveHead writes a head; the row belongs to the rows from then on, and nobody may change it.
func (k *Keeper) saveHead(row []byte, head *storev1.RequestWindowRecord) error {
	value, err := layout.Encode(head)
	if err != nil {
		return err
	}
	k.Rows.Set(row, value)
	return nil
}
