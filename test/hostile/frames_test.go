package hostile_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// wire is a connection of HTTP/2 whose frames an attacker writes itself.
type wire struct {
	*http2.Framer
	conn net.Conn
	gone chan struct{} // closed when the member hangs up

	mu     sync.Mutex // guards what follows
	grown  *sync.Cond // room or closed changed
	room   int        // what the member takes more for the whole connection
	closed bool
}

// wire connects to a listener of gRPC as a client of HTTP/2, and counts what calls are answered. It returns nil when the
// member hangs up at once.
func (a *attacker) wire(ctx context.Context, address string, settings ...http2.Setting) (*wire, error) {
	conn, err := dialHostile(ctx, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Framer: http2.NewFramer(conn, conn), conn: conn, gone: make(chan struct{}), room: 65_535}
	w.grown = sync.NewCond(&w.mu)
	w.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	a.keep(conn)
	go a.hear(w) // It ends with the connection.
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = w.WriteSettings(settings...)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// hear reads what the member says until it hangs up.
func (a *attacker) hear(w *wire) {
	defer close(w.gone)
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closed = true
		w.grown.Broadcast()
	}()
	for {
		f, err := w.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				w.mu.Lock()
				w.room += int(f.Increment)
				w.grown.Broadcast()
				w.mu.Unlock()
			}
		case *http2.MetaHeadersFrame:
			a.trailers(f)
		}
	}
}

// trailers counts how a call ended, if the headers are those of its end.
func (a *attacker) trailers(f *http2.MetaHeadersFrame) {
	code, text := codes.Code(0), ""
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "grpc-status":
			for _, digit := range field.Value {
				code = 10*code + codes.Code(digit-'0')
			}
		case "grpc-message":
			text = field.Value
		}
	}
	if f.StreamEnded() {
		a.answered("a call of raw frames", status.Error(code, text))
	}
}

// spend waits until the member takes so many bytes more, and reports false when it hangs up.
func (w *wire) spend(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.room < n && !w.closed {
		w.grown.Wait()
	}
	w.room -= n
	return !w.closed
}

// call begins a call with metadata. An error means that the member hung up.
func (w *wire) call(stream uint32, method string, metadata ...string) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := []string{
		":method", "POST", ":scheme", "http", ":path", method, ":authority", "tenure",
		"content-type", "application/grpc", "te", "trailers",
	}
	fields = append(fields, metadata...)
	for i := 0; i < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	return w.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
}

// framed returns a message as gRPC frames it, announced as so many bytes.
func framed(announced int, message []byte) []byte {
	n := uint32(announced)
	return append([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, message...)
}

// deaf allows the member nothing more to send on each stream than the protocol's 64 KiB, and takes none back: it is a client
// that never reads. Nothing needs to be done for that but to allow the connection as a whole more than it has.
func (w *wire) deaf() { _ = w.WriteWindowUpdate(0, 1<<30) } // What fails is seen at the next frame.
