package raftnode

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tenure-io/tenure/raftnode/transport"
)

// ErrStartBehind says that a directory has counted further already.
var ErrStartBehind = errors.New("the directory has counted further already")

// StartAfter makes the next start on the data directory of a stopped member count as the one after a given start. It is for
// when other members know a later start that was not this member's, and so take the directory for an old copy. Nothing but
// the operator's word says that it is none.
func StartAfter(fs vfs.FS, dir string, start uint64) (err error) {
	o := Options{FS: ownedFS(fs, dir), Dir: dir}
	o.setDefaults()
	defer func() {
		if err != nil {
			err = fmt.Errorf("count starts of %s from %d: %w", dir, start, err)
		}
	}()
	if _, err = o.FS.Stat(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrNothingToRecover, err)
	}
	d, known, err := identify(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if !known {
		return ErrNothingToRecover
	}
	last := transport.StartsOf(start)
	if last < d.identity.Starts {
		return fmt.Errorf("%w: its last start is %d", ErrStartBehind, transport.StartOf(d.identity.Starts))
	}
	// Others have met that start, so the next one counts on.
	d.identity.Starts, d.identity.Met = last, true
	return d.dir.WriteIdentity(d.identity)
}
