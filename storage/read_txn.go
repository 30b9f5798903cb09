package storage

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/machine"
)

// errTxnWrites means that a transaction that may write was to be answered without the log, which is a bug of the caller.
var errTxnWrites = errors.New("transaction may write")

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
	return machine.ReadTxn(r.rows, at, cmd)
}
