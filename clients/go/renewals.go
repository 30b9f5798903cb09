package tenure

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// renewalsMax is how many renewals a message may carry.
const renewalsMax = 1024

// renewers are the KeepAlive streams of a client: one for all its sessions, and another one for a moment while it moves to another link.
type renewers struct {
	numbers atomic.Uint64 // Of renewals, each its own, so that a verdict is for one keeper only.

	mu     sync.Mutex // Guards what follows, and the keepers of each renewer.
	byLink map[*conn.Link]*renewer
}

// renewer is a KeepAlive stream over a link.
type renewer struct {
	owner *renewers
	link  *conn.Link
	end   context.CancelFunc
	ended chan struct{} // Closed when its goroutines have ended.

	broken chan struct{} // Closed when the stream broke; why is set before.
	why    error

	keepers map[string][]*keeper // By session: who attaches to one of the same client has another keeper of it.

	mu   sync.Mutex // Guards what follows.
	open map[uint64]*keeper
	due  []*tenurev1.SessionRenewal
	news chan struct{}
}

// join returns the stream over a keeper's link, which begins with the first. Call leave after.
func (r *renewers) join(k *keeper) *renewer {
	r.mu.Lock()
	defer r.mu.Unlock()
	stream := r.byLink[k.link]
	if stream == nil {
		ctx, cancel := context.WithCancel(context.Background())
		stream = &renewer{
			owner: r, link: k.link, end: cancel, ended: make(chan struct{}), broken: make(chan struct{}), keepers: map[string][]*keeper{},
			open: map[uint64]*keeper{}, news: make(chan struct{}, 1),
		}
		if r.byLink == nil {
			r.byLink = map[*conn.Link]*renewer{}
		}
		r.byLink[k.link] = stream
		go stream.run(ctx) // The last keeper waits for it.
	}
	stream.keepers[k.session.id] = append(stream.keepers[k.session.id], k)
	return stream
}

// leave gives up a keeper's part in the stream. The last one ends it.
func (r *renewer) leave(k *keeper) {
	r.mu.Lock()
	delete(r.open, k.number)
	r.mu.Unlock()
	r.owner.mu.Lock()
	left := slices.DeleteFunc(r.keepers[k.session.id], func(other *keeper) bool { return other == k })
	if len(left) > 0 {
		r.keepers[k.session.id] = left
	} else {
		delete(r.keepers, k.session.id)
	}
	last := len(r.keepers) == 0
	if last {
		r.owner.forget(r)
	}
	r.owner.mu.Unlock()
	if last {
		r.end()
		<-r.ended
	}
}

// forget lets nobody join a stream any more. Call it under mu.
func (r *renewers) forget(stream *renewer) {
	if r.byLink[stream.link] == stream {
		delete(r.byLink, stream.link)
	}
}

// send sends a keeper's renewal soon, together with those of others.
func (r *renewer) send(k *keeper, renewal *tenurev1.SessionRenewal) {
	r.mu.Lock()
	r.open[renewal.GetNumber()] = k
	r.due = append(r.due, renewal)
	r.mu.Unlock()
	wake(r.news)
}

// take returns the renewals of the next message.
func (r *renewer) take() []*tenurev1.SessionRenewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.due), renewalsMax)
	part := r.due[:n:n]
	r.due = r.due[n:]
	if len(r.due) > 0 {
		wake(r.news)
	}
	return part
}

// run serves the stream until it breaks or the last keeper left.
func (r *renewer) run(ctx context.Context) {
	defer close(r.ended)
	ctx, end := onLink(ctx, r.link)
	defer end()
	stream, err := tenurev1.NewSessionServiceClient(r.link).KeepAlive(ctx)
	if err == nil {
		over := make(chan error, 1)
		go func() { over <- r.read(stream) }()
		err = r.write(stream, over)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	r.owner.mu.Lock()
	r.owner.forget(r)
	r.owner.mu.Unlock()
	r.why = err
	close(r.broken)
}

// write sends what is due until the reader is over, and returns why that is.
func (r *renewer) write(
	stream grpc.BidiStreamingClient[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse], over <-chan error,
) error {
	for {
		select {
		case err := <-over:
			return err
		case <-r.news:
			if part := r.take(); len(part) > 0 && stream.Send(&tenurev1.KeepAliveRequest{Renewals: part}) != nil {
				return <-over // The reader knows why.
			}
		}
	}
}

// read hands on what comes over the stream until it breaks.
func (r *renewer) read(stream grpc.BidiStreamingClient[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]) error {
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errStreamEnded
		}
		if err != nil {
			return err
		}
		for _, hint := range answer.GetHints() {
			r.owner.mu.Lock()
			keepers := slices.Clone(r.keepers[hint.GetSessionId()])
			r.owner.mu.Unlock()
			for _, k := range keepers {
				k.hint(hint)
			}
		}
		for _, v := range answer.GetVerdicts() {
			r.hand(v)
		}
	}
}

// hand gives a verdict to who waits for it. A keeper has one renewal open at most, and takes its verdict before it sends another.
func (r *renewer) hand(v *tenurev1.RenewalVerdict) {
	r.mu.Lock()
	k := r.open[v.GetNumber()]
	delete(r.open, v.GetNumber())
	r.mu.Unlock()
	if k == nil || k.session.id != v.GetSessionId() {
		return
	}
	select {
	case k.verdicts <- v:
	default:
	}
}
