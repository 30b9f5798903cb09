package frames

import (
	"net"
	"sync"
)

// leaver is a connection whose client can be told to leave it.
type leaver struct {
	net.Conn

	writing sync.Mutex // held while something is written; guards what follows
	out     scanner
	leaving bool // the client is to be told
	left    bool // it was
}

// Unmetered returns a connection of a client that is not watched, from its first byte on.
func Unmetered(inner net.Conn) Conn { return &leaver{Conn: inner} }

// Write writes to the client.
func (l *leaver) Write(p []byte) (int, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.out.scan(p, nobody{})
	n, err := l.Conn.Write(p)
	if err == nil {
		l.sayGoodbye()
	}
	return n, err
}

// Leave tells the client to begin no more calls on the connection: those that go on may end. It waits while something is written.
func (l *leaver) Leave() {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.leaving = true
	l.sayGoodbye()
}

// sayGoodbye sends the frame GOAWAY, once, if the client is to be told and no frame is half written. The caller holds writing. gRPC
// does not know of the frame; it would send another one when the server stops, which is allowed.
func (l *leaver) sayGoodbye() {
	if l.leaving && !l.left && l.out.between() {
		l.left = true
		_, _ = l.Conn.Write(goodbye) // If the connection is lost, the client knows.
	}
}

// nobody follows no frames.
type nobody struct{}

func (nobody) begin(frame) {}

func (nobody) data(frame, []byte) {}

func (nobody) end(frame) {}
