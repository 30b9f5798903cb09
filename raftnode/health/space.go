package health

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode/datadir"
)

// Options says when a member is in danger. The zero value is good.
type Options struct {
	// DiskFreeMin is the free space of the data directory's disk below which nothing is taken that makes the state grow; 0
	// is 512 MiB. It ends by itself when an eighth more is free.
	DiskFreeMin uint64
	// ReserveBytes is the size of a file that only holds space. It is given up when a member starts on a full disk, so
	// that it can go on with what frees some, and made again later; 0 is 64 MiB.
	ReserveBytes uint64
	// CheckEvery is how often free space is looked at; 0 is 1 s.
	CheckEvery time.Duration
	// CompareEvery is how often members compare checksums of their states; 0 is 5 s.
	CompareEvery time.Duration
}

const (
	diskFreeMinDefault  = 512 << 20
	reserveBytesDefault = 64 << 20
	checkEveryDefault   = time.Second
	compareEveryDefault = 5 * time.Second
	// reserveRetry is how long a member waits that could not make its reserve: some file systems cannot hold space.
	reserveRetry = 10 * time.Minute
	// startPart is how much of the reserve has to be free for a start.
	startPart = 2
)

// SetDefaults sets what is zero to what it stands for.
func (o *Options) SetDefaults() {
	if o.DiskFreeMin == 0 {
		o.DiskFreeMin = diskFreeMinDefault
	}
	if o.ReserveBytes == 0 {
		o.ReserveBytes = reserveBytesDefault
	}
	if o.CheckEvery == 0 {
		o.CheckEvery = checkEveryDefault
	}
	if o.CompareEvery == 0 {
		o.CompareEvery = compareEveryDefault
	}
}

// ErrDiskFull says that a disk of the cluster has too little room for what makes the state grow. What frees some, and
// renewals and expiries, go on.
var ErrDiskFull = errors.New("too little room on the disk")

// Reserve is a file that only holds space. It is written past the guard: no room for it is no failure.
type Reserve struct {
	fs   vfs.FS
	path string
	size uint64
}

// release gives the space free.
func (r Reserve) release() error {
	if err := r.fs.Remove(r.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("give up the reserve: %w", err)
	}
	return nil
}

// take makes the file if it is missing. A file system that cannot hold space without writing it gets an empty one.
func (r Reserve) take() error {
	if _, err := r.fs.Stat(r.path); err == nil {
		return nil
	}
	f, err := r.fs.Create(r.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("make the reserve: %w", err)
	}
	err = f.Preallocate(0, int64(r.size))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("make the reserve: %w", err), r.release())
	}
	return nil
}

// ReserveOf returns the reserve of a data directory.
func ReserveOf(o Options, guard *datadir.Guard, dir *datadir.Dir) Reserve {
	return Reserve{fs: guard.Unwrap(), path: dir.ReservePath(), size: o.ReserveBytes}
}

// AwaitSpace waits until there is enough room to start in the directory, looking as often as given. On a full disk it gives up
// the reserve first.
func (r Reserve) AwaitSpace(ctx context.Context, dir string, every time.Duration, log *zap.Logger) error {
	need := r.size / startPart
	for waits := false; ; waits = true {
		usage, err := r.fs.GetDiskUsage(dir)
		if err != nil || usage.AvailBytes >= need {
			return nil //nolint:nilerr // A file system that does not tell has room until a write fails.
		}
		if err = r.release(); err != nil {
			return err
		}
		if usage, err = r.fs.GetDiskUsage(dir); err != nil || usage.AvailBytes >= need {
			log.Warn("gave up the reserve to start on a full disk", zap.String("dir", dir))
			return nil //nolint:nilerr // As above.
		}
		if !waits {
			log.Error("waits for room on the disk to start", zap.String("dir", dir),
				zap.Uint64("free_bytes", usage.AvailBytes), zap.Uint64("needed_bytes", need))
		}
		again := time.NewTimer(every)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		}
	}
}

// WatchSpace looks at the free space until ctx ends.
func (h *Watch) WatchSpace(ctx context.Context) {
	tick := time.NewTicker(h.o.CheckEvery)
	defer tick.Stop()
	for {
		h.lookAtSpace()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (h *Watch) lookAtSpace() {
	dir := h.m.Dir
	usage, err := dir.FS().GetDiskUsage(dir.Path())
	if err != nil {
		return
	}
	free, least := usage.AvailBytes, h.o.DiskFreeMin
	h.free.Store(free)
	switch low := h.low.Load(); {
	case !low && free < least:
		h.low.Store(true)
		h.log.Error("too little room on the disk: nothing is taken that makes the state grow",
			zap.Uint64("free_bytes", free), zap.Uint64("disk_free_min_bytes", least))
	case low && free >= least+least/8:
		h.low.Store(false)
		h.log.Info("there is room on the disk again", zap.Uint64("free_bytes", free))
	}
	if r := ReserveOf(h.o, h.m.Guard, dir); free >= least+least/8+r.size && !time.Now().Before(h.reserveAt) {
		if err := r.take(); err != nil {
			h.reserveAt = time.Now().Add(reserveRetry)
			h.log.Debug("no reserve", zap.Error(err))
		}
	}
}

// grows reports whether a command can make the state grow for good. What ends, frees, deletes or administrates does not, and neither does
// what only reports on what is there, which isReport says.
func grows(c *storev1.Command, isReport func(node []byte, check *storev1.Check) bool) bool {
	switch kind := c.GetKind().(type) {
	case *storev1.Command_CreateSession, *storev1.Command_AcquireLock, *storev1.Command_RegisterNode, *storev1.Command_PutQuery:
		return true
	case *storev1.Command_Put:
		return kind.Put.GetRelease() == nil
	case *storev1.Command_Txn:
		return slices.ContainsFunc(kind.Txn.GetThenOps(), opGrows) || slices.ContainsFunc(kind.Txn.GetElseOps(), opGrows)
	case *storev1.Command_SyncNode:
		s := kind.SyncNode
		return s.GetNode() != nil || len(s.GetServices()) > 0 ||
			slices.ContainsFunc(s.GetChecks(), func(k *storev1.Check) bool { return !isReport(s.GetNodeId(), k) })
	case *storev1.Command_ChangeAuth:
		return authGrows(kind.ChangeAuth)
	default:
		return false
	}
}

func opGrows(op *storev1.Op) bool {
	switch kind := op.GetKind().(type) {
	case *storev1.Op_AcquireLock:
		return true
	case *storev1.Op_Put:
		return kind.Put.GetRelease() == nil
	case *storev1.Op_Catalog:
		switch kind.Catalog.GetKind().(type) {
		case *storev1.CatalogOp_PutNode, *storev1.CatalogOp_PutService, *storev1.CatalogOp_PutCheck:
			return true
		}
	}
	return false
}

// authGrows reports whether a change of rights makes an object. The first token, and another one in its place, let an operator in who
// may free some room.
func authGrows(c *storev1.ChangeAuth) bool {
	switch c.GetChange().(type) {
	case *storev1.ChangeAuth_PutPolicy, *storev1.ChangeAuth_CreateToken, *storev1.ChangeAuth_PutBinding, *storev1.ChangeAuth_PutProvider:
		return true
	default:
		return false
	}
}

// isReport reports whether all that an agent says of a check is new in its status and its output: the check is there, and is otherwise the same.
func (h *Watch) isReport(node []byte, check *storev1.Check) bool {
	r := h.m.Store().NewReader()
	defer func() { _ = r.Close() }()
	name, found, err := r.NodeWithID(node)
	if err != nil || !found {
		return false
	}
	record, found, err := r.Check(name, check.GetCheckId())
	if err != nil || !found {
		return false
	}
	same := proto.CloneOf(record.GetCheck())
	same.Status, same.Output = check.GetStatus(), check.GetOutput()
	return proto.Equal(same, check)
}
