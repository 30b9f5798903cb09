package wake

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/internal/share"
)

// TurnPatience is how long a call waits for its turn: as long as an agent waits for a member.
const TurnPatience = 10 * time.Second

// Conn is a connection to the cluster that many clients use. Each call with one answer waits for a turn, so that a client with many of them does
// not make those of others late: to a member they come from one address, the agent's, and it cannot tell them apart. Streams take no turn.
type Conn struct {
	grpc.ClientConnInterface

	turns  []*share.Turns // by kind
	kindOf func(method string, request any) int
}

// NewConn returns a connection with so many turns for each kind of calls. kindOf says of which a call is; one kind does not wait for another.
func NewConn(cluster grpc.ClientConnInterface, totals []int, kindOf func(method string, request any) int) *Conn {
	c := &Conn{ClientConnInterface: cluster, kindOf: kindOf}
	for _, total := range totals {
		c.turns = append(c.turns, share.NewTurns(total))
	}
	return c
}

// callerKey is the key of a call's caller in its context.
type callerKey struct{}

// WithCaller returns a context whose calls are made for a caller.
func WithCaller(ctx context.Context, c share.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Invoke makes a call once it is its turn.
func (c *Conn) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	caller, _ := ctx.Value(callerKey{}).(share.Caller)
	waiting, cancel := context.WithTimeout(ctx, TurnPatience)
	end, err := c.turns[c.kindOf(method, request)].Take(waiting, caller)
	cancel()
	if err != nil {
		return status.FromContextError(err).Err()
	}
	defer end()
	return c.ClientConnInterface.Invoke(ctx, method, request, response, options...)
}
