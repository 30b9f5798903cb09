package server_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// request sends a request of a call on a connection of frames, and reports false if the member hung up.
func (c *wireClient) request(t *testing.T, stream uint32, method string, m proto.Message) bool {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	data = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
	return c.spend(len(data)) && c.call(stream, method) == nil && c.WriteData(stream, true, data) == nil
}

// putLarge puts what a list answers with most of a megabyte.
func (m *member) putLarge(t *testing.T) {
	t.Helper()
	for key, size := range map[string]int{"large/1": 300_000, "large/2": 300_000, "large/3": 300_000, "middle": 60_000} {
		put := &tenurev1.PutRequest{Key: key, Content: &tenurev1.PutRequest_Value{Value: make([]byte, size)}}
		if _, err := m.Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreadAnswersPinLittle asks for lists of most of a megabyte and reads none. Then it makes transactions
// until their answers have no room either.
func TestUnreadAnswersPinLittle(t *testing.T) {
	const bound = 16 << 20
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.IntakeBytesMax = registry, bound })
	m.putLarge(t)
	used := func() float64 {
		return sharedValue(t, registry, "tenure_server_shared_used", "limit", "answer_bytes_max")
	}
	refused := func() bool {
		return sharedValue(t, registry, "tenure_server_shared_refused_total", "limit", "answer_bytes_max") > 0
	}
	c := attackFrames(t, m.at.GRPC)
	stream := uint32(1)
	for ; stream < 400 && !refused(); stream += 2 {
		if !c.request(t, stream, tenurev1.KVService_List_FullMethodName, &tenurev1.ListRequest{Prefix: "large/"}) {
			t.Fatal("the member hung up")
		}
	}
	for wait := time.Now(); !refused() && time.Since(wait) < patience; {
		m.wantServed(t, "quiet")
	}
	if n := used(); n > bound || n < bound/4 || !refused() {
		t.Errorf("%v bytes are pinned and refused is %v, want at most %d, and that some are", n, refused(), bound)
	}
	m.wantServed(t, "quiet")
	txn := &tenurev1.TxnRequest{Then: []*tenurev1.Op{
		{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{Key: "done", Content: &tenurev1.PutRequest_Value{Value: []byte("v")}}}},
		{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: "middle"}}},
	}}
	for range 100 {
		if !c.request(t, stream, tenurev1.KVService_Txn_FullMethodName, txn) {
			break
		}
		stream += 2
	}
	c.wantCut(t)
	if n := sharedValue(t, registry, "tenure_server_connections_cut_total", "cause", "unread"); n != 1 {
		t.Errorf("%v connections were cut, want 1", n)
	}
	for wait := time.Now(); used() > 0 && time.Since(wait) < patience; {
		m.wantServed(t, "quiet")
	}
	if n := used(); n > 0 {
		t.Errorf("%v bytes are still pinned, want none", n)
	}
	if got, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "done"}); err != nil || string(got.GetKv().GetValue()) != "v" {
		t.Errorf("what the transactions put: got %v, %v; want v", got, err)
	}
}

// TestAnswersThatAreReadOrGivenUpPinNothing lists one after the other, and more at a time than have room.
func TestAnswersThatAreReadOrGivenUpPinNothing(t *testing.T) {
	const bound = 4 << 20
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.IntakeBytesMax = registry, bound })
	m.putLarge(t)
	for range 20 {
		if _, err := m.List(t.Context(), &tenurev1.ListRequest{Prefix: "large/"}); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan error)
	const atATime = 50
	for range atATime {
		go func() {
			_, err := m.List(t.Context(), &tenurev1.ListRequest{Prefix: "large/"})
			answered <- err
		}()
	}
	for range atATime {
		if err := <-answered; err != nil {
			wantError(t, err, codes.ResourceExhausted, "TOO_MANY_REQUESTS")
		}
	}
	used := func() float64 {
		return sharedValue(t, registry, "tenure_server_shared_used", "limit", "answer_bytes_max")
	}
	for wait := time.Now(); used() > 0 && time.Since(wait) < patience; {
		m.wantServed(t, "quiet")
	}
	if n := used(); n > 0 {
		t.Errorf("%v bytes are still pinned, want none", n)
	}
}
