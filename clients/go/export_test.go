package tenure

import "github.com/tenure-io/tenure/clients/go/internal/memnet"

// OverMemory makes a client use a network in memory.
func OverMemory(n *memnet.Net) Option {
	return func(o *clientOptions) { o.dial = n.Dial }
}

// WithSeed makes a client's choices of members the same each time.
func WithSeed(seed uint64) Option {
	return func(o *clientOptions) { o.seed = seed }
}
