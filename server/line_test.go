package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// openLine opens a line, and reads its bounds.
func (m *member) openLine(ctx context.Context, t *testing.T) tenurev1.LineService_LineClient {
	t.Helper()
	l, err := tenurev1.NewLineServiceClient(m.conn).Line(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if first, err := l.Recv(); err != nil || first.GetLimits() == nil {
		t.Fatalf("got %v, %v, want the bounds", first, err)
	}
	return l
}

// TestACallOnALineIsThatOfItsOwn compares answers and errors of calls on a line with those of calls by themselves.
func TestACallOnALineIsThatOfItsOwn(t *testing.T) {
	m := start(t)
	l := m.openLine(t.Context(), t)
	put := &tenurev1.PutRequest{Key: "k", Content: text("v")}
	if err := l.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{
		{Number: 1, Request: &tenurev1.LineCall_Put{Put: put}},
	}}); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Recv(); err != nil || len(r.GetAnswers()) != 1 || r.GetAnswers()[0].GetPut().GetHeader().GetRevision() == 0 {
		t.Fatalf("got %v, %v, want a revision", r, err)
	}
	if r, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"}); err != nil || string(r.GetKv().GetValue()) != "v" {
		t.Errorf("got %v, %v, want what was put on the line", r, err)
	}
	for number, call := range []*tenurev1.LineCall{
		{Request: &tenurev1.LineCall_Get{Get: &tenurev1.GetRequest{Key: "none"}}},
		{Request: &tenurev1.LineCall_Get{Get: &tenurev1.GetRequest{}}},
		{Request: &tenurev1.LineCall_Put{Put: &tenurev1.PutRequest{Key: "k", Options: &tenurev1.CallOptions{SessionSecret: []byte("short")}}}},
	} {
		call.Number = uint64(number + 2)
		var want error
		switch r := call.GetRequest().(type) {
		case *tenurev1.LineCall_Get:
			_, want = m.Get(t.Context(), r.Get)
		case *tenurev1.LineCall_Put:
			_, want = m.Put(t.Context(), r.Put)
		}
		if err := l.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{call}}); err != nil {
			t.Fatal(err)
		}
		r, err := l.Recv()
		if err != nil || len(r.GetAnswers()) != 1 {
			t.Fatalf("got %v, %v", r, err)
		}
		got, expected := r.GetAnswers()[0].GetStatus(), status.Convert(want).Proto()
		if want == nil || got.GetCode() != expected.GetCode() || got.GetMessage() != expected.GetMessage() || !sameDetails(got.GetDetails(), expected.GetDetails()) {
			t.Errorf("got %v, want %v", got, expected)
		}
	}
}

func sameDetails(got, want []*anypb.Any) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		a, err := got[i].UnmarshalNew()
		b, err2 := want[i].UnmarshalNew()
		if err != nil || err2 != nil || !proto.Equal(a, b) {
			return false
		}
	}
	return true
}

// TestMetadataOfOneCallIsNoneOfALine opens a line with metadata that stands for options of a request.
func TestMetadataOfOneCallIsNoneOfALine(t *testing.T) {
	m := start(t)
	for _, name := range []string{"tenure-session-secret", "idempotency-key"} {
		l := m.openLine(metadata.AppendToOutgoingContext(t.Context(), name, "x"), t)
		if err := l.Send(&tenurev1.LineRequest{}); err != nil {
			t.Fatal(err)
		}
		_, err := l.Recv()
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	}
}

// TestALineThatIsNotReadHoldsUpOnlyItself asks for far more than the member keeps of answers, and reads none of them.
func TestALineThatIsNotReadHoldsUpOnlyItself(t *testing.T) {
	m := start(t)
	large := &tenurev1.PutRequest{Key: "large", Content: &tenurev1.PutRequest_Value{Value: bytes.Repeat([]byte{1}, 100_000)}}
	if _, err := m.Put(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := m.openLine(ctx, t)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for number := uint64(1); number < 1_000_000; number++ {
			get := &tenurev1.LineCall_Get{Get: &tenurev1.GetRequest{Key: "large"}}
			if l.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{{Number: number, Request: get}}}) != nil {
				return
			}
		}
		t.Error("a million calls were taken from a client that reads nothing")
	}()
	for began := time.Now(); time.Since(began) < time.Second; {
		if _, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "large"}); err != nil {
			t.Fatalf("another call: %v", err)
		}
	}
	cancel()
	<-sent
}

// TestAStoppingMemberDrainsItsLines stops a member that has a line without calls.
func TestAStoppingMemberDrainsItsLines(t *testing.T) {
	m := start(t)
	l := m.openLine(t.Context(), t)
	m.stop()
	r, err := l.Recv()
	if err != nil || r.GetDrain() == nil || codes.Code(r.GetDrain().GetStatus().GetCode()) != codes.Unavailable {
		t.Fatalf("got %v, %v, want that it drains", r, err)
	}
	if _, err = l.Recv(); errors.Is(err, io.EOF) {
		t.Error("it ended well, want STOPPING")
	} else {
		wantError(t, err, codes.Unavailable, "STOPPING")
	}
	if err = m.wait(); err != nil {
		t.Error(err)
	}
}
