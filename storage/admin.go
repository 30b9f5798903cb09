package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// endFreeze lets grants go on after a restore, and grants what waited for it.
func (c *command) endFreeze(e *storev1.EndFreeze) (*storev1.Result, error) {
	if e.GetTerm() != 0 {
		if err := c.checkTerm(e.GetTerm()); err != nil {
			return nil, err
		}
	}
	frozen, err := isFrozen(c.rows)
	if err != nil || !frozen {
		return &storev1.Result{}, err
	}
	c.rows.remove([]byte{rowFreeze})
	return &storev1.Result{}, c.grantLeft()
}
