package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/records"
)

// keyGoes says whether a key that the grant of an acquire makes without a value goes with the last use of the lock.
func (c keyVerbs) keyGoes(a *storev1.AcquireLock) bool {
	return c.state.ClusterVersion >= layout.Version2 && !a.GetKeepKey()
}

// noteIdle notes that nobody uses a lock. At the end of the command somebody may.
func (c keyVerbs) noteIdle(n layout.Name) {
	if c.isIdle[n] {
		return
	}
	if c.isIdle == nil {
		c.isIdle = make(map[layout.Name]bool)
	}
	c.isIdle[n] = true
	c.idle = append(c.idle, n)
}

// dropUnused deletes the keys that only a lock had made and that nobody uses any more, once all operations and grants of
// the command are done, in the order in which their locks fell idle.
func (c keyVerbs) dropUnused() error {
	if c.state.ClusterVersion < layout.Version2 {
		return nil
	}
	idle := c.idle
	c.idle = nil
	for _, n := range idle {
		if c.unmoved[n] {
			continue // Whoever moves the key looks then.
		}
		k, err := c.briefFacts(n)
		if err != nil {
			return err
		}
		if !k.record.GetMadeByLock() {
			continue
		}
		head, err := records.LockHead(c.rows, n)
		if err != nil {
			return err
		}
		if !records.IsIdle(head) {
			continue
		}
		if err = c.deleteRecord(n, k, &storev1.KeyDeleted{Unused: true}); err != nil {
			return err
		}
	}
	return nil
}
