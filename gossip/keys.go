package gossip

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/memberlist"
)

const (
	// keyBytes is how long a key is.
	keyBytes = 32
	// keysMax is how many keys a file has at most.
	keysMax = 16
	// keyFileBytesMax is how long a file of keys may be.
	keyFileBytesMax = 16 << 10
)

// ErrKeyFile means that a file of keys cannot be used.
var ErrKeyFile = errors.New("must have one to 16 keys of 32 bytes, one on each line, in base64, as \"tenure pool keygen\" makes them")

// NewKey returns a new key as text.
func NewKey() string {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // It never fails.
	return base64.StdEncoding.EncodeToString(key)
}

// readKeys reads a file of keys. Errors do not show what is in it.
func readKeys(path string) ([][]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > keyFileBytesMax {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
	}
	raw, err := os.ReadFile(path) //nolint:gosec // The operator names the file.
	if err != nil {
		return nil, err
	}
	var keys [][]byte
	for i, line := range bytes.Split(raw, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(string(line))
		if err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, ErrKeyFile)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > keysMax {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
	}
	return keys, nil
}

// CheckKeys returns what is wrong with a file of keys.
func CheckKeys(path string) error {
	_, err := readKeys(path)
	return err
}

// ringOf returns the keys as memberlist wants them: the first encrypts, all decrypt.
func ringOf(path string) (*memberlist.Keyring, error) {
	if path == "" {
		return nil, nil
	}
	keys, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	return memberlist.NewKeyring(keys, keys[0])
}

// renew gives a ring the keys that a file has now.
func renew(ring *memberlist.Keyring, path string) error {
	keys, err := readKeys(path)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err = ring.AddKey(key); err != nil {
			return err
		}
	}
	if err = ring.UseKey(keys[0]); err != nil {
		return err
	}
	for _, old := range ring.GetKeys() {
		if bytes.Equal(old, keys[0]) || containsKey(keys, old) {
			continue
		}
		if err = ring.RemoveKey(old); err != nil {
			return err
		}
	}
	return nil
}

func containsKey(keys [][]byte, key []byte) bool {
	for _, k := range keys {
		if bytes.Equal(k, key) {
			return true
		}
	}
	return false
}
