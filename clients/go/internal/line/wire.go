package line

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Fields of line.proto. TestFields compares them with it.
const (
	fieldCredentials, fieldCalls, fieldCancels   = 1, 2, 3 // LineRequest
	fieldCredits                                 = 4       // LineRequest
	fieldMessages, fieldBytes                    = 2, 3    // LineCredit
	fieldCreditMessages, fieldCreditBytes        = 4, 5    // LineCall
	fieldParts                                   = 4       // LineResponse
	fieldNumbers                                 = 1       // LinePart
	fieldWaitsMax                                = 3       // LineLimits
	fieldToken                                   = 2       // LineCredential
	fieldNumber, fieldRemaining, fieldCredential = 1, 2, 3 // LineCall; the number also LineCredential, LineCredit, LineAnswer
	fieldLimits, fieldAnswers, fieldDrain        = 1, 2, 3 // LineResponse
	fieldStatus                                  = 2       // LineAnswer, LineDrain
	fieldCallsMax, fieldBytesMax                 = 1, 2    // LineLimits
	fieldVerbs                                   = 16      // LineCall, LineAnswer: requests and responses, from here on
)

const (
	// callBytesMax is how large a request may be; a larger one is made by itself, as it would hold up others.
	callBytesMax = 64 << 10
	// messageBytes is how large a message becomes.
	messageBytes = 64 << 10
	// perCallBytes is more than what a call needs beside its request.
	perCallBytes = 48
	// authorization is the metadata with a token, and bearer precedes it there.
	authorization = "authorization"
	bearer        = "Bearer "
)

// verbs are the methods that lines carry, with the field of their request and response.
var verbs = map[string]protowire.Number{
	tenurev1.KVService_Get_FullMethodName:                 16,
	tenurev1.KVService_Put_FullMethodName:                 17,
	tenurev1.KVService_Delete_FullMethodName:              18,
	tenurev1.KVService_DeletePrefix_FullMethodName:        19,
	tenurev1.KVService_Txn_FullMethodName:                 20,
	tenurev1.LockService_TryAcquireLock_FullMethodName:    21,
	tenurev1.LockService_CancelWait_FullMethodName:        22,
	tenurev1.LockService_ReleaseLock_FullMethodName:       23,
	tenurev1.LockService_GetLock_FullMethodName:           24,
	tenurev1.LockService_BreakLock_FullMethodName:         25,
	tenurev1.LockService_CheckSequencer_FullMethodName:    26,
	tenurev1.SessionService_CreateSession_FullMethodName:  27,
	tenurev1.SessionService_RenewSession_FullMethodName:   28,
	tenurev1.SessionService_DestroySession_FullMethodName: 29,
	tenurev1.ElectionService_Proclaim_FullMethodName:      30,
	tenurev1.ElectionService_Resign_FullMethodName:        31,
	tenurev1.ElectionService_GetLeader_FullMethodName:     32,
}

// longs are the methods with many messages that lines carry, with the field of their request and of their parts.
var longs = map[string]protowire.Number{
	tenurev1.LockService_AcquireLock_FullMethodName:  33,
	tenurev1.ElectionService_Campaign_FullMethodName: 34,
	tenurev1.ElectionService_Observe_FullMethodName:  35,
	tenurev1.WatchService_Watch_FullMethodName:       36,
}

// outcome is how a call ended.
type outcome struct {
	response []byte
	err      error
	alone    bool // nothing was done: the call is to be made by itself
}

// call is a call on its way.
type call struct {
	body  []byte // all of its LineCall but number and credential; nil once it is sent and has parts
	size  int    // of the body
	token string
	done  chan struct{} // closed after outcome is set
	outcome

	stream *stream // where it was added
	number uint64  // guarded by the stream's mu; zero: not sent
	left   bool    // its caller waits no longer; guarded as number
	long   *inbox  // of a call with parts; else nil
}

// newCall returns a call; nil if it is to be made by itself.
func newCall(ctx context.Context, method string, args any) *call {
	field, known := verbs[method]
	long := false
	if !known {
		field, long = longs[method]
	}
	request, ok := args.(proto.Message)
	if !known && !long || !ok {
		return nil
	}
	token, plain := tokenOf(ctx)
	if !plain {
		return nil
	}
	size := proto.Size(request)
	if size > callBytesMax {
		return nil
	}
	body := make([]byte, 0, size+perCallBytes)
	if deadline, ok := ctx.Deadline(); ok {
		remaining, err := proto.Marshal(durationpb.New(time.Until(deadline)))
		if err != nil {
			return nil
		}
		body = protowire.AppendTag(body, fieldRemaining, protowire.BytesType)
		body = protowire.AppendBytes(body, remaining)
	}
	var in *inbox
	if long {
		in = newInbox()
		body = protowire.AppendVarint(protowire.AppendTag(body, fieldCreditMessages, protowire.VarintType), aheadMessages)
		body = protowire.AppendVarint(protowire.AppendTag(body, fieldCreditBytes, protowire.VarintType), aheadBytes)
	}
	body = protowire.AppendTag(body, field, protowire.BytesType)
	body = protowire.AppendVarint(body, uint64(size))
	body, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(body, request)
	if err != nil {
		return nil
	}
	return &call{body: body, size: len(body), token: token, done: make(chan struct{}), long: in}
}

// tokenOf returns the token in what a call sends beside its request, or reports false if it sends anything else.
func tokenOf(ctx context.Context) (token string, plain bool) {
	sent, ok := metadata.FromOutgoingContext(ctx)
	if !ok || len(sent) == 0 {
		return "", true
	}
	given := sent.Get(authorization)
	if len(sent) > 1 || len(given) != 1 {
		return "", false
	}
	return strings.CutPrefix(given[0], bearer)
}

// appendCall appends a call to a message.
func appendCall(message []byte, c *call, credential uint32) []byte {
	size := protowire.SizeTag(fieldNumber) + protowire.SizeVarint(c.number) + len(c.body)
	if credential != 0 {
		size += protowire.SizeTag(fieldCredential) + protowire.SizeVarint(uint64(credential))
	}
	message = protowire.AppendTag(message, fieldCalls, protowire.BytesType)
	message = protowire.AppendVarint(message, uint64(size))
	message = protowire.AppendTag(message, fieldNumber, protowire.VarintType)
	message = protowire.AppendVarint(message, c.number)
	if credential != 0 {
		message = protowire.AppendTag(message, fieldCredential, protowire.VarintType)
		message = protowire.AppendVarint(message, uint64(credential))
	}
	return append(message, c.body...)
}

// appendCredential appends a credential to a message.
func appendCredential(message []byte, number uint32, token string) []byte {
	var c []byte
	c = protowire.AppendTag(c, fieldNumber, protowire.VarintType)
	c = protowire.AppendVarint(c, uint64(number))
	c = protowire.AppendTag(c, fieldToken, protowire.BytesType)
	c = protowire.AppendString(c, token)
	message = protowire.AppendTag(message, fieldCredentials, protowire.BytesType)
	return protowire.AppendBytes(message, c)
}

// appendCancel appends the number of a call that is canceled to a message.
func appendCancel(message []byte, number uint64) []byte {
	message = protowire.AppendTag(message, fieldCancels, protowire.VarintType)
	return protowire.AppendVarint(message, number)
}

// appendCredit appends a credit to a message.
func appendCredit(message []byte, given credit) []byte {
	var c []byte
	c = protowire.AppendVarint(protowire.AppendTag(c, fieldNumber, protowire.VarintType), given.number)
	c = protowire.AppendVarint(protowire.AppendTag(c, fieldMessages, protowire.VarintType), given.messages)
	c = protowire.AppendVarint(protowire.AppendTag(c, fieldBytes, protowire.VarintType), given.bytes)
	return protowire.AppendBytes(protowire.AppendTag(message, fieldCredits, protowire.BytesType), c)
}

// partOf reads a LinePart: the numbers of its calls, and its message.
func partOf(data []byte) (numbers []uint64, message []byte, err error) {
	err = fields(data, func(field protowire.Number, number uint64, part []byte) error {
		switch {
		case field == fieldNumbers && part == nil:
			numbers = append(numbers, number)
		case field == fieldNumbers:
			for len(part) > 0 {
				packed, n := protowire.ConsumeVarint(part)
				if n < 0 {
					return errWire
				}
				numbers, part = append(numbers, packed), part[n:]
			}
		case field >= fieldVerbs:
			message = part
		}
		return nil
	})
	return numbers, message, err
}

// errWire says that a message is none of line.proto.
var errWire = errors.New("the message is not a LineResponse")

// fields calls take for each field of a message that is made of bytes or is a varint; others it leaves out.
func fields(message []byte, take func(field protowire.Number, number uint64, data []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errWire
		}
		message = message[n:]
		var number uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return errWire
		}
		message = message[n:]
		if err := take(field, number, data); err != nil {
			return err
		}
	}
	return nil
}

// answerOf reads a LineAnswer.
func answerOf(data []byte) (number uint64, out outcome, err error) {
	err = fields(data, func(field protowire.Number, value uint64, part []byte) error {
		switch {
		case field == fieldNumber:
			number = value
		case field == fieldStatus:
			out.err = statusOf(part)
		case field >= fieldVerbs:
			out.response = part
		}
		return nil
	})
	return number, out, err
}

// statusOf reads a LineStatus, which has the fields of google.rpc.Status, as an error.
func statusOf(data []byte) error {
	s := &spb.Status{}
	if err := proto.Unmarshal(data, s); err != nil || s.GetCode() == 0 {
		return status.Error(codes.Internal, fmt.Sprintf("a status on the line: %v", errWire))
	}
	return status.ErrorProto(s)
}

// raw is a codec of gRPC for messages that are bytes already.
type raw struct{}

// message is one that was received.
type message struct{ data []byte }

// Name is that of the protobuf codec, for which it stands in.
func (raw) Name() string { return grpcproto.Name }

// Marshal takes a buffer.
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	buffer, ok := v.(mem.Buffer)
	if !ok {
		return nil, fmt.Errorf("%T is not a buffer", v)
	}
	return mem.BufferSlice{buffer}, nil
}

// Unmarshal fills a message.
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("%T is not a message", v)
	}
	m.data = data.Materialize()
	return nil
}
