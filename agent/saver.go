package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tenure-io/tenure/agent/keep"
	"github.com/tenure-io/tenure/agent/registry"
)

// saveAgain is when a write is tried again that failed.
const saveAgain = 10 * time.Second

// saver keeps on disk what calls registered.
type saver struct {
	dir      *keep.Dir
	registry *registry.Registry
	log      *zap.Logger
	// dirty: what is on disk may be old.
	dirty atomic.Bool
	// wake has room for one, so that mark never waits.
	wake chan struct{}
	// mu lets one write at a time.
	mu sync.Mutex
}

func newSaver(dir *keep.Dir, r *registry.Registry, log *zap.Logger) *saver {
	return &saver{dir: dir, registry: r, log: log, wake: make(chan struct{}, 1)}
}

// mark notes that what calls registered is another. It never waits.
func (s *saver) mark() {
	s.dirty.Store(true)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// clean notes that what is on disk is right.
func (s *saver) clean() { s.dirty.Store(false) }

// save returns once all that was marked before is on disk.
func (s *saver) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty.Swap(false) {
		return nil
	}
	if err := s.dir.SetRegistered(s.registry.Registered()); err != nil {
		s.dirty.Store(true)
		return err
	}
	return nil
}

// run writes what no call waits for: a service that the agent itself removed, and what could not be written before.
func (s *saver) run(ctx context.Context) error {
	timer := time.NewTimer(saveAgain)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		case <-timer.C:
		}
		if err := s.save(); err != nil {
			s.log.Error("what is registered could not be written", zap.Error(err))
		}
		timer.Reset(saveAgain)
	}
}
