package identity

import (
	"errors"
	"fmt"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/core"
	"github.com/tenure-io/tenure/raftnode/snapshots"
	"github.com/tenure-io/tenure/raftnode/transfer"
	"github.com/tenure-io/tenure/raftnode/transport"
	"github.com/tenure-io/tenure/storage"
)

// refusedSnapshot returns what a sender is told of a snapshot that is not taken. Errors of this member's own disk stay as
// they are.
func refusedSnapshot(err error) error {
	for _, c := range []struct{ err, kind error }{
		{snapshots.ErrNotNeeded, transport.ErrNotNow},
		{transfer.ErrSuperseded, transport.ErrNotNow},
		{snapshots.ErrNoRoom, transport.ErrTryAgain},
		{core.ErrStopped, transport.ErrTryAgain},
		{snapshots.ErrMismatch, transport.ErrMalformed},
		{checkpoint.ErrInvalid, transport.ErrMalformed},
		{transfer.ErrBadChunk, transport.ErrMalformed},
		{transfer.ErrIncomplete, transport.ErrMalformed},
		{storage.ErrUnknownFormat, transport.ErrMalformed},
	} {
		if errors.Is(err, c.err) {
			return fmt.Errorf("%w: %w", c.kind, err)
		}
	}
	return err
}
