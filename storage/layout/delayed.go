package layout

import (
	"encoding/binary"
	"fmt"
)

// DelayHeadBytes is the length of what each row of a delayed hold begins with: its fencing token, and the milliseconds of its
// lock-delay. From version 2 on its record follows, so that delayed holds do not stand among the valid ones, nor those among
// them. A hold that was lost before the raise keeps its record among the valid holds until its delay ends.
const DelayHeadBytes = 16

// DelayedRow is the value of a delayed hold's row.
type DelayedRow struct {
	Token   uint64
	DelayMs int64
	Record  []byte // part of the value; empty where the record stands among the valid holds
}

// CutDelayedRow reads the value of a delayed hold's row.
func CutDelayedRow(value []byte) (DelayedRow, error) {
	if len(value) < DelayHeadBytes {
		return DelayedRow{}, fmt.Errorf("%w: %d bytes of a delayed hold", ErrCorrupt, len(value))
	}
	return DelayedRow{
		Token:   binary.BigEndian.Uint64(value),
		DelayMs: int64(binary.BigEndian.Uint64(value[8:])),
		Record:  value[DelayHeadBytes:],
	}, nil
}
