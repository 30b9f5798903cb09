package machine

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// SessionRecord returns the record of a session, as commands share it.
func (w *Work) SessionRecord(id layout.SessionID) (*storev1.SessionRecord, error) {
	return w.sessionRecord(id)
}

// Gather finds what a session has, as a command does that ends it, and ends nothing.
func (w *Work) Gather(id layout.SessionID) error {
	c := newCommand(w, 1, &storev1.Command{})
	_, err := newGathering(c.sessions).take(id, sessionEnd{})
	return err
}
