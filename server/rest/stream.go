package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// Limits of streams over REST.
const (
	// streamWriteTimeout is how long a client may leave a line unread. It costs nothing but its connection meanwhile.
	streamWriteTimeout = 10 * time.Minute
)

// streamsKey is the key of a context in a request's context: the one that ends all streams when the member stops.
type streamsKey struct{}

// stream makes a call that answers with a stream, and writes each answer as a line. The first answer decides: is it an
// error, the request fails with its status; else the headers go out with the first line. Later errors are a last line.
func (g *gateway) stream(ctx context.Context, w http.ResponseWriter, r *http.Request, call *restCall) {
	caller := g.callers.OfText(r.RemoteAddr)
	if !g.streams.Take(caller, 1) {
		writeError(w, reason.Exceeds("rest_streams_max", restStreamsMax,
			"this member has no room for another stream over REST of %s now; all callers share %d", caller, restStreamsMax), g.log)
		return
	}
	defer g.streams.Give(caller, 1)
	request, err := newMessage(call.route.input)
	if err != nil {
		writeError(w, err, g.log)
		return
	}
	if e := fill(request, call); e != nil {
		e.write(w)
		return
	}
	leaveOnDisconnect(request)

	ctx, cancel := context.WithCancelCause(outgoing(ctx, r))
	defer cancel(nil)
	defer endStream(r, cancel)()
	out := lineWriter{w: w, control: http.NewResponseController(w), split: linesFor(request)}
	out.outlast()
	err = g.receive(ctx, call, request, &out)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, reason.ErrStopping) {
		err = stoppedUnder(cause, request, out.begun)
	}
	switch {
	case err == nil || errors.Is(err, errLineLost):
	case out.begun:
		_ = out.write(restErrorOf(err).line())
	default:
		out.limit()
		writeError(w, err, g.log)
	}
}

// stoppedUnder returns the error for a stream that ends because the member stops, or the connection does. One that takes a lock changes
// something: it had its place once it has said anything, and before that its caller does not know.
func stoppedUnder(cause error, request proto.Message, begun bool) error {
	switch request.(type) {
	case *tenurev1.AcquireLockRequest, *tenurev1.CampaignRequest:
	default:
		return cause
	}
	if begun {
		return reason.AfterChange(cause)
	}
	e := reason.Of(cause)
	e.Applied = reason.AppliedUnknown
	return e
}

// receive makes the call and passes its answers on until the end.
func (g *gateway) receive(ctx context.Context, call *restCall, request proto.Message, out *lineWriter) error {
	stream, err := g.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, call.route.rpc)
	if err != nil {
		return err
	}
	// A call that failed already says so when its answer is read.
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	call.sent()
	for {
		answer, err := newMessage(call.route.output)
		if err != nil {
			return err
		}
		err = stream.RecvMsg(answer)
		if errors.Is(err, io.EOF) {
			out.begin(nil, nil)
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.answer(stream, answer); err != nil {
			return err
		}
	}
}

// errLineLost says that a client did not take a line: it has gone, or stood still for too long.
var errLineLost = errors.New("line not taken")

// lineWriter writes a stream's lines to a client, each at once.
type lineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	split   func(proto.Message) iter.Seq[proto.Message]
	begun   bool
}

// begin sends the headers, if that was not done yet.
func (l *lineWriter) begin(md metadata.MD, first proto.Message) {
	if l.begun {
		return
	}
	l.begun = true
	header := l.w.Header()
	copyHeader(header, md)
	if first != nil {
		setRevision(header, first)
	}
	header.Set("Content-Type", contentTypeLines)
	// Tells proxies that gather an answer before they pass it on not to.
	header.Set("X-Accel-Buffering", "no")
	l.w.WriteHeader(http.StatusOK)
}

// answer sends one answer of a call.
func (l *lineWriter) answer(stream grpc.ClientStream, answer proto.Message) error {
	if !l.begun {
		md, err := stream.Header()
		if err != nil {
			return err
		}
		l.begin(md, answer)
	}
	for message := range l.split(answer) {
		line, err := jsonMarshaler{}.Marshal(message)
		if err != nil {
			return err
		}
		if err := l.write(line); err != nil {
			return err
		}
	}
	return nil
}

// write sends one line. Between lines there is no deadline: a stream may be silent for as long as nothing happens.
func (l *lineWriter) write(line []byte) error {
	l.limit()
	defer l.outlast()
	if _, err := l.w.Write(line); err != nil {
		return fmt.Errorf("%w: %w", errLineLost, err)
	}
	if err := l.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errLineLost, err)
	}
	return nil
}

// limit bounds how long the client may take for what is written next. Deadlines are not to be had on every connection that tests make; then a
// client may stand still.
func (l *lineWriter) limit() { _ = l.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) }

// outlast lets the stream be silent. The server's own time for an answer would end it: with HTTP/2 it does so while nothing is written.
func (l *lineWriter) outlast() { _ = l.control.SetWriteDeadline(time.Time{}) }

// newMessage returns an empty message of a type of the API.
func newMessage(of protoreflect.MessageDescriptor) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		return nil, fmt.Errorf("find message %s: %w", of.FullName(), err)
	}
	return kind.New().Interface(), nil
}

// leaveOnDisconnect gives up a place in a queue when the request breaks, unless it says otherwise: somebody who waits
// with curl and goes away does not mean to be granted the lock later.
func leaveOnDisconnect(request proto.Message) {
	switch m := request.(type) {
	case *tenurev1.AcquireLockRequest:
		if m.LeaveOnDisconnect == nil {
			m.LeaveOnDisconnect = new(true)
		}
	case *tenurev1.CampaignRequest:
		if m.LeaveOnDisconnect == nil {
			m.LeaveOnDisconnect = new(true)
		}
	}
}
