package rig

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// SecuredPeers returns the flags of a member that speaks TLS with the others, with the files of a folder as Authority.Write makes them.
func SecuredPeers(dir string) []string {
	return []string{
		"--peer-cert-file", filepath.Join(dir, "peer.crt"), "--peer-key-file", filepath.Join(dir, "peer.key"), "--peer-ca-file", filepath.Join(dir, "ca.crt"),
	}
}

// Enforce has a text be the first token of a cluster with TLS on all ports, and rules enforced. From then on its own calls to members carry the token.
func (c *Cluster) Enforce(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	conn := c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := tenurev1.NewAuthServiceClient(conn).BootstrapAuth(ctx, &tenurev1.BootstrapAuthRequest{
			Token: token, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE,
		})
		if err == nil {
			break
		}
		select {
		case <-tick.C: // The cluster may not have raised its version yet.
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
	c.token = token
	for _, m := range c.Members {
		m.token = token
	}
	return nil
}

// bearer is a token that calls carry, over TLS only.
type bearer string

// GetRequestMetadata returns the header.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity reports that it does.
func (bearer) RequireTransportSecurity() bool { return true }
