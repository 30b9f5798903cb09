package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// newSession asks for a session without TTL and secret.
func newSession() *tenurev1.CreateSessionRequest { return &tenurev1.CreateSessionRequest{} }

// noSession is no session's id.
const noSession = "00000000-0000-4000-8000-000000000001"

// bytesCodec sends bytes in the place of messages, and does not look at answers.
type bytesCodec struct{}

// Marshal returns the bytes.
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	data, ok := v.([]byte)
	if !ok {
		return nil, errors.New("not bytes")
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

// Unmarshal ignores the answer.
func (bytesCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// Name is the name of the codec whose place it takes.
func (bytesCodec) Name() string { return "proto" }

// methodsOf returns all methods of a package of services.
func methodsOf(name protoreflect.FullName) []protoreflect.MethodDescriptor {
	var all []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage(name, func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				all = append(all, f.Services().Get(i).Methods().Get(j))
			}
		}
		return true
	})
	return all
}

// send makes a call with bytes for a message, reads one answer, and counts how it ended.
func (a *attacker) send(ctx context.Context, conn *grpc.ClientConn, what string, method protoreflect.MethodDescriptor, data []byte) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // Some calls wait.
	defer cancel()
	name := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name, grpc.ForceCodecV2(bytesCodec{}))
	if err == nil {
		// A stream that is over takes nothing more; how it ended is read from it, as always.
		if err = stream.SendMsg(data); err == nil || errors.Is(err, io.EOF) {
			_ = stream.CloseSend()
			err = stream.RecvMsg(nil)
		}
	}
	a.answered(string(method.Name())+" "+what, err)
}

// textPlace sets a text at one place of a message.
type textPlace func(m protoreflect.Message, text string)

// textPlaces returns all places of texts and bytes in messages of a kind. Messages within messages of their own kind end at
// depth.
func (a *attacker) textPlaces(kind protoreflect.MessageDescriptor, depth int) map[string]textPlace {
	all := map[string]textPlace{}
	const deepest = 4
	for i := range kind.Fields().Len() {
		f := kind.Fields().Get(i)
		name := "." + string(f.Name())
		switch {
		case f.IsMap():
			all[name] = func(m protoreflect.Message, text string) {
				m.Mutable(f).Map().Set(protoreflect.ValueOfString(text).MapKey(), protoreflect.ValueOfString(text))
			}
		case f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind:
			all[name] = func(m protoreflect.Message, text string) {
				value := protoreflect.ValueOfString(text)
				if f.Kind() == protoreflect.BytesKind {
					value = protoreflect.ValueOfBytes([]byte(text))
				}
				if f.IsList() {
					m.Mutable(f).List().Append(value)
				} else {
					m.Set(f, value)
				}
			}
		case f.Kind() == protoreflect.MessageKind && depth < deepest:
			for inner, at := range a.textPlaces(f.Message(), depth+1) {
				all[name+inner] = func(m protoreflect.Message, text string) {
					if f.IsList() {
						at(a.usually(m.Mutable(f).List().AppendMutable().Message()), text)
					} else {
						at(a.usually(m.Mutable(f).Message()), text)
					}
				}
			}
		}
	}
	return all
}

// usually sets the fields of a message that have a usual value, and returns the message.
func (a *attacker) usually(m protoreflect.Message) protoreflect.Message {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if value, ok := a.usual(f.JSONName()); ok && f.Kind() == protoreflect.StringKind && !f.IsList() && f.ContainingOneof() == nil {
			m.Set(f, protoreflect.ValueOfString(value))
		}
	}
	return m
}

// oddCalls puts odd texts into every field of every request of the API.
func oddCalls(ctx context.Context, a *attacker) error {
	const fieldsMin = 200
	return a.oddCallsTo(ctx, a.Members[0].GRPC, methodsOf("tenure.v1"), fieldsMin)
}

// oddAgentCalls puts odd texts into every field of every request that agents serve.
func oddAgentCalls(ctx context.Context, a *attacker) error {
	const fieldsMin = 50
	methods := slices.DeleteFunc(methodsOf("tenure.v1"), func(m protoreflect.MethodDescriptor) bool {
		return m.Parent().FullName() != protoreflect.FullName(tenurev1.AgentService_ServiceDesc.ServiceName)
	})
	return a.oddCallsTo(ctx, a.Given[agentGiven], methods, fieldsMin)
}

// oddCallsTo puts odd texts into every field of the requests of methods, of which there are so many at least.
func (a *attacker) oddCallsTo(ctx context.Context, address string, methods []protoreflect.MethodDescriptor, fieldsMin int) error {
	conn, err := a.dial(address)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	fields := 0
	for _, method := range methods {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
		if err != nil {
			return err
		}
		for name, at := range a.textPlaces(method.Input(), 0) {
			fields++
			for odd, text := range oddTexts() {
				g.Go(func() error {
					// What is no UTF-8 cannot be encoded; something as long stands for it.
					valid := strings.ToValidUTF8(text, "")
					if valid != text {
						valid = strings.Repeat("\x02", len(text))
					}
					m := a.usually(kind.New())
					if destroy, ok := m.Interface().(*tenurev1.DestroySessionRequest); ok {
						destroy.SessionId = noSession // Other calls need the usual one.
					}
					at(m, valid)
					data, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m.Interface())
					if err != nil {
						return err
					}
					if valid != text {
						data = bytes.ReplaceAll(data, []byte(valid), []byte(text))
					}
					a.send(ctx, conn, name+": "+odd, method, data)
					return nil
				})
			}
		}
	}
	if err := g.Wait(); err != nil || fields >= fieldsMin {
		return err
	}
	return fmt.Errorf("%d fields were found, want at least %d", fields, fieldsMin)
}
