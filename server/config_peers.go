package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/certs"
	"github.com/tenure-io/tenure/server/cluster"
)

// membersMax is how many members a cluster can begin with.
const membersMax = 7

// checkPeers returns what is wrong with how the member begins or joins a cluster.
func (c Config) checkPeers() error {
	if len(c.InitialCluster) > 0 && len(c.Join) > 0 {
		return fmt.Errorf("%w: --initial-cluster starts a new cluster and --join joins a running one; give only one of them", ErrConfig)
	}
	if len(c.Zone) > 63 {
		return fmt.Errorf("%w: --zone is longer than 63 bytes", ErrConfig)
	}
	if c.StayLearner && len(c.Join) == 0 {
		return fmt.Errorf("%w: --learner needs --join", ErrConfig)
	}
	if err := c.checkJoinToken(); err != nil {
		return err
	}
	for _, address := range c.Join {
		if err := checkAdvertised("--join", address); err != nil {
			return err
		}
	}
	_, err := c.initialCluster()
	return err
}

// checkNewName refuses the name of a new member that no certificate could prove, where members show one.
func (c Config) checkNewName(name string) error {
	if !c.TLS.peers() {
		return nil
	}
	return certs.CheckMemberName(name)
}

// checkFirstStart refuses to begin with such a name. A member that was there before keeps its own.
func (c Config) checkFirstStart() error {
	if err := c.checkNewName(c.Name); err != nil {
		return fmt.Errorf("%w: --name %w", ErrConfig, err)
	}
	return nil
}

// checkJoinToken refuses a token that cannot be one. A file is read when the member joins: it may come later.
func (c Config) checkJoinToken() error {
	if c.JoinToken != "" && c.JoinTokenFile != "" {
		return fmt.Errorf("%w: --join-token-file and TENURE_JOIN_TOKEN both contain a join token; give only one of them", ErrConfig)
	}
	if c.JoinToken == "" {
		return nil
	}
	if _, err := cluster.ParseJoinToken(c.JoinToken); err != nil {
		return fmt.Errorf("%w: TENURE_JOIN_TOKEN: %w", ErrConfig, err)
	}
	return nil
}

// joinTokenFileBytesMax is how much is read of the file with a join token.
const joinTokenFileBytesMax = 4 << 10

// joinToken returns the token that a member that joins has now; empty if it has none.
func (c Config) joinToken() ([]byte, error) {
	if c.JoinTokenFile == "" {
		if c.JoinToken == "" {
			return nil, nil
		}
		return cluster.ParseJoinToken(c.JoinToken)
	}
	file, err := os.Open(c.JoinTokenFile)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(file, joinTokenFileBytesMax))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	token, err := cluster.ParseJoinToken(string(raw))
	if err != nil {
		err = fmt.Errorf("%s: %w", c.JoinTokenFile, err)
	}
	return token, err
}

// initialCluster returns the members that begin the cluster together.
func (c Config) initialCluster() ([]raftnode.Peer, error) {
	if len(c.InitialCluster) == 0 {
		return nil, nil
	}
	var peers []raftnode.Peer
	for _, entry := range c.InitialCluster {
		name, address, ok := strings.Cut(entry, "=")
		if !ok || !call.ValidName(name) {
			return nil, fmt.Errorf("%w: --initial-cluster %q must be name=host:port", ErrConfig, entry)
		}
		if err := checkAdvertised("--initial-cluster", address); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(peers, func(p raftnode.Peer) bool { return p.Name == name || p.Address == address }) {
			return nil, fmt.Errorf("%w: --initial-cluster names %q or its address twice", ErrConfig, entry)
		}
		peers = append(peers, raftnode.Peer{Name: name, Address: address})
	}
	if len(peers) > membersMax {
		return nil, fmt.Errorf("%w: --initial-cluster names %d members; a cluster has at most %d", ErrConfig, len(peers), membersMax)
	}
	if !slices.ContainsFunc(peers, func(p raftnode.Peer) bool { return p.Name == c.Name }) {
		return nil, fmt.Errorf("%w: --initial-cluster does not name this member, whose --name is %q", ErrConfig, c.Name)
	}
	return peers, nil
}

// addressesFor returns what others are told, given where the member listens.
func (c Config) addressesFor(bound Addresses) (raftnode.Addresses, error) {
	peers, err := c.initialCluster()
	if err != nil {
		return raftnode.Addresses{}, err
	}
	at := raftnode.Addresses{
		Peer: bound.Peer, Client: advertised(c.AdvertiseAddr, bound.GRPC), HTTP: advertised(c.AdvertiseHTTPAddr, bound.HTTP),
	}
	for _, p := range peers {
		if p.Name == c.Name {
			at.Peer = p.Address
		}
	}
	at.Peer = advertised(c.AdvertisePeerAddr, at.Peer)
	if host, _, err := net.SplitHostPort(at.Peer); err == nil && len(c.Join) > 0 {
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			return at, fmt.Errorf("%w: other members cannot connect to %s; give --advertise-peer", ErrConfig, at.Peer)
		}
	}
	return at, nil
}
