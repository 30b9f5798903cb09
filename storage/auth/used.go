package auth

import (
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// UsedMax is how many tokens one command says to have been used.
const UsedMax = 1000

// Day returns the day of an instant in milliseconds since the Unix epoch, in days since then, UTC.
func Day(wallMs int64) uint32 { return uint32(max(wallMs, 0) / (24 * time.Hour).Milliseconds()) }

// markUsed writes the day into the tokens that it is later for. What is gone stays gone.
func (c *Change) markUsed(u *storev1.TokensUsed) error {
	if u.GetDay() == 0 || u.GetDay() > Day(c.WallMs)+1 {
		return malformed("day")
	}
	if len(u.GetAccessors()) == 0 || len(u.GetAccessors()) > UsedMax {
		return malformed("accessors")
	}
	for _, accessor := range u.GetAccessors() {
		if len(accessor) != AccessorBytes {
			return malformed("accessors")
		}
		record, err := readToken(c.Rows, accessor)
		if err != nil {
			return err
		}
		if record == nil || record.GetLastUsedDay() >= u.GetDay() {
			continue
		}
		record.LastUsedDay = u.GetDay()
		if err = c.write(tokenRow(accessor), record); err != nil {
			return err
		}
	}
	return nil
}
