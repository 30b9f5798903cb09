package raftlog

import (
	"encoding/binary"
	"fmt"

	raftpb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Keys of the log's Pebble. They and the values' layout are a contract with the disk: a change needs a new format.
const (
	// formatVersion is the format of every record in the log.
	formatVersion = 1

	entryPrefix = 'e' // 'e' + big-endian index -> format, entry type, term, data
)

var (
	hardStateKey = []byte{'h'} // format, raftpb.HardState
	truncatedKey = []byte{'t'} // format, index and term of the last entry that was cut away
	installKey   = []byte{'i'} // format, index, term and name of a snapshot whose installation is not finished
	formatKey    = []byte{'f'} // format
)

const (
	entryKeyLen    = 9
	entryHeaderMax = 2 + binary.MaxVarintLen64
)

// EntryID names one entry.
type EntryID struct {
	Index, Term uint64
}

// Install names a snapshot that replaces log and state machine.
type Install struct {
	// ID is the last entry that the snapshot contains.
	ID EntryID
	// Epoch is the state machine that the snapshot becomes.
	Epoch uint64
	// Name is where the snapshot was received.
	Name string
}

func putEntryKey(dst []byte, index uint64) {
	dst[0] = entryPrefix
	binary.BigEndian.PutUint64(dst[1:], index)
}

func entryKey(index uint64) []byte {
	k := make([]byte, entryKeyLen)
	putEntryKey(k, index)
	return k
}

func entryKeyIndex(key []byte) (uint64, error) {
	if len(key) != entryKeyLen || key[0] != entryPrefix {
		return 0, fmt.Errorf("%w: entry key %x", ErrCorrupt, key)
	}
	return binary.BigEndian.Uint64(key[1:]), nil
}

// putEntryHeader writes what stands before an entry's data and returns its length.
func putEntryHeader(dst []byte, e *raftpb.Entry) int {
	dst[0] = formatVersion
	dst[1] = byte(e.GetType())
	return 2 + binary.PutUvarint(dst[2:], e.GetTerm())
}

func decodeEntry(index uint64, v []byte) (*raftpb.Entry, error) {
	typ, term, n, err := decodeEntryHeader(index, v)
	if err != nil {
		return nil, err
	}
	e := &raftpb.Entry{Index: new(index), Term: new(term), Type: typ.Enum()}
	if n < len(v) {
		e.Data = append([]byte(nil), v[n:]...)
	}
	return e, nil
}

func decodeEntryHeader(index uint64, v []byte) (typ raftpb.EntryType, term uint64, n int, err error) {
	if len(v) < 3 {
		return 0, 0, 0, fmt.Errorf("%w: entry %d has %d bytes", ErrCorrupt, index, len(v))
	}
	if v[0] != formatVersion {
		return 0, 0, 0, fmt.Errorf("%w: entry %d has format %d", ErrFormat, index, v[0])
	}
	typ = raftpb.EntryType(v[1])
	if _, ok := raftpb.EntryType_name[int32(typ)]; !ok {
		return 0, 0, 0, fmt.Errorf("%w: entry %d has type %d", ErrCorrupt, index, v[1])
	}
	term, m := binary.Uvarint(v[2:])
	if m <= 0 {
		return 0, 0, 0, fmt.Errorf("%w: term of entry %d", ErrCorrupt, index)
	}
	return typ, term, 2 + m, nil
}

func encodeHardState(hs *raftpb.HardState) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend([]byte{formatVersion}, hs)
}

func decodeHardState(v []byte) (*raftpb.HardState, error) {
	if err := checkFormat("hard state", v); err != nil {
		return nil, err
	}
	hs := &raftpb.HardState{}
	if err := proto.Unmarshal(v[1:], hs); err != nil {
		return nil, fmt.Errorf("%w: hard state: %w", ErrCorrupt, err)
	}
	return hs, nil
}

func encodeEntryID(id EntryID) []byte {
	b := []byte{formatVersion}
	b = binary.BigEndian.AppendUint64(b, id.Index)
	return binary.BigEndian.AppendUint64(b, id.Term)
}

func decodeEntryID(what string, v []byte) (EntryID, error) {
	if err := checkFormat(what, v); err != nil {
		return EntryID{}, err
	}
	if len(v) < 17 {
		return EntryID{}, fmt.Errorf("%w: %s has %d bytes", ErrCorrupt, what, len(v))
	}
	return EntryID{Index: binary.BigEndian.Uint64(v[1:]), Term: binary.BigEndian.Uint64(v[9:])}, nil
}

func encodeInstall(in Install) []byte {
	b := binary.BigEndian.AppendUint64(encodeEntryID(in.ID), in.Epoch)
	return append(b, in.Name...)
}

func decodeInstall(v []byte) (Install, error) {
	id, err := decodeEntryID("pending install", v)
	if err != nil {
		return Install{}, err
	}
	if len(v) < 25 {
		return Install{}, fmt.Errorf("%w: pending install has %d bytes", ErrCorrupt, len(v))
	}
	return Install{ID: id, Epoch: binary.BigEndian.Uint64(v[17:]), Name: string(v[25:])}, nil
}

func checkFormat(what string, v []byte) error {
	if len(v) == 0 {
		return fmt.Errorf("%w: %s is empty", ErrCorrupt, what)
	}
	if v[0] != formatVersion {
		return fmt.Errorf("%w: %s has format %d", ErrFormat, what, v[0])
	}
	return nil
}
