package leader

import (
	"context"

	"google.golang.org/grpc"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/storage"
)

// Node is what the services need of a member: raftnode.Node, or a fake in tests. Any goroutine may call any method.
type Node interface {
	// Propose orders a command, and returns its result once it is applied here.
	Propose(ctx context.Context, c *storev1.Command) (*storev1.Result, error)
	// ReadIndex returns once everything that was committed when it was called is applied here.
	ReadIndex(ctx context.Context) error
	// ReadIndexLeader does the same, and fails unless this member leads in the term it returns.
	ReadIndexLeader(ctx context.Context) (term uint64, err error)
	// Store is the state machine.
	Store() *storage.Store
	// Status tells how the member sees its group.
	Status() raftnode.Status
	// LeadChanged returns a channel that is closed when the leader or the term is another one than now.
	LeadChanged() <-chan struct{}
	// Members are all members, and what this one sees of them.
	Members() []raftnode.Member
	// PeerConn is a connection to another member, for calls.
	PeerConn(member uint64) (grpc.ClientConnInterface, error)
	// PromoteMember gives a learner its vote; like the calls below, only where this one leads.
	PromoteMember(ctx context.Context, id uint64, force bool) (raftnode.Member, error)
	// RemoveMember removes a member for good.
	RemoveMember(ctx context.Context, id uint64, force bool) error
	// TransferLeadership hands leadership to a member; zero: to the one that is furthest.
	TransferLeadership(ctx context.Context, id uint64) error
	// Alarms are the dangers that the member knows of.
	Alarms() []raftnode.Alarm
}
