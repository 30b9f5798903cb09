package tenure

import (
	"context"
	"strings"
)

// Presence is a group of which each session can be a member while it lives.
type Presence struct {
	client *Client
	group  string
}

// Presence returns the group of a name.
func (c *Client) Presence(group string) *Presence { return &Presence{client: c, group: group} }

func (p *Presence) prefix() string { return p.group + "/" }

// Join makes a session a member under a name, with a value for the others, until it leaves or the session ends. With
// ErrOutcomeUnknown it may be one.
func (p *Presence) Join(ctx context.Context, s *Session, name string, value []byte) (*Membership, error) {
	if name == "" || strings.Contains(name, "/") {
		return nil, invalid("the name %q of a member is empty or has a slash", name)
	}
	m := &Membership{kv: s.KV(), key: p.prefix() + name}
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
	kv  *KV
	key string
}

// Set changes the member's value.
func (m *Membership) Set(ctx context.Context, value []byte) error {
	_, err := m.kv.Put(ctx, m.key, value, Ephemeral())
	return err
}

// Leave ends the membership.
func (m *Membership) Leave(ctx context.Context) error {
	_, err := m.kv.Delete(ctx, m.key)
	return err
}
