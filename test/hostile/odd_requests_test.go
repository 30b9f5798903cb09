package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// oddAttacks send what is no request.
func oddAttacks() []attack {
	return []attack{
		{entry: "S18", name: "names of other hosts", attack: askForOthers, flags: []string{"--debug-http", "127.0.0.1:0"}},
		{entry: "frames", name: "frames at random", attack: randomFrames},
		{entry: "frames", name: "messages that are not gRPC", attack: oddMessages},
		{entry: "frames", name: "floods of frames that ask for answers", attack: floodFrames},
		{entry: "HTTP", name: "HTTP at random", attack: randomHTTP},
	}
}

// askForOthers reads everything over HTTP under the names of other hosts, and as a page of another site.
func askForOthers(ctx context.Context, a *attacker) error {
	client := a.web()
	for _, path := range []string{"/v1/kv", "/v1/sessions", "/v1/admin/backup", "/v1/watch?prefixes=", "/metrics", "/healthz", "/openapi.json"} {
		for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "evil.example:7401"} {
			for _, site := range []string{"", "cross-site"} {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Members[0].HTTP+path, http.NoBody)
				if err != nil {
					return err
				}
				if host != "" {
					r.Host = host
				}
				if site != "" {
					r.Header.Set("Sec-Fetch-Site", site)
				}
				if host == "" && site == "" {
					continue // Everybody may ask so.
				}
				answer, err := client.Do(r)
				if err != nil {
					return err
				}
				_ = answer.Body.Close() // Only the status counts.
				a.status(path, answer, nil)
				if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusMisdirectedRequest {
					return fmt.Errorf("%s for host %q and site %q: %s", path, host, site, answer.Status)
				}
			}
		}
	}
	return nil
}

// alternate makes something happen n times, on several connections at a time. Whoever is cut begins again.
func (a *attacker) alternate(n int, act func(r *rand.Rand) error) error {
	var all sync.WaitGroup
	failed := make(chan error, 4)
	for i := range cap(failed) {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		all.Go(func() {
			for range n / cap(failed) {
				if err := act(r); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

// randomFrames sends frames of every type, known and unknown, with lengths, flags, streams and bytes at random.
func randomFrames(ctx context.Context, a *attacker) error {
	return a.alternate(a.count(400, 40_000), func(r *rand.Rand) error {
		w, err := a.wire(ctx, []string{a.Members[0].GRPC, a.Members[0].Peer}[r.IntN(2)])
		if err != nil {
			return err
		}
		defer func() { _ = w.conn.Close() }()
		for i := range 1 + r.IntN(30) {
			stream := uint32(2*r.IntN(20) + 1 - r.IntN(2)*r.IntN(2))
			if r.IntN(2) == 0 && w.call(stream, tenurev1.KVService_Put_FullMethodName) != nil {
				return nil // The member hung up, as it may.
			}
			payload := make([]byte, r.IntN(100)*r.IntN(10))
			for j := range payload {
				payload[j] = byte(r.Uint32())
			}
			kind := http2.FrameType(r.IntN(11))
			if w.WriteRawFrame(kind, http2.Flags(r.Uint32()), stream*uint32(min(1, r.IntN(5))), payload) != nil || i > 20 {
				return nil
			}
		}
		// Bytes that are no frame end it.
		_, _ = w.conn.Write([]byte{0xff, 0xff, 0xff, byte(r.IntN(12)), byte(r.Uint32())}) // The member may have hung up.
		return nil
	})
}

// floodFrames sends frames that cost the member an answer, a look or memory each, as many as it takes, and reads no answers.
func floodFrames(ctx context.Context, a *attacker) error {
	long := bytes.Repeat([]byte{0x40, 1, 'n', 1, 'v'}, 1000) // A header of HPACK, over and over, which no table keeps.
	for name, flood := range map[string]func(w *wire, i int) error{
		"pings": func(w *wire, i int) error { return w.WritePing(false, [8]byte{byte(i)}) },
		"settings": func(w *wire, _ int) error {
			return w.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16 << 10})
		},
		"priorities": func(w *wire, i int) error { return w.WritePriority(uint32(2*i+1), http2.PriorityParam{}) },
		"empty data": func(w *wire, i int) error {
			if i == 0 {
				return w.call(1, tenurev1.KVService_Put_FullMethodName)
			}
			return w.WriteData(1, false, nil)
		},
		"windows": func(w *wire, i int) error {
			if i == 0 {
				return w.call(1, tenurev1.KVService_Put_FullMethodName)
			}
			return w.WriteWindowUpdate(1, 1)
		},
		"continuations": func(w *wire, i int) error {
			if i == 0 {
				return w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: long})
			}
			return w.WriteContinuation(1, false, long)
		},
	} {
		for _, address := range []string{a.Members[0].GRPC, a.Members[0].Peer} {
			w, err := a.wire(ctx, address)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for i := range a.count(2000, 1_000_000) {
				_ = w.conn.SetWriteDeadline(time.Now().Add(10 * time.Second)) // The member may stop reading, as it should.
				if flood(w, i) != nil {
					break // The member hung up, as it may.
				}
			}
		}
	}
	return nil
}

// oddMessages makes calls that are HTTP/2, and not gRPC.
func oddMessages(ctx context.Context, a *attacker) error {
	put := tenurev1.KVService_Put_FullMethodName
	w, err := a.wire(ctx, a.Members[0].GRPC)
	if err != nil {
		return err
	}
	stream := uint32(1)
	call := func(data []byte, method string, metadata ...string) error {
		defer func() { stream += 2 }()
		if !w.spend(len(data)) {
			return fmt.Errorf("the member hung up before %q of %q", data, metadata)
		}
		if err := w.call(stream, method, metadata...); err != nil {
			return err
		}
		return w.WriteData(stream, true, data)
	}
	for _, timeout := range []string{
		"", "1", "S", "-1S", "+1S", "1 S", "0x1S", "999999999S", "99999999H", "00000000n", "1Y", "1SS", "\u00b5", strings.Repeat("1", 8000),
	} {
		if err := call(framed(0, nil), put, "grpc-timeout", timeout); err != nil {
			return err
		}
	}
	for _, data := range [][]byte{
		{},
		{0},
		{0, 0, 0, 0},
		{1, 0, 0, 0, 0},
		{2, 0, 0, 0, 0},
		{255, 0, 0, 0, 0},
		framed(10, []byte("x")), framed(1<<31, nil),
		framed(1<<32-1, nil), append(framed(0, nil), framed(0, nil)...), framed(2, []byte{0xff, 0xff}),
	} {
		for _, method := range []string{put, "/tenure.v1.SessionService/KeepAlive", "/tenure.v1.WatchService/Watch", "/", "", "/a/b/c", "/grpc.health.v1.Health/Check"} {
			if err := call(data, method); err != nil {
				return err
			}
		}
	}
	for _, metadata := range [][]string{
		{"grpc-encoding", "gzip"},
		{"grpc-encoding", "\x01"},
		{"grpc-accept-encoding", strings.Repeat("gzip,", 1000)},
		{"x-bin", "!"},
		{"tenure-session-secret", "\x00"},
		{"idempotency-key", strings.Repeat("k", 7000)},
		{"grpc-status", "13"},
		{"host", "evil"},
		{"tenure-peer-from", "1"},
		{"x-forwarded-for", "127.0.0.1"},
		{"tenure-remote-address", "127.0.0.1:1"},
	} {
		if err := call(framed(0, nil), put, metadata...); err != nil {
			return err
		}
	}
	return nil
}

// randomHTTP sends requests of HTTP/1 that are damaged at random.
func randomHTTP(ctx context.Context, a *attacker) error {
	whole := []string{
		"GET /v1/kv?prefix=a HTTP/1.1\r\nHost: %s\r\n\r\n",
		"PUT /v1/kv/hostile HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\n\r\nabc",
		"POST /v1/txn HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n",
		"POST /v1/sessions HTTP/1.1\r\nHost: %s\r\nContent-Length: 15\r\nIdempotency-Key: 0123456789abcdef\r\n\r\n{\"ttl\":\"15s\"}  ",
	}
	return a.alternate(a.count(1500, 100_000), func(r *rand.Rand) error {
		text := damaged(r, fmt.Sprintf(whole[r.IntN(len(whole))], a.Members[0].HTTP))
		at := a.Members[0]
		conn, err := a.raw(ctx, []string{at.HTTP, at.HTTP, at.HTTP, at.GRPC, at.Peer}[r.IntN(5)], string(text))
		if err != nil {
			return err
		}
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // It may be gone.
		}
		a.statusOf(fmt.Sprintf("%q", text), conn)
		return nil
	})
}

// damaged returns a text with bytes changed, lost, doubled and put in at random.
func damaged(r *rand.Rand, whole string) []byte {
	text := []byte(whole)
	for range r.IntN(6) {
		at := r.IntN(len(text))
		switch r.IntN(4) {
		case 0:
			text[at] = byte(r.Uint32())
		case 1:
			text = append(text[:at], text[at+1:]...)
		case 2:
			text = append(text[:at:at], append([]byte("\r\n:%/"[:1+r.IntN(5)]), text[at:]...)...)
		case 3:
			text = append(text[:at:at], append(text[max(0, at-r.IntN(20)):at:at], text[at:]...)...)
		}
	}
	return text
}
