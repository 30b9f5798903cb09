package driver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

// makeCerts returns a folder with certificates of an authority, for members and clients, and in its folder other those of another one.
func makeCerts(t *testing.T) (string, error) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		return "", err
	}
	for _, folder := range []string{dir, other} {
		if err := fill(folder); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// fill makes an authority, and writes what it signed.
func fill(dir string) error {
	authority, err := rig.NewAuthority("tenure conformance CA")
	if err != nil {
		return err
	}
	return authority.Write(dir)
}

// secured returns the environment in which clients find the certificates and a token by themselves.
func secured(certs, token string) []string {
	return []string{
		"TENURE_CA_FILE=" + filepath.Join(certs, "ca.crt"),
		"TENURE_CERT_FILE=" + filepath.Join(certs, "client.crt"), "TENURE_KEY_FILE=" + filepath.Join(certs, "client.key"),
		"TENURE_TOKEN=" + token,
	}
}

// replaceCerts gives members and clients certificates of a new authority, waits until the members use them, and ends all connections, which
// were made with the old ones.
func (c *Cluster) replaceCerts(ctx context.Context) error {
	if c.certs == "" {
		return fmt.Errorf("the members have no TLS")
	}
	if err := fill(c.certs); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, withinDefault)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, m := range c.Rig.Running() {
		if err := syscall.Kill(m.PID(), syscall.SIGHUP); err != nil {
			return err
		}
		for {
			_, err := m.Status(ctx)
			if err == nil {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("member %s does not use its new certificate: %w", m.Name(), err)
			}
		}
	}
	for _, p := range c.Proxies {
		p.Cut()
	}
	return nil
}
