package tenure

import "github.com/tenure-io/tenure/clients/go/internal/memnet"

// OverMemory makes a client use a network in memory.
func OverMemory(n *memnet.Net) Option {
	return func(o *clientOptions) { o.dial = n.Dial }
}

// WithoutLine makes a client make each call by itself.
func WithoutLine() Option {
	return func(o *clientOptions) { o.alone = true }
}

// WithSeed makes a client's choices of members the same each time.
func WithSeed(seed uint64) Option {
	return func(o *clientOptions) { o.seed = seed }
}

// ParseTarget returns what a connection string says: members, namespace and whether TLS is used.
func ParseTarget(text string) (members []string, namespace string, tls bool, err error) {
	t, err := parseTarget(text)
	if err != nil {
		return nil, "", false, err
	}
	return t.members, t.namespace, t.scheme == schemeTLS, nil
}

// Sessions returns how many sessions the client has under its care.
func (c *Client) Sessions() int {
	c.care.mu.Lock()
	defer c.care.mu.Unlock()
	return len(c.care.sessions)
}
