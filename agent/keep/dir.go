package keep

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"github.com/tenure-io/tenure/internal/durable"
)

const (
	// formatVersion is the format of all files.
	formatVersion = 1

	lockFile         = "LOCK"
	nodeFile         = "node.json"
	registeredFile   = "registered.json"
	statesFile       = "states.json"
	tmpSuffix        = ".tmp"
	dirMode          = 0o700
	fileMode         = 0o600
	fileBytesMax     = 64 << 20
	envelopeOverhead = 256
)

// Node says which node an agent is, and which of its starts this is.
type Node struct {
	ID string `json:"node_id"`
	// Boot counts the starts, from 1.
	Boot uint64 `json:"boot,string"`
	// GossipAddress is where the agent took part in gossip last; empty: it never did.
	GossipAddress string `json:"gossip_address,omitempty"`
}

// Dir is an open directory, which no other agent uses.
type Dir struct {
	path string
	lock io.Closer

	mu   sync.Mutex // guards node, also while it is written
	node Node
}

// Open creates the directory if needed, and counts a start. A directory without a node gets a random one.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, dirMode); err != nil {
		return nil, fmt.Errorf("create the agent's directory: %w", err)
	}
	if err := durable.SyncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock, err := lockPath(filepath.Join(path, lockFile))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if err := d.start(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// start reads the node, and counts a start of it.
func (d *Dir) start() error {
	found, err := d.read(nodeFile, &d.node)
	if err != nil {
		return err
	}
	if !found {
		if err := d.checkFresh(); err != nil {
			return err
		}
		d.node = Node{ID: uuid.NewString()}
	}
	if _, err := uuid.Parse(d.node.ID); err != nil {
		return fmt.Errorf("%s: %w: the node's id is %q", d.file(nodeFile), ErrDamaged, d.node.ID)
	}
	d.node.Boot++
	return d.write(nodeFile, d.node)
}

// checkFresh refuses a directory that has lost its node.
func (d *Dir) checkFresh() error {
	for _, name := range []string{registeredFile, statesFile} {
		if _, err := os.Stat(d.file(name)); err == nil {
			return fmt.Errorf("%s is there, but %s is missing: %w", d.file(name), nodeFile, ErrDamaged)
		}
	}
	return nil
}

// Node returns which node and which start this is.
func (d *Dir) Node() Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.node
}

// Continue is called when the cluster knows a later start than this directory, which is then an old copy. From then on
// the start counts as that one.
func (d *Dir) Continue(boot uint64) error {
	return d.change(func(n *Node) { n.Boot = max(n.Boot, boot) })
}

// SetGossipAddress writes where the agent takes part in gossip.
func (d *Dir) SetGossipAddress(address string) error {
	return d.change(func(n *Node) { n.GossipAddress = address })
}

// change writes another node, if it is another one.
func (d *Dir) change(with func(*Node)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.node
	with(&node)
	if node == d.node {
		return nil
	}
	if err := d.write(nodeFile, node); err != nil {
		return err
	}
	d.node = node
	return nil
}

// Close gives the directory back.
func (d *Dir) Close() error { return d.lock.Close() }

func (d *Dir) file(name string) string { return filepath.Join(d.path, name) }

// envelope is around what every file holds.
type envelope struct {
	Format int `json:"format"`
	// CRC32C is the checksum of Content, in hexadecimal.
	CRC32C  string          `json:"crc32c"`
	Content json.RawMessage `json:"content"`
}

func checksum(raw []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli)))
}

// read reads a file; false if there is none.
func (d *Dir) read(name string, to any) (bool, error) {
	path := d.file(name)
	file, err := os.Open(path) //nolint:gosec // The operator names the directory.
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the agent's directory: %w", err)
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, fileBytesMax+envelopeOverhead))
	if err != nil {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return false, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	if e.Format > formatVersion {
		return false, fmt.Errorf("%s: %w: its format is %d, and this program reads up to %d", path, ErrTooNew, e.Format, formatVersion)
	}
	if e.CRC32C != checksum(e.Content) {
		return false, fmt.Errorf("%s: %w: it does not have its checksum", path, ErrDamaged)
	}
	if err := json.Unmarshal(e.Content, to); err != nil {
		return false, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	return true, nil
}

// write replaces a file whole.
func (d *Dir) write(name string, content any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if raw, err = json.Marshal(envelope{Format: formatVersion, CRC32C: checksum(raw), Content: raw}); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := replace(d.file(name), raw); err != nil {
		return fmt.Errorf("write the agent's directory: %w", err)
	}
	return nil
}

func replace(path string, raw []byte) (err error) {
	tmp := path + tmpSuffix
	file, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode) //nolint:gosec // The operator names the directory.
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}
