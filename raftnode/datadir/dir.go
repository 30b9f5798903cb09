package datadir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// FormatVersion is the newest format of a data directory that this program reads, and the one it writes.
	FormatVersion = 1
	// OldestBinary is the oldest version of the program that can use a directory of FormatVersion.
	OldestBinary = "0.1.0"

	lockFile    = "LOCK"
	formatFile  = "FORMAT"
	currentFile = "CURRENT"
	reserveFile = "RESERVE"
	logDir      = "log"
	statePrefix = "sm-"
	snapDir     = "snap"
	snapInDir   = "snap-in"
	genesisFile = "GENESIS"
	joinFile    = "JOIN"
	mendFile    = "MEND"
	differsFile = "DIFFERS"
	tmpSuffix   = ".tmp"

	dirMode os.FileMode = 0o700
)

// Identity says whose data the directory holds.
type Identity struct {
	// ClusterID names the cluster; all zero while the member waits for its cluster to begin, or to be added to one.
	ClusterID [16]byte
	// MemberID is the member's, never reused.
	MemberID uint64
	// Incarnation is drawn with the directory and never changes.
	Incarnation uint64
	// Starts grows with every start that other members have heard of, so that an older copy of the directory, or a second
	// one in use, is known.
	Starts uint64
	// Met tells that others have heard of the present number. Only then the next start has another: whoever is refused,
	// however often it tries, never overtakes the one it was refused for.
	Met bool
}

// format is the FORMAT file. Numbers that do not fit in a JSON number are hexadecimal text.
type format struct {
	Format       int    `json:"format"`
	OldestBinary string `json:"oldest_binary"`
	ClusterID    string `json:"cluster_id"`
	MemberID     string `json:"member_id"`
	Incarnation  string `json:"incarnation"`
	Starts       uint64 `json:"starts,string"`
	Met          bool   `json:"met"`
	// CRC32C is the checksum of the file with an empty text here, in hexadecimal.
	CRC32C string `json:"crc32c"`
}

// Dir is an open, locked data directory.
type Dir struct {
	Notes
	fs   vfs.FS
	path string
	lock io.Closer
}

// Open creates the directory if needed and locks it. It looks first: a directory that this program cannot use is left as
// it is, to the last mode and file, for it may be somebody else's.
func Open(fs vfs.FS, path string) (*Dir, error) {
	d := &Dir{Notes: Notes{fs: fs, path: path}, fs: fs, path: path}
	if _, _, err := d.Identity(); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := mkdirAllSynced(fs, path); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	if isDisk(fs) {
		// MkdirAll leaves the mode of a directory that exists.
		if err := os.Chmod(path, dirMode); err != nil {
			return nil, fmt.Errorf("protect data directory: %w", err)
		}
	}
	lock, err := fs.Lock(fs.PathJoin(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLocked, path, err)
	}
	d.lock = lock
	return d, nil
}

// mkdirAllSynced makes a directory, and those above it that are missing, so that the entries of all of them survive a crash.
// The entry of a directory that exists is synced as well: whoever made it may not have done so.
func mkdirAllSynced(fs vfs.FS, path string) error {
	parents := []string{fs.PathDir(path)}
	for at := parents[0]; ; {
		_, err := fs.Stat(at)
		above := fs.PathDir(at)
		if err == nil || above == at {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		parents, at = append(parents, above), above
	}
	if err := fs.MkdirAll(path, dirMode); err != nil {
		return err
	}
	for _, dir := range slices.Backward(parents) {
		if err := syncDir(fs, dir); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the directory back.
func (d *Dir) Close() error {
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("unlock data directory: %w", err)
	}
	return nil
}

// FS returns the file system the directory is on.
func (d *Dir) FS() vfs.FS { return d.fs }

// Path returns where the directory is.
func (d *Dir) Path() string { return d.path }

// LogPath returns the raft log's directory.
func (d *Dir) LogPath() string { return d.join(logDir) }

// SnapPath returns the directory of kept checkpoints.
func (d *Dir) SnapPath() string { return d.join(snapDir) }

// SnapInPath returns the directory of snapshots being received.
func (d *Dir) SnapInPath() string { return d.join(snapInDir) }

// ReservePath returns the file that only holds space.
func (d *Dir) ReservePath() string { return d.join(reserveFile) }

// StatePath returns the state machine's directory of an epoch.
func (d *Dir) StatePath(epoch uint64) string { return d.join(stateName(epoch)) }

func stateName(epoch uint64) string { return statePrefix + strconv.FormatUint(epoch, 10) }

func (d *Dir) join(name string) string { return d.fs.PathJoin(d.path, name) }

// Identity reads FORMAT. The second result is false when the directory is fresh; one that holds anything else without
// FORMAT is refused.
func (d *Dir) Identity() (Identity, bool, error) {
	raw, err := readFile(d.fs, d.join(formatFile))
	if errors.Is(err, os.ErrNotExist) {
		return Identity{}, false, d.checkFresh()
	}
	if err != nil {
		return Identity{}, false, fmt.Errorf("read %s: %w", formatFile, err)
	}
	var f format
	if err = json.Unmarshal(raw, &f); err != nil {
		return Identity{}, false, fmt.Errorf("%w: %s: %w", ErrDamaged, formatFile, err)
	}
	if f.Format > FormatVersion {
		return Identity{}, false, &TooNewError{Format: f.Format, Supported: FormatVersion, OldestBinary: f.OldestBinary}
	}
	id, err := f.identity()
	if err != nil {
		return Identity{}, false, fmt.Errorf("%w: %s: %w", ErrDamaged, formatFile, err)
	}
	// The same identity has one text only, so a changed byte shows whatever it stands for.
	again, err := f.encode()
	if err != nil {
		return Identity{}, false, err
	}
	if !bytes.Equal(again, raw) {
		return Identity{}, false, fmt.Errorf("%w: %s does not have its checksum", ErrDamaged, formatFile)
	}
	return id, true, nil
}

// encode writes the file with its checksum, always the same way.
func (f format) encode() ([]byte, error) {
	f.CRC32C = ""
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", formatFile, err)
	}
	f.CRC32C = fmt.Sprintf("%08x", checksum(raw))
	if raw, err = json.MarshalIndent(f, "", "  "); err != nil {
		return nil, fmt.Errorf("encode %s: %w", formatFile, err)
	}
	return append(raw, '\n'), nil
}

func (f format) identity() (id Identity, err error) {
	if f.Format < 1 {
		return id, fmt.Errorf("format is %d", f.Format)
	}
	cluster, err := parseHex(f.ClusterID, len(id.ClusterID))
	if err != nil {
		return id, fmt.Errorf("cluster_id: %w", err)
	}
	copy(id.ClusterID[:], cluster)
	if id.MemberID, err = strconv.ParseUint(f.MemberID, 16, 64); err != nil {
		return id, fmt.Errorf("member_id: %w", err)
	}
	if id.Incarnation, err = strconv.ParseUint(f.Incarnation, 16, 64); err != nil {
		return id, fmt.Errorf("incarnation: %w", err)
	}
	if id.MemberID == 0 {
		return id, errors.New("member_id is zero")
	}
	id.Starts, id.Met = f.Starts, f.Met
	return id, nil
}

// WriteIdentity writes FORMAT; it comes before anything else in a fresh directory.
func (d *Dir) WriteIdentity(id Identity) error {
	raw, err := format{
		Format:       FormatVersion,
		OldestBinary: OldestBinary,
		ClusterID:    fmt.Sprintf("%x", id.ClusterID),
		MemberID:     fmt.Sprintf("%016x", id.MemberID),
		Incarnation:  fmt.Sprintf("%016x", id.Incarnation),
		Starts:       id.Starts,
		Met:          id.Met,
	}.encode()
	if err != nil {
		return err
	}
	return WriteFile(d.fs, d.path, formatFile, raw)
}

// checkFresh refuses a directory without FORMAT that holds databases or strangers' files.
func (d *Dir) checkFresh() error {
	names, err := d.fs.List(d.path)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	for _, name := range names {
		if name != lockFile && name != formatFile+tmpSuffix && name != "lost+found" {
			return fmt.Errorf("%w: %s contains %s but no %s; nothing was changed",
				ErrNotDataDir, d.path, name, formatFile)
		}
	}
	return nil
}

// Current returns the epoch of the state machine in use. The second result is false while a first start has not
// finished.
func (d *Dir) Current() (uint64, bool, error) {
	raw, err := readFile(d.fs, d.join(currentFile))
	if errors.Is(err, os.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", currentFile, err)
	}
	epoch, ok := parseState(strings.TrimSuffix(string(raw), "\n"))
	if !ok {
		return 0, false, fmt.Errorf("%w: %s says %q", ErrDamaged, currentFile, raw)
	}
	return epoch, true, nil
}

// SetCurrent makes an epoch's state machine the one in use.
func (d *Dir) SetCurrent(epoch uint64) error {
	return WriteFile(d.fs, d.path, currentFile, []byte(stateName(epoch)+"\n"))
}

// RemoveOtherStates removes the state machines that are not in use, and what a crash left half written.
func (d *Dir) RemoveOtherStates(epoch uint64) error {
	names, err := d.fs.List(d.path)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		e, ok := parseState(name)
		if ok && e != epoch || strings.HasSuffix(name, tmpSuffix) {
			if err := d.fs.RemoveAll(d.join(name)); err != nil {
				return fmt.Errorf("remove %s: %w", name, err)
			}
		}
	}
	return nil
}

// ResetFirstStart removes what a first start that did not finish left behind.
func (d *Dir) ResetFirstStart() error {
	names, err := d.fs.List(d.path)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, ok := parseState(name); !ok && name != logDir {
			continue
		}
		if err := d.fs.RemoveAll(d.join(name)); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return syncDir(d.fs, d.path)
}

// Sync makes the directory's own entries durable.
func (d *Dir) Sync() error { return syncDir(d.fs, d.path) }

func parseState(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, statePrefix)
	if !ok {
		return 0, false
	}
	epoch, err := strconv.ParseUint(digits, 10, 64)
	return epoch, err == nil
}
