package expiry

import (
	"errors"
	"time"

	"go.uber.org/zap"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// freeze is the time for which nothing is granted after a restore. As all timers it starts again in full with a term.
type freeze struct {
	deadline time.Duration // lease time
}

// loadFreeze starts the timer of a freeze, if the snapshot shows one.
func loadFreeze(tm *term, s Snapshot, lease time.Duration) error {
	record, frozen, err := s.Freeze()
	if err != nil || !frozen {
		return err
	}
	tm.freeze.Store(&freeze{deadline: lease + ms(record.GetFreezeMs())})
	return nil
}

// endFreeze lets grants go on when the freeze has run.
func (l *leader) endFreeze(lease time.Duration) *storev1.Command {
	f := l.term.freeze.Load()
	if f == nil || f.deadline > lease || !l.stillFrozen() {
		return nil
	}
	return &storev1.Command{Kind: &storev1.Command_EndFreeze{EndFreeze: &storev1.EndFreeze{Term: l.term.number}}}
}

func (l *leader) freezeEnded(*storev1.Result) {
	l.term.freeze.Store(nil)
	l.timers.log.Info("the freeze has run; locks are granted again", zap.Uint64("term", l.term.number))
}

// stillFrozen looks whether an operator has ended the freeze, which no event tells.
func (l *leader) stillFrozen() bool {
	s := l.timers.snapshot()
	_, frozen, err := s.Freeze()
	if err = errors.Join(err, s.Close()); err != nil {
		l.timers.log.Warn("whether grants are frozen is not to be read", zap.Error(err))
		return true
	}
	if !frozen {
		l.term.freeze.Store(nil)
	}
	return frozen
}

// FreezeLeft returns how long grants stay frozen after a restore. It is false if they are not, and where only the leader
// knows.
func (t *Timers) FreezeLeft() (time.Duration, bool) {
	term := t.terms.Load()
	if term == nil {
		return 0, false
	}
	f := term.freeze.Load()
	if f == nil {
		return 0, false
	}
	return max(f.deadline-t.lease(), 0), true
}
