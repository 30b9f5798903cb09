package gate_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
)

// requestBytesMax is how large a request may be by default.
const requestBytesMax = 3 << 19

// decoded decodes a message as a member does, and returns what it allocated for that.
func decoded(t *testing.T, data []byte, m proto.Message) (allocated uint64) {
	t.Helper()
	codec := gate.NewCodec(requestBytesMax)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, m)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// entered returns a gate that has room for calls.
func entered(t *testing.T) *gate.Gate {
	t.Helper()
	rooms, err := gate.NewRooms(gate.Limits{CallsMax: 100, WaitsMax: 1, ConnectionsMax: 1, IntakeBytesMax: 1})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.New(gate.Options{
		Logger: zap.NewNop(), Registerer: prometheus.NewRegistry(), RequestBytesMax: requestBytesMax, Stopping: t.Context(), Rooms: rooms,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// refused returns why the gate refuses a message; nil: it does not.
func refused(t *testing.T, m proto.Message) *reason.Error {
	t.Helper()
	_, err := entered(t).Enter(share.Caller{}, tenurev1.KVService_Get_FullMethodName, m)
	return reason.Of(err)
}

// TestAMessageOfVeryManyIsNotDecoded has as many empty messages in one as fit into a request, on several levels.
func TestAMessageOfVeryManyIsNotDecoded(t *testing.T) {
	const most = requestBytesMax/2 - 16
	compares := &tenurev1.TxnRequest{Compares: make([]*tenurev1.Compare, most)}
	guards := &tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{Guards: make([]*tenurev1.Guard, most)}}
	for i := range most {
		compares.Compares[i], guards.Options.Guards[i] = &tenurev1.Compare{}, &tenurev1.Guard{}
	}
	for name, m := range map[string]proto.Message{
		"of a call":      compares,
		"of its options": guards,
		"of a line":      &tenurev1.LineRequest{Calls: []*tenurev1.LineCall{{Request: &tenurev1.LineCall_Txn{Txn: compares}}}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := m.ProtoReflect().New().Interface()
		if n := decoded(t, data, got); n > 4<<20 {
			t.Errorf("%s: %d bytes were allocated for %d", name, n, len(data))
		}
		e := refused(t, got)
		if e == nil || e.Reason != tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE || e.Metadata["limit"] != "request_parts_max" {
			t.Errorf("%s: got %v, want TOO_LARGE", name, e)
		}
	}
}

// TestLargeMessagesThatServicesTakeAreDecoded has the ones with the most messages in them.
func TestLargeMessagesThatServicesTakeAreDecoded(t *testing.T) {
	few := map[string]string{}
	for range 64 {
		few[strings.Repeat("m", len(few)+1)] = ""
	}
	rows := &tenurev1.SyncNodeRequest{}
	for range 128 {
		rows.Services = append(rows.Services, &tenurev1.Service{Name: "s", Meta: few, Weights: &tenurev1.ServiceWeights{}})
	}
	renewals := &tenurev1.KeepAliveRequest{}
	for range 1024 {
		renewals.Renewals = append(renewals.Renewals, &tenurev1.SessionRenewal{SessionId: strings.Repeat("s", 36), Secret: make([]byte, 32)})
	}
	line := &tenurev1.LineRequest{}
	for n := range 4096 {
		line.Calls = append(line.Calls, &tenurev1.LineCall{Number: uint64(n), Request: &tenurev1.LineCall_Put{Put: &tenurev1.PutRequest{
			Key: strings.Repeat("k", 100), Options: &tenurev1.CallOptions{RequestId: &tenurev1.RequestID{SessionId: strings.Repeat("s", 36), Sequence: 1}},
		}}})
	}
	for name, m := range map[string]proto.Message{
		"a registration": rows, "renewals": renewals, "a line": line,
		"a value": &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Value{Value: make([]byte, 512<<10)}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) < 64<<10 {
			t.Errorf("%s has only %d bytes", name, len(data))
		}
		got := m.ProtoReflect().New().Interface()
		decoded(t, data, got)
		if !proto.Equal(m, got) {
			t.Errorf("%s was not decoded: %v", name, refused(t, got))
		}
	}
}

// BenchmarkUnmarshal decodes puts of several sizes, and a message of a line as clients send them.
func BenchmarkUnmarshal(b *testing.B) {
	codec := gate.NewCodec(requestBytesMax)
	line := &tenurev1.LineRequest{}
	for n := range 1000 {
		line.Calls = append(line.Calls, &tenurev1.LineCall{Number: uint64(n), Request: &tenurev1.LineCall_Put{Put: &tenurev1.PutRequest{
			Key: "service/web/0001", Content: &tenurev1.PutRequest_Value{Value: make([]byte, 100)},
		}}})
	}
	put := func(n int) proto.Message {
		return &tenurev1.PutRequest{Key: "k", Content: &tenurev1.PutRequest_Value{Value: make([]byte, n)}}
	}
	for name, m := range map[string]proto.Message{"100 B": put(100), "512 KiB": put(512 << 10), "a line of 1000": line} {
		data, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, m.ProtoReflect().New().Interface()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
