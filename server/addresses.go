package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/storage"
)

// addressesFile tells scripts and people where a member listens; it stands in the data directory while the member runs.
const addressesFile = "addresses.json"

// Addresses are where a member listens, as bound.
type Addresses struct {
	// GRPC is for clients.
	GRPC string `json:"grpc"`
	// HTTP is for REST, metrics and health.
	HTTP string `json:"http"`
	// Peer is for other members.
	Peer string `json:"peer"`
	// Consul is for clients of Consul; empty when they are not served.
	Consul string `json:"consul,omitempty"`
	// Gossip is where others reach its part in gossip; empty when it takes none.
	Gossip string `json:"gossip,omitempty"`
	// Debug is for profiles; empty when none are served.
	Debug string `json:"debug,omitempty"`
}

// advertised returns what others are told.
func advertised(configured, bound string) string {
	if configured != "" {
		return configured
	}
	return bound
}

// writeAddresses tells in the data directory where the member listens, as long as it does.
func (r *running) writeAddresses() error {
	data, err := json.Marshal(r.addresses)
	if err != nil {
		return err
	}
	path := filepath.Join(r.config.DataDir, addressesFile)
	if err := writeFile(r.config.FS, path, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	r.stack.push(func() error {
		// It may be gone already, with the whole directory.
		if err := r.config.FS.Remove(path); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
	return nil
}

// writeNonce writes the file that proves that a caller can read the data directory.
func (c Config) writeNonce(text string) error {
	path := filepath.Join(c.DataDir, auth.NonceFile)
	if c.FS != storage.DiskFS() {
		return writeFile(c.FS, path, []byte(text+"\n"))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // The operator names the directory.
	if err != nil {
		return err
	}
	_, err = file.WriteString(text + "\n")
	return errors.Join(err, file.Close())
}

// writeFile replaces a file whole. Nothing is lost if it does not survive a crash, so nothing is synced.
func writeFile(fs storage.FS, path string, data []byte) (err error) {
	const category = "addresses"
	file, err := fs.Create(path+".new", category)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".new", path)
}
