package raftlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/internal/database"
	"github.com/tenure-io/tenure/internal/manifest"
)

// checkManifest looks whether the MANIFEST of the log can be read. Pebble takes one that is damaged for that of an older log,
// and removes the tables of the newer one. Where the last record cannot be read, after a crash or because it is damaged, the
// log is read as Pebble would open it, and nothing is written.
func checkManifest(o Options) error {
	end, err := manifest.Check(o.FS, o.Dir)
	if _, damaged := errors.AsType[*manifest.DamagedError](err); damaged {
		return fmt.Errorf("open raft log: %w: %w", ErrCorrupt, err)
	}
	if err != nil || !end.Torn {
		return err
	}
	o.Logger.Warn("the end of the raft log's MANIFEST cannot be read: a crash interrupted its last write, or it is damaged",
		zap.String("file", end.Path), zap.Int64("offset", end.Offset))
	if err = o.rehearse(); err != nil {
		return fmt.Errorf("open raft log: %s: it cannot be read at offset %d, and what comes before does not fit: %w", end.Path, end.Offset, err)
	}
	return nil
}

// rehearse opens the log for reading only, and reads what Open would. A missing table is damage: a crash tears a record before what it replaces is
// removed.
func (o Options) rehearse() error {
	db, err := database.Open(o.Dir, &pebble.Options{
		FS: o.FS, ReadOnly: true, FormatMajorVersion: pebbleFormat, MemTableSize: o.MemTableSize,
		Logger: pebbleLogger{log: o.Logger, failed: func(error) {}},
	}, ErrCorrupt)
	if err != nil {
		return err
	}
	l := &Log{db: db, failed: make(chan struct{}), tail: tail{bytesMax: o.TailBytesMax, entriesMax: o.TailEntriesMax}}
	v, err := l.get(formatKey)
	if err == nil && v == nil {
		err = o.checkFresh()
	} else if err == nil {
		err = l.load()
	}
	return errors.Join(err, database.Close(db))
}

// checkFresh reports whether a log without its format record may be one that was just made. Whatever was in a table once
// stays in a table, or in the write-ahead log.
func (o Options) checkFresh() error {
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return fmt.Errorf("list raft log: %w", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			return fmt.Errorf("%w: the format record is missing, though there is %s", ErrCorrupt, name)
		}
	}
	return nil
}
