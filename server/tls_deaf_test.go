package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// deafClient makes calls over one connection, whatever it is told of its end.
type deafClient struct {
	*http2.Framer
	t     *testing.T
	last  uint32 // stream
	heard bool   // that no more calls are to begin
}

// deaf connects with the certificate of a client.
func (c *changing) deaf(t *testing.T, address string) *deafClient {
	t.Helper()
	config := c.config.Clone()
	config.NextProtos = []string{"h2"}
	config.ServerName = "localhost"
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d := &deafClient{Framer: http2.NewFramer(conn, conn), t: t}
	d.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = d.WriteSettings()
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// get reads a key, and returns how the call ended. An error says that the connection did.
func (d *deafClient) get() (codes.Code, string, error) {
	d.t.Helper()
	d.last += 2
	stream := d.last - 1
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"},
		{":scheme", "https"},
		{":path", tenurev1.KVService_Get_FullMethodName},
		{":authority", "localhost"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
	}
	request, err := proto.Marshal(&tenurev1.GetRequest{Key: "k"})
	if err != nil {
		d.t.Fatal(err)
	}
	if err = d.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true}); err == nil {
		err = d.WriteData(stream, true, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request))), request...))
	}
	for err == nil {
		var f http2.Frame
		if f, err = d.ReadFrame(); err != nil {
			break
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = d.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				err = d.WritePing(true, f.Data)
			}
		case *http2.GoAwayFrame:
			d.heard = true
		case *http2.MetaHeadersFrame:
			if f.StreamID == stream && f.StreamEnded() {
				code, text := trailers(f)
				return code, text, nil
			}
		}
	}
	return 0, "", err
}

// trailers returns the status that trailers have.
func trailers(f *http2.MetaHeadersFrame) (code codes.Code, text string) {
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "grpc-status":
			_, _ = fmt.Sscan(field.Value, &code)
		case "grpc-message":
			text = field.Value
		}
	}
	return code, text
}

// TestAClientThatDoesNotHearThatItsCAIsForgottenIsRefused has a client that goes on over its connection although it was told to begin no more calls
// there. It is refused as soon as one that listens has heard of it, and not only once the connection is closed.
func TestAClientThatDoesNotHearThatItsCAIsForgottenIsRefused(t *testing.T) {
	c := startWithTwoCAs(t)
	gone, stays := c.dialer(c.old).deaf(t, c.at.GRPC), c.dialer(c.new).deaf(t, c.at.GRPC)
	for _, client := range []*deafClient{gone, stays} {
		if code, text, err := client.get(); err != nil || code != codes.NotFound {
			t.Fatalf("got %v %s, %v", code, text, err)
		}
	}
	c.forget()
	await(t, "the client is refused", func() bool {
		code, text, err := gone.get()
		if err != nil {
			t.Fatalf("it was served until the connection ended: %v", err)
		}
		if code == codes.NotFound {
			return false
		}
		if code != codes.Unavailable || !strings.Contains(text, "no longer valid; connect again") {
			t.Fatalf("got %v %s, want that it is to connect again", code, text)
		}
		return true
	})
	if !gone.heard {
		t.Error("it was refused without having been told")
	}
	if code, text, err := stays.get(); err != nil || code != codes.NotFound || stays.heard {
		t.Errorf("a client whose CA is still there: got %v %s, %v, told: %v", code, text, err, stays.heard)
	}
}

// TestAMemberWhoseCAIsForgottenIsToldToConnectAgain has another member use its connection after the CA of its certificate was removed. It is told before
// the connection is closed.
func TestAMemberWhoseCAIsForgottenIsToldToConnectAgain(t *testing.T) {
	c := startWithTwoCAs(t)
	c.old.member("b", 0)
	dialer := c.dialer(c.old)
	dialer.take(t, c.old, "b")
	b := dialer.deaf(t, c.at.Peer)
	call := func() {
		t.Helper()
		if code, text, err := b.get(); err != nil || code != codes.Unimplemented {
			t.Fatalf("got %v %s, %v, told: %v", code, text, err, b.heard)
		}
	}
	call()
	if b.heard {
		t.Error("it is told before there is a reason")
	}
	c.forget()
	await(t, "the member is told", func() bool {
		call()
		return b.heard
	})
}

// TestAClientOfRESTIsRefusedOnceItsCAIsForgotten has clients that say nothing on their connections of HTTP/1.1 while their CA is removed, and so hear of
// it late. What they ask for then is not done.
func TestAClientOfRESTIsRefusedOnceItsCAIsForgotten(t *testing.T) {
	c := startWithTwoCAs(t)
	dialer := c.dialer(c.old)
	deaf := dialer.deaf(t, c.at.GRPC)
	config := dialer.config.Clone()
	config.ServerName = "localhost"
	config.NextProtos = []string{"http/1.1"}
	ask := func(conn net.Conn) (code int, closes bool, body []byte, err error) {
		_, err = fmt.Fprintf(conn, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		var answer *http.Response
		if err == nil {
			answer, err = http.ReadResponse(bufio.NewReader(conn), nil)
		}
		if err == nil {
			body, err = io.ReadAll(answer.Body)
			err = errors.Join(err, answer.Body.Close())
		}
		if err != nil {
			return 0, true, nil, err
		}
		return answer.StatusCode, answer.Close, body, nil
	}
	var idle []net.Conn
	for range 100 {
		conn, err := tls.Dial("tcp", c.at.HTTP, config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if code, _, body, err := ask(conn); code != http.StatusOK {
			t.Fatalf("got %d %s, %v", code, body, err)
		}
		idle = append(idle, conn)
	}
	c.forget()
	await(t, "connections are over", func() bool {
		code, _, err := deaf.get()
		return err != nil || code == codes.Unavailable
	})
	// Theirs are over at about the same time. Each connection is good for one more request.
	for _, conn := range idle {
		code, closes, body, err := ask(conn)
		if err != nil {
			return // The machine stood still for seconds: by now the connection is closed.
		}
		if !closes {
			t.Error("the client is not told to connect again")
		}
		if code == http.StatusOK {
			continue
		}
		if code != http.StatusServiceUnavailable || !bytes.Contains(body, []byte("no longer valid; connect again")) {
			t.Fatalf("got %d %s, want that it is to connect again", code, body)
		}
		return
	}
	t.Error("it was served")
}
