package tenure

import (
	"context"
	"errors"
	"strings"
	"sync"
)

// Presence is a group whose members are live sessions.
type Presence struct {
	client *Client
	group  string
}

// Presence returns the group with a name.
func (c *Client) Presence(group string) *Presence { return &Presence{client: c, group: group} }

func (p *Presence) prefix() string { return p.group + "/" }

// Join makes a session a member with a name and a value, until it leaves or the session ends. After ErrOutcomeUnknown
// it may or may not be a member.
func (p *Presence) Join(ctx context.Context, s *Session, name string, value []byte) (*Membership, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, invalid("the name %q of a member is empty or has a slash", name)
	}
	m := &Membership{session: s, kv: s.KV(), key: p.prefix() + name}
	if err := m.Set(ctx, value); err != nil {
		return nil, err
	}
	return m, nil
}

// Members returns the values of all members by name.
func (p *Presence) Members(ctx context.Context) (map[string][]byte, error) {
	list, err := p.client.KV().List(ctx, p.prefix())
	if err != nil {
		return nil, err
	}
	members := map[string][]byte{}
	for _, kv := range list {
		members[strings.TrimPrefix(kv.Key, p.prefix())] = kv.Value
	}
	return members, nil
}

// Membership is a session's place in a group.
type Membership struct {
	session *Session
	kv      *KV
	key     string

	mu sync.Mutex // Guards what follows, and is held during calls that change it.
	// revision is that of the row which the member wrote last; zero if that is not known.
	revision uint64
}

// Set changes the member's value.
func (m *Membership) Set(ctx context.Context, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	kv, err := m.kv.Put(ctx, m.key, value, Ephemeral())
	switch {
	case err == nil:
		m.revision = kv.ModRevision
	case AppliedOf(err) != AppliedNo:
		m.revision = 0
	}
	return err
}

// Leave ends the membership. If another session has taken the name since then, its membership remains.
func (m *Membership) Leave(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	revision := m.revision
	if revision == 0 {
		kv, err := m.kv.Get(ctx, m.key)
		if errors.Is(err, ErrKeyNotFound) || err == nil && kv.BoundSessionID != m.session.id {
			return nil
		}
		if err != nil {
			return err
		}
		revision = kv.ModRevision
	}
	_, err := m.kv.Delete(ctx, m.key, IfRevision(revision))
	if isAny(err, ErrCompareFailed, ErrKeyNotFound) {
		return nil
	}
	return err
}
