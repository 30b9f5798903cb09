package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestHostileBodiesAreRefused writes requests as no library would. None of them may write, or leave the connection in doubt.
func TestHostileBodiesAreRefused(t *testing.T) {
	m := start(t)
	host := "Host: " + m.at.HTTP + "\r\n"
	put := "PUT /v1/kv/hostile HTTP/1.1\r\n" + host
	for name, tc := range map[string]struct {
		request string
		status  int
	}{
		"a length that is negative":        {put + "Content-Length: -1\r\n\r\n", 400},
		"a length that is no number":       {put + "Content-Length: 0x10\r\n\r\n", 400},
		"two lengths":                      {put + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy", 400},
		"a coding that nobody knows":       {put + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
		"a chunk without size":             {put + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		"a chunk larger than numbers":      {put + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400},
		"chunks without end":               {put + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+strings.Repeat("v", 1<<16)+"\r\n", 64), 413},
		"a body announced as 100 MiB":      {put + "Content-Length: 104857600\r\n\r\nv", 413},
		"a body that is compressed":        {put + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nv", 415},
		"no host":                          {"GET /v1/kv/hostile HTTP/1.1\r\n\r\n", 400},
		"two hosts":                        {"GET /v1/kv/hostile HTTP/1.1\r\n" + host + host + "\r\n", 400},
		"a line end in a header":           {"GET /v1/kv/hostile HTTP/1.1\r\n" + host + "X: a\rb\r\n\r\n", 400},
		"a header that is folded":          {"GET /v1/kv/hostile HTTP/1.1\r\n" + host + " X: a\r\n\r\n", 400},
		"a name of a header with a space":  {"GET /v1/kv/hostile HTTP/1.1\r\n" + host + "X : a\r\n\r\n", 400},
		"headers without end":              {"GET /v1/kv/hostile HTTP/1.1\r\n" + host + strings.Repeat("X: "+strings.Repeat("a", 1000)+"\r\n", 64) + "\r\n", 431},
		"a version of tomorrow":            {"GET /v1/kv/hostile HTTP/3.0\r\n" + host + "\r\n", 505},
		"the beginning of HTTP/2":          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403},
		"a zero byte in the path":          {"GET /v1/status%00 HTTP/1.1\r\n" + host + "\r\n", 404},
		"a slash in a noun, escaped twice": {"GET /v1/kv%252Fhostile HTTP/1.1\r\n" + host + "\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			if got := m.exchange(t, tc.request); got != tc.status {
				t.Errorf("got status %d, want %d", got, tc.status)
			}
		})
	}
	got, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "hostile"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("got %v, %v, want that nothing of it was written", got, err)
	}
}

// TestALengthBesideChunksIsNotBelieved sends a body of no chunks with a length of 3, and another request behind it: neither
// may be taken for a part of the other.
func TestALengthBesideChunksIsNotBelieved(t *testing.T) {
	m := start(t)
	put := "PUT /v1/kv/%s HTTP/1.1\r\nHost: " + m.at.HTTP + "\r\n"
	first := fmt.Sprintf(put, "first") + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	second := fmt.Sprintf(put, "second") + "Content-Length: 1\r\nConnection: close\r\n\r\nv"
	answered := m.exchange(t, first+second)
	for key, want := range map[string]string{"first": "", "second": "v"} {
		r, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: key})
		if missing := status.Code(err) == codes.NotFound; !missing && (err != nil || string(r.GetKv().GetValue()) != want) {
			t.Errorf("%s, answered %d: got %q, %v, want %q or nothing", key, answered, r.GetKv().GetValue(), err, want)
		}
	}
}

// exchange writes bytes to the HTTP listener and returns the status of the first answer.
func (m *member) exchange(t *testing.T, request string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", m.at.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(conn, request) // The member may hang up in the middle.
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	_ = conn.SetWriteDeadline(time.Now())
	<-written
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// TestHostileCallsAreBounded sends over gRPC more than anybody needs.
func TestHostileCallsAreBounded(t *testing.T) {
	m := start(t)
	t.Run("metadata", func(t *testing.T) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("a", 64<<10))
		if _, err := m.Get(ctx, &tenurev1.GetRequest{Key: "k"}); err == nil || status.Code(err) == codes.NotFound {
			t.Errorf("got %v, want that it is refused", err)
		}
	})
	t.Run("selectors of a watch", func(t *testing.T) {
		request := &tenurev1.WatchRequest{}
		for i := range 10_000 {
			request.Keys = append(request.Keys, fmt.Sprint(i))
		}
		stream, err := tenurev1.NewWatchServiceClient(m.conn).Watch(t.Context(), request)
		if err == nil {
			_, err = stream.Recv()
		}
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	})
	t.Run("a page of the largest values", func(t *testing.T) {
		for i := range 8 {
			_, err := m.Put(t.Context(), &tenurev1.PutRequest{
				Key: fmt.Sprint("big/", i), Content: &tenurev1.PutRequest_Value{Value: make([]byte, 512<<10)},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		page, err := m.List(t.Context(), &tenurev1.ListRequest{Prefix: "big/", PageSize: 1000})
		if n := proto.Size(page); err != nil || n > 3<<19 || page.GetNextPageToken() == "" {
			t.Errorf("got %d bytes, %v, want a page of at most 1.5 MiB", n, err)
		}
	})
	t.Run("renewals that nobody reads the answers of", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := m.KeepAlive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		flood := &tenurev1.KeepAliveRequest{}
		for i := range 1024 {
			flood.Renewals = append(flood.Renewals, &tenurev1.SessionRenewal{SessionId: "no session", Number: uint64(i)})
		}
		stuck := make(chan struct{})
		go func() {
			defer close(stuck)
			for stream.Send(flood) == nil { // It stops when the member reads no more, and ends with the context.
			}
		}()
		// Others are served meanwhile, over the same connection and another.
		for _, kv := range []tenurev1.KVServiceClient{m.KVServiceClient, tenurev1.NewKVServiceClient(dial(t, m.at.GRPC))} {
			if _, err := kv.Get(t.Context(), &tenurev1.GetRequest{Key: "k"}); status.Code(err) != codes.NotFound {
				t.Errorf("got %v, want that others are served", err)
			}
		}
		cancel()
		<-stuck
	})
}
