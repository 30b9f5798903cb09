package storage

import (
	"encoding/binary"
	"fmt"
)

// delayHeadBytes is the length of what each row of a delayed hold begins with: its fencing token, and the milliseconds of its
// lock-delay. From version 2 on its record follows, so that delayed holds do not stand among the valid ones, nor those among
// them. A hold that was lost before the raise keeps its record among the valid holds until its delay ends.
const delayHeadBytes = 16

// delayedRow is the value of a delayed hold's row.
type delayedRow struct {
	token   uint64
	delayMs int64
	record  []byte // part of the value; empty where the record stands among the valid holds
}

// cutDelayedRow reads the value of a delayed hold's row.
func cutDelayedRow(value []byte) (delayedRow, error) {
	if len(value) < delayHeadBytes {
		return delayedRow{}, fmt.Errorf("%w: %d bytes of a delayed hold", ErrCorrupt, len(value))
	}
	return delayedRow{
		token:   binary.BigEndian.Uint64(value),
		delayMs: int64(binary.BigEndian.Uint64(value[8:])),
		record:  value[delayHeadBytes:],
	}, nil
}
