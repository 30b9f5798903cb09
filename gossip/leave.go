package gossip

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// leaveTellsMax is how many members are told at the same time that a node leaves.
	leaveTellsMax = 8
	// leaveTimeout is how long it may take to tell members that a node leaves, and again to tell the others.
	leaveTimeout = 3 * time.Second
)

// errNotTold means that a member did not take the word that a node leaves in time.
var errNotTold = errors.New("not all members learned in time that the node leaves")

// Leave tells others that the node goes on purpose: each member that it knows, and some node that tells the rest. A node that has met no member
// yet, as it has just been started, first looks for one. It takes a few seconds if members do not answer. Close it then.
func (p *Pool) Leave(ctx context.Context) error {
	word, err := json.Marshal(leaving{ID: hex.EncodeToString(p.o.NodeID[:]), Name: p.o.Name, Boot: p.o.Boot})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	told := make(chan error, 1)
	go func() { told <- p.tellMembers(ctx, word) }()
	select {
	case err = <-told:
	case <-ctx.Done():
		err = errNotTold
	}
	p.ending.Lock()
	defer p.ending.Unlock()
	if p.closed {
		return nil
	}
	return errors.Join(err, p.list.Leave(leaveTimeout))
}

// tellMembers gives a word to each member. A member must know this start of the node to make sense of it, which it may not have heard of yet.
func (p *Pool) tellMembers(ctx context.Context, word []byte) error {
	if p.lonely() {
		p.join(ctx)
	}
	var g errgroup.Group
	g.SetLimit(leaveTellsMax)
	for _, m := range p.list.Members() {
		if n, _, err := nodeOf(m, true, time.Time{}); err != nil || n.Role != Member || m.Name == p.self {
			continue
		}
		g.Go(func() error {
			_, err := p.list.Join([]string{net.JoinHostPort(m.Addr.String(), strconv.Itoa(int(m.Port)))})
			if ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			return errors.Join(err, p.list.SendReliable(m, word))
		})
	}
	return g.Wait()
}

// Close ends the part in gossip. Run does so itself.
func (p *Pool) Close() error {
	p.ending.Lock()
	defer p.ending.Unlock()
	p.closed = true
	return p.list.Shutdown()
}
