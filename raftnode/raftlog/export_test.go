package raftlog

// DeleteEntry tears a hole.
func DeleteEntry(b *Batch, index uint64) {
	if err := b.b.Delete(entryKey(index), nil); err != nil {
		panic(err)
	}
}

// RaiseFormat makes the log look as if a newer program had written it.
func RaiseFormat(l *Log) error {
	b := l.db.NewBatch()
	if err := b.Set(formatKey, []byte{formatVersion + 1}, nil); err != nil {
		return err
	}
	return l.commit(b, true)
}

// WALChecksum is the checksum of a chunk of Pebble's write-ahead log.
var WALChecksum = walChecksum
