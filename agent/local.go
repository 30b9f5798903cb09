package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// errNotServed means that a call inside the process is not one of AgentService.
var errNotServed = errors.New("the agent has no such call")

// Local calls an agent inside its process.
type Local struct {
	tenurev1.AgentServiceClient
	agent *Agent
}

// newLocal returns a client of an agent.
func newLocal(a *Agent, conn grpc.ClientConnInterface) *Local {
	return &Local{AgentServiceClient: tenurev1.NewAgentServiceClient(conn), agent: a}
}

// Settled waits until the catalog is as the agent has it but for what the cluster refused, or ctx ends. For what changes meanwhile it does not wait.
func (l *Local) Settled(ctx context.Context) {
	changes := l.agent.syncer.Changes()
	for {
		synced := l.agent.rounds.next()
		if l.agent.syncer.Settled(changes) {
			return
		}
		select {
		case <-synced:
		case <-ctx.Done():
			return
		}
	}
}

// within is a connection to a service in this process.
type within struct{ service tenurev1.AgentServiceServer }

// Invoke makes a call.
func (w within) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	name := method[strings.LastIndexByte(method, '/')+1:]
	for _, of := range tenurev1.AgentService_ServiceDesc.Methods {
		if of.MethodName != name {
			continue
		}
		answer, err := of.Handler(w.service, ctx, func(into any) error { return copied(into, request) }, nil)
		if err != nil {
			said, internal := reason.Status(err, "")
			if internal {
				return err // Whoever calls logs it.
			}
			return said.Err()
		}
		return copied(response, answer)
	}
	return fmt.Errorf("%s: %w", method, errNotServed)
}

// NewStream is not needed: the service has no streams.
func (within) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNotServed
}

// copied copies a message.
func copied(into, from any) error {
	to, ok := into.(proto.Message)
	of, also := from.(proto.Message)
	if !ok || !also {
		return errNotServed
	}
	proto.Merge(to, of)
	return nil
}

// rounds tells those who wait that the catalog was compared.
type rounds struct {
	mu   sync.Mutex // guards done, which the end of the next round closes
	done chan struct{}
}

func newRounds() *rounds { return &rounds{done: make(chan struct{})} }

// next returns what is closed at the end of the next round.
func (r *rounds) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// ended notes the end of a round.
func (r *rounds) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.done)
	r.done = make(chan struct{})
}
