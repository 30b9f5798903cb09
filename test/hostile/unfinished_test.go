package hostile_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// intakeMiB is what one caller may pin in messages and bodies that are not complete: half of what there is.
const intakeMiB = 128

// unfinishedAttacks leave what they send incomplete.
func unfinishedAttacks() []attack {
	pins := func(bool) int { return intakeMiB }
	return []attack{
		{entry: "S10", name: "messages that never end", attack: beginMessages, pins: pins, shows: `tenure_server_connections_cut_total{cause="budget"}`},
		{entry: "S10", name: "bodies that never end", attack: beginBodies, pins: pins, shows: `tenure_server_shared_refused_total{limit="intake_bytes_max"}`},
		{entry: "S10", name: "calls that never send", attack: beginCalls, alike: sendCalls, pins: pins},
	}
}

// beginMessages begins puts of 1 MB whose last bytes never come, until the member hangs up, again and again.
func beginMessages(ctx context.Context, a *attacker) error {
	part := framed(1_000_000, make([]byte, 16_000)) // As the windows allow at once.
	for range a.count(1, 30) {
		w, err := a.wire(ctx, a.Members[0].GRPC)
		if err != nil {
			return err
		}
		for stream := uint32(1); w.spend(len(part)); stream += 2 {
			if w.call(stream, tenurev1.KVService_Put_FullMethodName) != nil || w.WriteData(stream, false, part) != nil {
				break
			}
		}
		<-w.gone
	}
	return nil
}

// beginCalls begins calls that never send a message, as many as it may.
func beginCalls(ctx context.Context, a *attacker) error {
	methods := []string{
		tenurev1.KVService_Put_FullMethodName, tenurev1.SessionService_KeepAlive_FullMethodName,
		tenurev1.WatchService_Watch_FullMethodName, tenurev1.ClusterService_Backup_FullMethodName,
	}
	return a.manyCalls(ctx, func(w *wire, stream uint32) error { return w.call(stream, methods[stream/2%uint32(len(methods))]) })
}

// sendCalls makes as many calls, which send their message: the cheapest there is, to read a key.
func sendCalls(ctx context.Context, a *attacker) error {
	message, err := proto.Marshal(&tenurev1.GetRequest{Key: "hostile"})
	if err != nil {
		return err
	}
	return a.manyCalls(ctx, func(w *wire, stream uint32) error {
		if err := w.call(stream, tenurev1.KVService_Get_FullMethodName); err != nil {
			return err
		}
		return w.WriteData(stream, true, framed(len(message), message))
	})
}

// manyCalls begins calls on several connections, on each until the member hangs up.
func (a *attacker) manyCalls(ctx context.Context, begin func(w *wire, stream uint32) error) error {
	const streams = 2000 // on a connection
	for range a.count(1, 16) {
		w, err := a.wire(ctx, a.Members[0].GRPC)
		if err != nil {
			return err
		}
		for i := range uint32(streams) {
			if begin(w, 2*i+1) != nil {
				break
			}
		}
	}
	return nil
}

// beginBodies sends bodies over REST whose last byte never comes.
func beginBodies(ctx context.Context, a *attacker) error {
	const size = 1_000_000
	head := "PUT /v1/kv/hostile HTTP/1.1\r\nHost: " + a.Members[0].HTTP + "\r\nContent-Length: 1000000\r\n\r\n"
	for range a.count(160, 2000) {
		conn, err := a.raw(ctx, a.Members[0].HTTP, head+strings.Repeat("v", size-1))
		if err != nil {
			return err
		}
		a.keep(conn)
		go func() { // It ends with the connection.
			if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				_ = answer.Body.Close() // Only the status counts.
				a.status("a body that never ends", answer, nil)
			}
		}()
	}
	return nil
}
