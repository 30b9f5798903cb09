package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Notes are the small files of a data directory that say what has become of the member: how its cluster began, how it was
// added, what it has to mend, and that its state is wrong. Each is replaced whole or not at all, and has a checksum.
type Notes struct {
	fs   vfs.FS
	path string
}

// Genesis returns how the cluster began, as this member's program wrote it; nil if it did not begin it.
func (n Notes) Genesis() ([]byte, error) { return n.read(genesisFile) }

// WriteGenesis remembers how the cluster began. It comes before anybody is told.
func (n Notes) WriteGenesis(raw []byte) error { return n.write(genesisFile, raw) }

// RemoveGenesis forgets how the cluster began.
func (n Notes) RemoveGenesis() error { return n.remove(genesisFile) }

// Joined returns the answer with which the member was added to its cluster, until it has a state; nil if it was not.
func (n Notes) Joined() ([]byte, error) { return n.read(joinFile) }

// WriteJoined remembers that the member was added to a cluster. It comes before the cluster's id.
func (n Notes) WriteJoined(raw []byte) error { return n.write(joinFile, raw) }

// RemoveJoined forgets how the member was added.
func (n Notes) RemoveJoined() error { return n.remove(joinFile) }

// Mend returns what a member whose log lost its end waits for; nil if it waits for nothing.
func (n Notes) Mend() ([]byte, error) { return n.read(mendFile) }

// WriteMend remembers what a member waits for; nil forgets it.
func (n Notes) WriteMend(raw []byte) error {
	if raw != nil {
		return n.write(mendFile, raw)
	}
	return n.remove(mendFile)
}

// Differs returns why the state in the directory must not be used again; nil if nothing is known against it.
func (n Notes) Differs() ([]byte, error) { return n.read(differsFile) }

// WriteDiffers remembers for good that the state in the directory is wrong, and why.
func (n Notes) WriteDiffers(why []byte) error { return n.write(differsFile, why) }

// remove removes a small file for good, if there is one.
func (n Notes) remove(name string) error {
	if err := n.fs.Remove(n.fs.PathJoin(n.path, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return syncDir(n.fs, n.path)
}

// read returns the content of a small file, nil if there is none.
func (n Notes) read(name string) ([]byte, error) {
	raw, err := readFile(n.fs, n.fs.PathJoin(n.path, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	data, ok := bytes.CutSuffix(raw, binary.BigEndian.AppendUint32(nil, checksum(raw[:max(0, len(raw)-checksumLen)])))
	if !ok {
		return nil, fmt.Errorf("%w: %s does not have its checksum", ErrDamaged, name)
	}
	return data, nil
}

// write replaces a small file by data and its checksum.
func (n Notes) write(name string, data []byte) error {
	return WriteFile(n.fs, n.path, name, binary.BigEndian.AppendUint32(bytes.Clone(data), checksum(data)))
}

const checksumLen = 4

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }
