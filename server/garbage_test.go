package server_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// rawCodec sends bytes in the place of messages, and does not look at answers.
type rawCodec struct{}

// Marshal returns the bytes.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	data, ok := v.([]byte)
	if !ok {
		return nil, errors.New("not bytes")
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

// Unmarshal ignores the answer.
func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// Name is the name of the codec whose place it takes.
func (rawCodec) Name() string { return "proto" }

// methods returns all methods of the public API.
func methods(t *testing.T) []protoreflect.MethodDescriptor {
	t.Helper()
	var all []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("tenure.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			for j := range f.Services().Get(i).Methods().Len() {
				all = append(all, f.Services().Get(i).Methods().Get(j))
			}
		}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("found %d methods only", len(all))
	}
	return all
}

// send calls a method with bytes and returns how it ended: with a message, with an error, or not at all in a short time.
func send(ctx context.Context, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	name := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name, grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		return err
	}
	// A stream that is over takes nothing more; how it ended is read from it, as always.
	if err := stream.SendMsg(data); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err := stream.RecvMsg(nil); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// mangle returns a valid message of a type with random fields, damaged now and then.
func mangle(r *rand.Rand, method protoreflect.MethodDescriptor, samples [][]byte) []byte {
	var data []byte
	switch r.IntN(4) {
	case 0:
		data = make([]byte, r.IntN(64))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		return data
	case 1:
		data = samples[r.IntN(len(samples))]
	default:
		m, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
		if err != nil {
			return nil
		}
		message := m.New()
		fill(r, message, 0)
		data, _ = proto.MarshalOptions{AllowPartial: true}.Marshal(message.Interface())
	}
	data = append([]byte(nil), data...)
	for range r.IntN(3) {
		if len(data) > 0 {
			data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
		}
	}
	return data[:len(data)-r.IntN(min(len(data), 2)+1)]
}

// fill sets random fields of a message to values that are odd in one way or another.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if r.IntN(2) == 0 || f.IsMap() || depth > 3 {
			continue
		}
		if f.IsList() {
			list := m.Mutable(f).List()
			for range r.IntN(3) {
				if f.Kind() == protoreflect.MessageKind {
					fill(r, list.AppendMutable().Message(), depth+1)
				} else {
					list.Append(odd(r, f))
				}
			}
			continue
		}
		if f.Kind() == protoreflect.MessageKind {
			fill(r, m.Mutable(f).Message(), depth+1)
			continue
		}
		m.Set(f, odd(r, f))
	}
}

// odd returns a value of a field's kind.
func odd(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	texts := []string{"", "a", "00000000-0000-4000-8000-000000000000", "\x00", "\u2028/../%2F?", string(make([]byte, 2000))}
	numbers := []uint64{0, 1, 2, 1000, 1 << 31, 1 << 40, 1<<63 - 1}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(texts[r.IntN(len(texts))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(texts[r.IntN(len(texts))]))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(12) - 1))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(numbers[r.IntN(len(numbers))]) - 1)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(numbers[r.IntN(len(numbers))]) - 1)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(numbers[r.IntN(len(numbers))]))
	default:
		return protoreflect.ValueOfUint64(numbers[r.IntN(len(numbers))])
	}
}

func TestGarbageIsNeverAFaultOfTheService(t *testing.T) {
	m := start(t)
	session := m.openSession(t, "s")
	samples := [][]byte{nil}
	for _, message := range []proto.Message{
		&tenurev1.PutRequest{Key: "k", Content: text("v"), Acquire: session},
		&tenurev1.AcquireLockRequest{Key: "k", SessionId: session},
		&tenurev1.DestroySessionRequest{SessionId: session},
		&tenurev1.WatchRequest{Keys: []string{"k"}, AfterRevision: 1},
	} {
		data, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, data)
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	answered, refused := 0, 0
	for round := range 100 {
		for _, method := range methods(t) {
			if round > 3 && (method.IsStreamingServer() || method.IsStreamingClient()) {
				continue // Good requests for streams cost their whole time.
			}
			data := mangle(r, method, samples)
			err := send(t.Context(), m.conn, method, data)
			switch info := infoOf(err); status.Code(err) {
			case codes.OK:
				answered++
			case codes.Internal, codes.Unknown:
				t.Fatalf("seed %d: %s of %q: %v", seed, method.FullName(), data, err)
			case codes.DeadlineExceeded, codes.Canceled:
			default:
				refused++
				if info.GetReason() == "" {
					t.Errorf("seed %d: %s of %q: %v has no reason", seed, method.FullName(), data, err)
				}
			}
		}
	}
	if answered < 50 || refused < 200 {
		t.Errorf("seed %d: %d answered, %d refused: too few to mean anything", seed, answered, refused)
	}
	if m.logs.FilterMessage("call failed").Len()+m.logs.FilterMessage("panic").Len() > 0 {
		t.Errorf("seed %d: the log has %v", seed, m.logs.FilterMessage("call failed").All())
	}
	// Some garbage is a good request to make a limit very small.
	_, err := m.SetLimits(t.Context(), &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{StoreBytesMax: new(uint64(0))}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Put(t.Context(), &tenurev1.PutRequest{Key: "after"}); err != nil {
		t.Errorf("seed %d: afterwards a put fails: %v", seed, err)
	}
}

func TestMetadataIsChecked(t *testing.T) {
	m := start(t)
	tests := map[string][]string{
		"a secret that is not base64": {"tenure-session-secret", "!"},
		"a secret of another length":  {"tenure-session-secret", "c2hvcnQ="},
		"two secrets":                 {"tenure-session-secret", "a", "tenure-session-secret", "b"},
		"a short idempotency key":     {"idempotency-key", "short"},
	}
	for name, pairs := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), pairs...)
			_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k"})
			wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		})
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "idempotency-key", "0123456789abcdef")
	var revisions []uint64
	for range 2 {
		r, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, r.GetHeader().GetRevision())
	}
	if revisions[0] != revisions[1] {
		t.Errorf("revisions %v, want the first result twice", revisions)
	}
}

// TestOwnLimitAnswersBeforeThatOfTheLibrary sends messages that are a little too large, where the limit is larger than usual.
func TestOwnLimitAnswersBeforeThatOfTheLibrary(t *testing.T) {
	const limit = 6 << 20
	m := start(t, func(c *server.Config) { c.RequestBytesMax = limit })
	_, err := m.Put(t.Context(), &tenurev1.PutRequest{
		Key: "k", Content: &tenurev1.PutRequest_Value{Value: make([]byte, limit)},
	})
	wantError(t, err, codes.ResourceExhausted, "TOO_LARGE")
	if got := infoOf(err).GetMetadata()["limit"]; got != "request_bytes_max" {
		t.Errorf("got limit %q, want request_bytes_max", got)
	}
	k := m.keepAlive(t)
	err = k.stream.Send(&tenurev1.KeepAliveRequest{Renewals: []*tenurev1.SessionRenewal{{Secret: make([]byte, limit)}}})
	if err == nil {
		_, err = k.stream.Recv()
	}
	wantError(t, err, codes.ResourceExhausted, "TOO_LARGE")
}
