package line

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
)

// Bounds of a line.
const (
	// callsMax is how many calls of a line may be under way that do not wait; more are refused.
	callsMax = 1024
	// waitsMax is how many of them may be waits or watches, beside the others; more are refused.
	waitsMax = 4096
	// requestBytesMax is how much their requests may have together; a call beyond that is refused, unless it is alone.
	requestBytesMax = 4 << 20
	// messageCallsMax is how many calls may be in one message, and how many cancels and credits; a message with more ends the line.
	messageCallsMax = 4096
	// credentialsMax is how many credentials a line may have, and a message; tokenBytesMax how long one may be, as in a header. More ends the line.
	credentialsMax = 64
	tokenBytesMax  = 16 << 10
	// messageBytes is how large a message becomes, unless one answer is larger.
	messageBytes = 64 << 10
	// unsentMax and unsentBytesMax are how many answers may wait to be sent before the line is no longer read.
	unsentMax      = 1024
	unsentBytesMax = 1 << 20
	// keptBytesMax is how many bytes of answers may wait to be sent before calls that only read are refused: those that were started before
	// may be many, and what a line holds that is not read is its caller's share on all others, too.
	keptBytesMax = 32 << 20
	// uncountedFew is how many answers, each saying why a call failed, may wait to be sent beyond the caller's share before the line stops
	// reading. Calls that were started before that may bring them to uncountedMax; with more, the connection is closed.
	uncountedFew = 128
	uncountedMax = 512
	// partBytesMax is how many bytes of parts may wait to be sent before those with more wait for that.
	partBytesMax = 256 << 10
	// creditMessagesMax and creditBytesMax are the most that a call may be ahead of its client; credits above count as that.
	creditMessagesMax = 1 << 20
	creditBytesMax    = 1 << 30
	// idleMax is how many goroutines of a line wait for its next call.
	idleMax = 16
)

// Gate is what every call passes.
type Gate interface {
	// Call makes a call, and refuses one that only reads if its answer does not fit. Its error is a status.
	Call(
		ctx context.Context, method string, request proto.Message, handler grpc.UnaryHandler, fits func(proto.Message) bool,
	) (*gate.Kept, error)
	// Follow makes a call that streams. Its error is a status.
	Follow(to gate.Followed, method string, serve func(grpc.ServerStream) error) error
	// Owe counts why a call failed until sent is called, or reports false if that is more than the caller's share.
	Owe(ctx context.Context, message proto.Message) (sent func(), ok bool)
	// CallerOf returns whose calls those of a line are, by the context of its stream.
	CallerOf(ctx context.Context) share.Caller
	// Cut closes the connection of a line.
	Cut(ctx context.Context)
	// Refuse returns the status of an error that ends a call before it is made. sent is called when it is sent.
	Refuse(ctx context.Context, method string, err error) (sent func(), refusal error)
}

// Options are what lines need.
type Options struct {
	// Gate is what every call passes.
	Gate Gate
	// Stopping ends when the server stops.
	Stopping context.Context //nolint:containedctx // It is the server's life, not a call's.
	// KV, Locks, Sessions, Elections and Watches make the calls.
	KV        tenurev1.KVServiceServer
	Locks     tenurev1.LockServiceServer
	Sessions  tenurev1.SessionServiceServer
	Elections tenurev1.ElectionServiceServer
	Watches   tenurev1.WatchServiceServer
}

// Service serves lines. Its methods may be called by any goroutine.
type Service struct {
	tenurev1.UnimplementedLineServiceServer
	options Options
	turns   *share.Turns // of messages with many calls
}

// New returns the service.
func New(o Options) *Service {
	return &Service{options: o, turns: share.NewTurnsEach(turnsMax, 1)}
}

// Line serves one line until its client closes it, or the server stops.
func (s *Service) Line(stream grpc.BidiStreamingServer[tenurev1.LineRequest, tenurev1.LineResponse]) error {
	return newLine(&s.options, s.turns, stream).run()
}
