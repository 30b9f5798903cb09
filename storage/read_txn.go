package storage

import (
	"errors"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
)

// errTxnWrites means that a transaction that may write was to be answered without the log, which is a bug of the caller.
var errTxnWrites = errors.New("transaction may write")

// ReadsOnly reports whether no operation of a transaction can change anything, whichever of its lists runs. Reader.Txn
// answers such a transaction.
func ReadsOnly(t *storev1.Txn) bool {
	return !slices.ContainsFunc(t.GetThenOps(), writes) && !slices.ContainsFunc(t.GetElseOps(), writes)
}

// Txn answers the command of a transaction that reads only, with its guards, as Apply would at the revision of the snapshot.
// A request id has to be of a session that lives, at its epoch; neither it nor an idempotency key is looked up or remembered,
// because an attempt changes nothing and may as well be made again. It is bounded as by the newest cluster version, which
// other members have no part in.
func (r *Reader) Txn(cmd *storev1.Command) (*storev1.Result, error) {
	if !ReadsOnly(cmd.GetTxn()) {
		return nil, errTxnWrites
	}
	at, err := r.Applied()
	if err != nil {
		return nil, err
	}
	at.ClusterVersion = max(at.ClusterVersion, layout.Version2)
	w := newWork(r.rows.Disk, at)
	w.rows.Voids, w.rows.Index = r.rows.Voids, r.rows.Index
	result, err := w.readTxn(cmd)
	if failure := rule.At(w.state.ClusterVersion, err); failure != nil {
		return &storev1.Result{Revision: at.Revision, Failure: failure}, nil
	}
	if err != nil {
		return nil, err
	}
	result.Revision = at.Revision
	return result, nil
}

func (w *work) readTxn(cmd *storev1.Command) (*storev1.Result, error) {
	c := newCommand(w, w.state.Term, cmd)
	if _, err := memoryOf(cmd); err != nil {
		return nil, err
	}
	if id := cmd.GetRequestId(); id != nil {
		if _, err := c.sessions.session(&storev1.SessionRef{SessionId: id.GetSessionId(), Epoch: id.GetEpoch()}); err != nil {
			return nil, err
		}
	}
	return c.run(cmd)
}
