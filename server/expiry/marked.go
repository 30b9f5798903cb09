package expiry

import (
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// endMarked goes on where a command that ended a node or a check had no room for all its sessions, or was a transaction.
func (l *leader) endMarked(time.Duration) *storev1.Command {
	if l.timers.endMarks.Load() == 0 {
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_EndMarked{EndMarked: &storev1.EndMarked{Term: l.term.number}}}
}
