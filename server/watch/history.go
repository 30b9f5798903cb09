package watch

import (
	"errors"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// FromStore returns the history that a store keeps. Each walk sees one snapshot.
func FromStore(store func() *storage.Store) History {
	return func(after Position, visit func(*storev1.Event) bool) (revision uint64, err error) {
		r := store().NewReader()
		defer func() { err = errors.Join(err, r.Close()) }()
		at, err := r.Applied()
		if err != nil {
			return 0, err
		}
		next := Position{Revision: after.Revision, Index: after.Index + 1}
		if after.Index == Whole {
			next = Position{Revision: after.Revision + 1}
		}
		if next.Revision > at.Revision {
			return at.Revision, nil
		}
		walk, err := r.History(next.Revision, next.Index)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, walk.Close()) }()
		for walk.Next() {
			if !visit(walk.Event()) {
				break
			}
		}
		return at.Revision, walk.Err()
	}
}
