package machine

import (
	"bytes"
	"fmt"
	"slices"

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
)

// memory is where the result of a command that may be retried is kept.
type memory interface {
	// recall returns the remembered result of an earlier attempt, or nil. It refuses an attempt that must not run.
	recall(c *command) (*storev1.Result, error)
	// remember keeps the result of the first attempt.
	remember(c *command, result *storev1.Result) error
}

// memoryOf returns where a command's result is kept; nil if it carries no request id and no idempotency key.
func memoryOf(cmd *storev1.Command) (memory, error) {
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
		return &keyedMemory{row: keyedRow(cmd.GetPrincipal(), cmd.GetIdempotencyKey()), digest: cmd.GetRequestDigest()}, nil
	}
	rid := cmd.GetRequestId()
	id, err := sessionID(rid.GetSessionId())
	if err != nil {
		return nil, err
	}
	if rid.GetEpoch() == 0 || rid.GetSequence() == 0 || rid.GetDoneBelow() > rid.GetSequence() {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_REQUEST_ID_BAD)
	}
	return &windowMemory{request: rid, session: id, digest: cmd.GetRequestDigest()}, nil
}

// remembers says whether the result of a command is worth keeping. What only reads may as well be done again, and so may
// what failed because the store is full: nothing was done, and remembering that would make it fuller.
func remembers(cmd *storev1.Command, result *storev1.Result) bool {
	if result.GetFailure().GetReason() == storev1.FailureReason_FAILURE_REASON_STORE_FULL {
		return false
	}
	txn, ok := cmd.GetKind().(*storev1.Command_Txn)
	return !ok || slices.ContainsFunc(txn.Txn.GetThenOps(), writes) || slices.ContainsFunc(txn.Txn.GetElseOps(), writes)
}

// recallRow returns what a row remembers of a request, or nil. Another request under the same id is refused.
func recallRow(rows table.Reader, row, digest []byte) (*storev1.Result, error) {
	value, ok, err := rows.Get(row)
	if err != nil || !ok {
		return nil, err
	}
	r := &storev1.RequestRecord{}
	if err := layout.Decode(value, r); err != nil {
		return nil, fmt.Errorf("remembered request: %w", err)
	}
	if !bytes.Equal(r.GetDigest(), digest) {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED, storev1.FailureDetail_FAILURE_DETAIL_REQUEST_DIFFERS)
	}
	return r.GetResult(), nil
}

func encodeRequest(digest []byte, result *storev1.Result) ([]byte, error) {
	return layout.Encode(&storev1.RequestRecord{FormatVersion: layout.RecordFormat, Digest: digest, Result: result})
}

// windowMemory keeps results under a session's request ids: the open window of its present epoch. What an earlier
// epoch, or the end of the session, left of a window still answers.
type windowMemory struct {
	request *storev1.RequestID
	session layout.SessionID
	digest  []byte
}

func (m *windowMemory) row() []byte {
	return layout.RequestRow(m.session, m.request.GetEpoch(), m.request.GetSequence())
}

func (m *windowMemory) recall(c *command) (*storev1.Result, error) {
	head, err := c.window(m.session, m.request.GetEpoch())
	if err != nil {
		return nil, err
	}
	result, err := recallRow(c.rows, m.row(), m.digest)
	if err != nil || result != nil {
		return result, err
	}
	if invariants.Enabled {
		if err = records.VerifyWindow(c.rows, m.session, head); err != nil {
			return nil, err
		}
	}
	r, err := c.sessionRecord(m.session)
	if err != nil {
		return nil, err
	}
	if r == nil || r.GetEpoch() != m.request.GetEpoch() {
		return nil, m.tooLate(c, head)
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
	if err = m.raiseMark(c, head); err != nil {
		return nil, err
	}
	return nil, m.checkRoom(c, head)
}

// tooLate returns why a request under an epoch that is over is not applied, and whether it was before.
func (m *windowMemory) tooLate(c *command, head *storev1.RequestWindowRecord) error {
	_, err := c.sessions.session(&storev1.SessionRef{SessionId: m.session[:], Epoch: m.request.GetEpoch()})
	if f := rule.Of(err); f != nil && head != nil && m.request.GetSequence() >= head.GetDoneBelow() {
		f.Applied = appliedNo
	}
	return err
}

// raiseMark forgets the requests that the client says are done. That is no change that a failure takes back.
func (m *windowMemory) raiseMark(c *command, head *storev1.RequestWindowRecord) error {
	if m.request.GetDoneBelow() <= head.GetDoneBelow() {
		return nil
	}
	from := layout.RequestRow(m.session, head.GetEpoch(), head.GetDoneBelow())
	to := layout.RequestRow(m.session, head.GetEpoch(), m.request.GetDoneBelow())
	var done [][]byte
	err := c.rows.Scan(from, to, func(row, value []byte) (bool, error) {
		done = append(done, bytes.Clone(row))
		head.Bytes -= uint64(len(value))
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, row := range done {
		c.rows.Remove(row)
	}
	head.Requests -= uint32(len(done))
	head.DoneBelow = m.request.GetDoneBelow()
	if err := c.memory.saveWindow(m.session, head); err != nil {
		return err
	}
	c.rows.Seal(c.sum)
	return nil
}

// checkRoom refuses a request when too many are open, but never the oldest: the mark waits for its answer, so the window
// would stay full for ever. It may go over the limits by that one.
func (m *windowMemory) checkRoom(c *command, head *storev1.RequestWindowRecord) error {
	if m.request.GetSequence() <= max(head.GetDoneBelow(), 1) {
		return nil
	}
	limits, err := c.effectiveLimits()
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

func (m *windowMemory) remember(c *command, result *storev1.Result) error {
	value, err := encodeRequest(m.digest, result)
	if err != nil {
		return err
	}
	epoch := m.request.GetEpoch()
	head, err := c.window(m.session, epoch)
	if err != nil {
		return err
	}
	if head == nil {
		head = &storev1.RequestWindowRecord{FormatVersion: layout.RecordFormat, Epoch: epoch}
	}
	head.Requests++
	head.Bytes += uint64(len(value))
	c.rows.Set(m.row(), value)
	if head.GetTombstone() {
		c.state.TombstoneBytes += uint64(len(value))
		return c.memory.saveWindow(m.session, head)
	}
	if err = c.memory.saveWindow(m.session, head); err != nil {
		return err
	}
	r, err := c.sessionRecord(m.session)
	if err != nil || r.GetEpoch() == epoch {
		return err
	}
	if err = c.memory.buryWindow(m.session, epoch); err != nil {
		return err
	}
	return c.memory.forgetBuried()
}

// window returns the head of a request window, or nil.
func (w *Work) window(id layout.SessionID, epoch uint64) (*storev1.RequestWindowRecord, error) {
	value, ok, err := w.rows.Get(layout.WindowRow(id, epoch))
	if err != nil || !ok {
		return nil, err
	}
	head := &storev1.RequestWindowRecord{}
	if err := layout.Decode(value, head); err != nil {
		return nil, fmt.Errorf("request window of session %s: %w", id, err)
	}
	return head, nil
}

func (c memoryVerbs) saveWindow(id layout.SessionID, head *storev1.RequestWindowRecord) error {
	value, err := layout.Encode(head)
	if err != nil {
		return err
	}
	c.rows.Set(layout.WindowRow(id, head.GetEpoch()), value)
	return nil
}
