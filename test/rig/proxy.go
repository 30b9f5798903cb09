package rig

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// chunksMax is how many pieces of data a slow or blocked direction holds before its sender is held up, too.
const chunksMax = 4096

// Proxy passes connections on to a member, and does faults to them.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex // Guards what follows.
	target   string
	refusing bool
	blocked  [2]bool       // By way.
	changed  chan struct{} // Closed and replaced when blocked changes.
	delay    time.Duration
	jitter   time.Duration
	secured  *tls.Config  // Of connections that come; nil is without TLS.
	rate     int          // Bytes a second each way; 0 is without bound.
	free     [2]time.Time // By way, when the next bytes may be read at that rate.
	conns    map[net.Conn]struct{}
	closed   bool
}

// The ways of data.
const (
	wayIn  = 0 // To the member.
	wayOut = 1
)

// NewProxy listens on a port of the kernel's choice.
func NewProxy(ctx context.Context) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, changed: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	p.running.Go(p.accept)
	return p, nil
}

// Address returns where the proxy listens.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Connections returns how many connections are passed on at present.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

// SetTarget says where to connect to from now on.
func (p *Proxy) SetTarget(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = address
}

// Secure makes the proxy speak TLS with clients that connect from now on; to the member it goes on as before.
func (p *Proxy) Secure(config *tls.Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.secured = config
}

// Close ends everything.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Heal()
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

// Cut resets what is connected; new connections work.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

// Refuse resets what is connected and what comes, until Heal.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	p.refusing = true
	p.mu.Unlock()
	p.Cut()
}

// Block holds data back: "in" is that to the member, "out" that from it, "both" is both.
func (p *Proxy) Block(way string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked[wayIn] = p.blocked[wayIn] || way != "out"
	p.blocked[wayOut] = p.blocked[wayOut] || way != "in"
	p.notify()
}

// Slow delays data each way.
func (p *Proxy) Slow(delay, jitter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.jitter = delay, jitter
}

// Throttle lets so many bytes a second pass each way, over all connections together.
func (p *Proxy) Throttle(bytesPerSecond int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = bytesPerSecond
}

// Heal ends all faults.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing, p.blocked, p.delay, p.jitter, p.rate = false, [2]bool{}, 0, 0, 0
	p.notify()
}

func (p *Proxy) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// reset closes a connection so that its peer sees a reset.
func reset(c net.Conn) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn() // A farewell would be no reset.
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // It is being closed: nothing can come of an error.
	}
	_ = c.Close()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(c) })
	}
}

// serve passes one connection on until either end is closed.
func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	target, refusing, secured := p.target, p.refusing || p.closed, p.secured
	p.mu.Unlock()
	if refusing || target == "" {
		reset(client)
		return
	}
	if secured != nil {
		var agreed bool
		if client, agreed = p.agree(client, secured); !agreed {
			return
		}
	}
	member, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(context.Background(), "tcp", target)
	if err != nil {
		reset(client)
		return
	}
	if !p.add(client, member) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pipe(member, client, wayIn) })
	both.Go(func() { p.pipe(client, member, wayOut) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, member)
	p.mu.Unlock()
}

// agree agrees on TLS with a client, and reports whether that succeeded. A client that is refused reads why before its connection ends.
func (p *Proxy) agree(client net.Conn, config *tls.Config) (net.Conn, bool) {
	p.mu.Lock()
	closed := p.closed
	p.conns[client] = struct{}{} // Closing ends the handshake.
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
	}()
	if closed {
		reset(client)
		return nil, false
	}
	secured := tls.Server(client, config)
	if secured.HandshakeContext(context.Background()) == nil {
		return secured, true
	}
	if tcp, ok := client.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
		_, _ = io.Copy(io.Discard, tcp) // What is left unread would make the kernel take the alert back.
	}
	_ = client.Close()
	return nil, false
}

// add remembers both ends, unless faults forbid them.
func (p *Proxy) add(client, member net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing || p.closed {
		reset(client)
		reset(member)
		return false
	}
	p.conns[client], p.conns[member] = struct{}{}, struct{}{}
	return true
}

// chunk is data with the moment at which it may go on.
type chunk struct {
	data []byte
	due  time.Time
}

// pipe copies one way, with the faults in force, and closes both ends when it ends.
func (p *Proxy) pipe(to, from net.Conn, way int) {
	chunks := make(chan chunk, chunksMax)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(chunks)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				p.pace(n, way)
				chunks <- chunk{data: data[:n], due: time.Now().Add(p.lag())}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range chunks {
		p.hold(c.due, way)
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	for range chunks { // The reader ends; what it still has is not wanted.
		continue
	}
	reader.Wait()
}

// pace waits until so many bytes may go on. Its sender is held up meanwhile.
func (p *Proxy) pace(bytes, way int) {
	p.mu.Lock()
	now := time.Now()
	if p.rate == 0 || p.closed {
		p.mu.Unlock()
		return
	}
	if p.free[way].Before(now) {
		p.free[way] = now
	}
	wait := p.free[way].Sub(now)
	p.free[way] = p.free[way].Add(time.Duration(bytes) * time.Second / time.Duration(p.rate))
	p.mu.Unlock()
	if wait > 0 {
		<-time.NewTimer(wait).C
	}
}

func (p *Proxy) lag() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jitter > 0 {
		return p.delay + rand.N(p.jitter) //nolint:gosec // Spreads delays.
	}
	return p.delay
}

// hold waits until data may go on.
func (p *Proxy) hold(due time.Time, way int) {
	if wait := time.Until(due); wait > 0 {
		<-time.NewTimer(wait).C
	}
	for {
		p.mu.Lock()
		blocked, changed := p.blocked[way] && !p.closed, p.changed
		p.mu.Unlock()
		if !blocked {
			return
		}
		<-changed
	}
}
