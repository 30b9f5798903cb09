package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/credentials"
)

// endAfter is how long a connection stays open once the certificate that the other side has shown is no longer valid: calls in progress
// can end, and the other side, which hears of it, opens another connection.
const endAfter = 5 * time.Second

// hearAfter is how long after that certificate the other side may begin calls on the connection: until then those are served that it sent before it
// heard that it is to open another.
const hearAfter = time.Second

// Info is what a handshake leaves for the calls of its connection.
type Info struct {
	credentials.TLSInfo
	below *trusted
}

// Valid returns a context that ends when the certificate that the other side has shown is no longer valid. If it has shown none, the
// context never ends.
func (i Info) Valid() context.Context { return i.below.valid }

// Over reports whether that certificate has not been valid for so long that the other side has heard of it, and begins no more calls.
func (i Info) Over() bool { return i.below.Over() }

// Certificate returns the verified certificate of the other side, or nil.
func (i Info) Certificate() *x509.Certificate {
	if len(i.State.VerifiedChains) == 0 {
		return nil
	}
	return i.State.VerifiedChains[0][0]
}

// infoOf returns what a handshake leaves over a connection.
func infoOf(state tls.ConnectionState, below *trusted) Info {
	return Info{
		TLSInfo: credentials.TLSInfo{State: state, CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}},
		below:   below,
	}
}

// trusted is a connection below TLS. If the other side shows a certificate, the connection ends soon after that is no longer valid.
type trusted struct {
	net.Conn
	source  *Source
	usage   x509.ExtKeyUsage
	reloads int64 // of its source, before the handshake

	valid context.Context //nolint:containedctx // It ends with the validity of what the other side has shown.
	end   context.CancelFunc
	over  atomic.Bool // the other side has heard that it is no longer valid

	mu     sync.Mutex          // guards what follows
	shown  []*x509.Certificate // the other side's own first, then those between it and the CA; nil: none
	until  time.Time           // when the first of the certificates ends by which it was verified
	closed bool
	last   *time.Timer // closes it; nil while it is valid
}

// trust returns a connection whose other side is about to show a certificate for a use.
func (s *Source) trust(raw net.Conn, usage x509.ExtKeyUsage) *trusted {
	t := &trusted{Conn: raw, source: s, usage: usage, reloads: s.taken.Load()}
	t.valid, t.end = context.WithCancel(context.Background())
	return t
}

// Valid returns a context that ends when what the other side has shown is no longer valid.
func (t *trusted) Valid() context.Context { return t.valid }

// Over reports whether that has not been valid for so long that the other side begins no more calls.
func (t *trusted) Over() bool { return t.over.Load() }

// made notes what the other side has shown in a handshake.
func (t *trusted) made(state tls.ConnectionState) {
	if len(state.VerifiedChains) == 0 {
		return
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	t.shown, t.until = state.PeerCertificates, lasts(state.VerifiedChains)
	t.source.open.put(t)
	t.mu.Unlock()
	if t.reloads != t.source.taken.Load() { // The sweep of that reload may have been before put.
		t.source.sweep([]*trusted{t}, true)
	}
}

// verify reports whether what the other side has shown is valid now. Unless fully, it only looks at the time.
func (t *trusted) verify(m *material, now time.Time, fully bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !fully && now.Before(t.until) {
		return true
	}
	between := x509.NewCertPool()
	for _, c := range t.shown[1:] {
		between.AddCert(c)
	}
	chains, err := t.shown[0].Verify(x509.VerifyOptions{
		Roots: m.pool, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{t.usage},
	})
	if err != nil {
		return false
	}
	t.until = lasts(chains)
	return true
}

// finish ends what is valid, and closes the connection a little later. It reports whether it had not been called before.
func (t *trusted) finish() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.last != nil {
		return false
	}
	t.last = time.AfterFunc(hearAfter, t.heard)
	t.end()
	return true
}

// heard has calls refused that begin from now on, until the connection is closed.
func (t *trusted) heard() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over.Store(true)
	if !t.closed {
		t.last = time.AfterFunc(endAfter-hearAfter, func() { _ = t.Close() })
	}
}

// Close closes the connection.
func (t *trusted) Close() error {
	t.mu.Lock()
	t.closed = true
	if t.last != nil {
		t.last.Stop()
	}
	t.mu.Unlock()
	t.source.open.drop(t)
	return t.Conn.Close()
}

// openConns are connections whose other side has shown a certificate.
type openConns struct {
	mu  sync.Mutex
	all map[*trusted]struct{}
}

func (o *openConns) put(t *trusted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[*trusted]struct{})
	}
	o.all[t] = struct{}{}
}

func (o *openConns) drop(t *trusted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, t)
}

func (o *openConns) list() []*trusted {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]*trusted, 0, len(o.all))
	for t := range o.all {
		list = append(list, t)
	}
	return list
}

// sweep finishes those connections whose certificates are no longer valid. Fully: their CA may be another.
func (s *Source) sweep(conns []*trusted, fully bool) {
	m, now, finished := s.current.Load(), s.o.Now(), int64(0)
	for _, t := range conns {
		if !t.verify(m, now, fully) && t.finish() {
			finished++
		}
	}
	if finished > 0 {
		s.finished.Add(finished)
		s.o.Logger.Info("connections end, their certificates are no longer valid",
			zap.String("purpose", s.o.Purpose), zap.Int64("connections", finished))
	}
}

// sameCAs reports whether two moments have the same CAs.
func sameCAs(a, b *material) bool { return slices.EqualFunc(a.cas, b.cas, (*x509.Certificate).Equal) }

// lasts returns until when one of some chains is valid.
func lasts(chains [][]*x509.Certificate) time.Time {
	var last time.Time
	for _, chain := range chains {
		first := chain[0].NotAfter
		for _, c := range chain[1:] {
			if c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
		if first.After(last) {
			last = first
		}
	}
	return last
}
