package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/server/certs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = time.Minute
	domain   = certs.TrustDomainDefault
)

// ca is a CA whose certificates are in a directory.
type ca struct {
	*certs.Authority
	t    *testing.T
	dir  string
	path string // of its own certificate
}

func newCA(t *testing.T) *ca {
	t.Helper()
	made, err := certs.NewAuthority(domain, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := certs.ParseAuthority(made)
	if err != nil {
		t.Fatal(err)
	}
	c := &ca{Authority: a, t: t, dir: t.TempDir()}
	c.path = c.write("ca", made).Cert
	return c
}

// write writes a certificate, and returns where.
func (c *ca) write(name string, made certs.Issued) certs.Files {
	c.t.Helper()
	f := certs.Files{Cert: filepath.Join(c.dir, name+".crt"), Key: filepath.Join(c.dir, name+".key")}
	if err := errors.Join(os.WriteFile(f.Cert, made.Cert, 0o600), os.WriteFile(f.Key, made.Key, 0o600)); err != nil {
		c.t.Fatal(err)
	}
	return f
}

// member writes the certificate of a member at localhost that was issued some time ago.
func (c *ca) member(name string, ago time.Duration) certs.Files {
	c.t.Helper()
	made, err := c.Member(domain, name, []string{"localhost"}, time.Now().Add(-ago))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.write(name, made)
}

// client writes the certificate of a client.
func (c *ca) client(name string) certs.Files {
	c.t.Helper()
	made, err := c.Client(domain, name, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	return c.write(name, made)
}

// listen serves one byte to whoever makes a handshake, until the test ends. Unless the options say otherwise, a handshake has as long as it
// needs, and so has who is refused to hear of it: the machine may stand still.
func listen(t *testing.T, s *certs.Source, o certs.ListenOptions) (address string, metrics *prometheus.Registry) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Hour
	}
	if o.Linger == 0 {
		o.Linger = time.Hour
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := s.Handshaker(o)
	metrics = prometheus.NewRegistry()
	if err = certs.Register(metrics, map[string]*certs.Source{"test": s}, map[string]*certs.Handshaker{"test": h}); err != nil {
		t.Fatal(err)
	}
	listener := h.Listener(inner)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte{1})
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return inner.Addr().String(), metrics
}

// open reads files that are right.
func open(t *testing.T, f certs.Files) *certs.Source {
	t.Helper()
	s, err := certs.Open(certs.Options{Files: f, Purpose: "test", Uses: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// connect makes a handshake as a client, and waits until the other side has made it, too. It returns whom it met.
func connect(address string, d certs.Dialing) (*x509.Certificate, error) {
	config, err := d.Config()
	if err != nil {
		return nil, err
	}
	return connectWith(address, config)
}

func connectWith(address string, config *tls.Config) (*x509.Certificate, error) {
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return nil, err
	}
	return conn.ConnectionState().PeerCertificates[0], nil
}

// failures returns how many handshakes failed for a cause.
func failures(t *testing.T, metrics *prometheus.Registry, cause string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "tenure_certs_handshakes_failed_total" && l.GetName() == "cause" && l.GetValue() == cause {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	t.Fatalf("no metric of the cause %s", cause)
	return 0
}

func TestHandshakes(t *testing.T) {
	ours, foreign := newCA(t), newCA(t)
	server, client, stranger := ours.member("a", 0), ours.client("c"), foreign.client("c")
	tests := map[string]struct {
		auth    certs.ClientAuth
		dialing certs.Dialing
		client  string // what the client is told; empty: nothing is wrong
		cause   string // of the failure on the other side
	}{
		"the right CA and host are enough": {certs.AuthNone, certs.Dialing{Files: certs.Files{CA: ours.path}}, "", ""},
		"another name of the member is, too": {
			certs.AuthNone, certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "a.member." + domain}, "", "",
		},
		"a member of another CA is refused": {
			certs.AuthNone, certs.Dialing{Files: certs.Files{CA: foreign.path}}, "signed by unknown authority", "refused",
		},
		"a member of another name is refused": {
			certs.AuthNone, certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "b.member." + domain}, "not b.member", "refused",
		},
		"who needs no certificate may have one of anybody": {
			certs.AuthNone, certs.Dialing{Files: certs.Files{Cert: stranger.Cert, Key: stranger.Key, CA: ours.path}}, "", "",
		},
		"who shows no certificate is verified, too": {certs.AuthVerify, certs.Dialing{Files: certs.Files{CA: ours.path}}, "", ""},
		"one that is shown must be of the CA": {
			certs.AuthVerify,
			certs.Dialing{Files: certs.Files{Cert: stranger.Cert, Key: stranger.Key, CA: ours.path}},
			"unknown certificate authority", "certificate",
		},
		"a certificate that is required must be shown": {
			certs.AuthRequire, certs.Dialing{Files: certs.Files{CA: ours.path}}, "certificate required", "certificate",
		},
		"one that is required and of the CA is enough": {
			certs.AuthRequire, certs.Dialing{Files: certs.Files{Cert: client.Cert, Key: client.Key, CA: ours.path}}, "", "",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server.CA = ours.path
			address, metrics := listen(t, open(t, server), certs.ListenOptions{Name: "test", Auth: tc.auth})
			if tc.dialing.ServerName == "" {
				tc.dialing.ServerName = "localhost"
			}
			_, err := connect(address, tc.dialing)
			if (tc.client == "") != (err == nil) || tc.client != "" && !strings.Contains(err.Error(), tc.client) {
				t.Errorf("the client got %v, want %q", err, tc.client)
			}
			if tc.cause != "" {
				await(t, "the failure is counted as "+tc.cause, func() bool { return failures(t, metrics, tc.cause) == 1 })
			}
		})
	}
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("not so: %s", what)
		}
	}
}

func TestOlderVersionsAndTicketsAreNotSpoken(t *testing.T) {
	ours := newCA(t)
	address, _ := listen(t, open(t, ours.member("a", 0)), certs.ListenOptions{})
	config, err := certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	old := config.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if _, err := connectWith(address, old); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("with TLS 1.2: got %v, want that the version is refused", err)
	}
	remembering := config.Clone()
	cache := tls.NewLRUClientSessionCache(1)
	remembering.ClientSessionCache = cache
	if _, err := connectWith(address, remembering); err != nil {
		t.Fatal(err)
	}
	if _, found := cache.Get("localhost"); found {
		t.Error("the client got a session ticket")
	}
}

func TestReload(t *testing.T) {
	ours := newCA(t)
	files := ours.member("a", 0)
	s := open(t, files)
	address, _ := listen(t, s, certs.ListenOptions{})
	dialing := certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}
	serial := func() string {
		t.Helper()
		met, err := connect(address, dialing)
		if err != nil {
			t.Fatal(err)
		}
		return met.SerialNumber.String()
	}
	first := serial()
	ours.member("a", 0)
	if got := serial(); got != first {
		t.Error("files are taken without being asked to")
	}
	s.Reload()
	second := serial()
	if second == first || len(s.Problems()) > 0 {
		t.Errorf("a new certificate is not taken: %v", s.Problems())
	}
	good, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(ours.member("b", 0).Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(){
		"no PEM":          func() { writeFile(t, files.Key, []byte("x")) },
		"another key":     func() { writeFile(t, files.Key, other) },
		"no file":         func() { _ = os.Remove(files.Key) },
		"half of the key": func() { writeFile(t, files.Key, good[:len(good)/2]) },
	} {
		spoil()
		s.Reload()
		problems := s.Problems()
		if len(problems) != 1 || problems[0].Name != certs.ProblemNotLoaded || serial() != second {
			t.Errorf("%s: got problems %v; want one that says that it is not taken, and the certificate of before", name, problems)
		}
		for line := range strings.Lines(string(good)) {
			if strings.Contains(fmt.Sprint(problems), strings.TrimSpace(line)) {
				t.Errorf("%s: the problem shows a part of the key: %v", name, problems)
			}
		}
		writeFile(t, files.Key, good)
		s.Reload()
		if problems := s.Problems(); len(problems) > 0 {
			t.Errorf("%s: what was mended is still a problem: %v", name, problems)
		}
	}
	ours.member("a", 91*24*time.Hour)
	s.Reload()
	if problems := s.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Message, "has ended") || serial() != second {
		t.Errorf("got %v, want that a certificate that has ended is not taken", problems)
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeUsedIsNotOpened(t *testing.T) {
	ours := newCA(t)
	good, client := ours.member("a", 0), ours.client("c")
	empty := filepath.Join(ours.dir, "empty")
	writeFile(t, empty, nil)
	made, err := certs.NewAuthority(domain, time.Now().AddDate(-11, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	ended := ours.write("ended", made).Cert
	tests := map[string]struct {
		files certs.Files
		want  error
	}{
		"a certificate that has ended":          {ours.member("old", 91*24*time.Hour), certs.ErrEnded},
		"one whose time has not begun":          {ours.member("new", -time.Hour), certs.ErrNotYet},
		"one of a client":                       {client, certs.ErrUsage},
		"a missing file":                        {certs.Files{Cert: good.Cert, Key: filepath.Join(ours.dir, "none")}, os.ErrNotExist},
		"a CA that has ended":                   {certs.Files{Cert: good.Cert, Key: good.Key, CA: ended}, certs.ErrEnded},
		"a CA's file without a certificate":     {certs.Files{Cert: good.Cert, Key: good.Key, CA: empty}, certs.ErrNoCertificate},
		"a CA's file that is no certificate":    {certs.Files{Cert: good.Cert, Key: good.Key, CA: good.Key}, certs.ErrNoCertificate},
		"a file that is larger than any should": {certs.Files{Cert: "/dev/zero", Key: good.Key}, certs.ErrTooLarge},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := certs.Open(certs.Options{Files: tc.files, Uses: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestAnEndThatIsNearIsAProblem(t *testing.T) {
	const day = 24 * time.Hour
	ours := newCA(t)
	files := ours.member("a", 0)
	files.CA = ours.path
	for after, want := range map[time.Duration]string{
		75 * day: "", 77 * day: "ends on", 91 * day: "ended on", 3640 * day: "ended on",
	} {
		now := time.Now()
		s, err := certs.Open(certs.Options{Files: files, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(after)
		problems := s.Problems()
		if (want == "") != (len(problems) == 0) || want != "" && (problems[0].Name != certs.ProblemExpires || !strings.Contains(problems[0].Message, want)) {
			t.Errorf("after %v: got %v, want %q", after, problems, want)
		}
		if withCA := len(problems) == 2; withCA != (after > 3600*day) {
			t.Errorf("after %v: got %v; want the CA's end only when it is near", after, problems)
		}
	}
}

// silentMany is how many connections say nothing; a soak has as many as the design speaks of.
func silentMany() int {
	if os.Getenv("TENURE_SOAK") != "" {
		return 10_000
	}
	return 200
}

func TestSilentConnectionsHoldUpNobody(t *testing.T) {
	ours := newCA(t)
	// As many as one address may have.
	address, metrics := listen(t, open(t, ours.member("a", 0)), certs.ListenOptions{Timeout: time.Hour, HandshakesMax: 100})
	for range silentMany() {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	await(t, "those beyond the share are closed", func() bool { return failures(t, metrics, "room") == float64(silentMany()-50) })
	config, err := certs.Dialing{Files: certs.Files{CA: ours.path}, ServerName: "localhost"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := tls.DialWithDialer(from, "tcp", address, config)
	if err != nil {
		t.Fatalf("another address: %v", err)
	}
	_ = conn.Close()
}

func TestASilentConnectionIsClosed(t *testing.T) {
	ours := newCA(t)
	address, metrics := listen(t, open(t, ours.member("a", 0)), certs.ListenOptions{Timeout: time.Millisecond})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if got, err := io.ReadAll(conn); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v; want that the connection is closed", got, err)
	}
	await(t, "it is counted", func() bool { return failures(t, metrics, "time") == 1 })
}

func TestWhoComesWithoutTLSIsToldThatItIsNeeded(t *testing.T) {
	const http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	ours := newCA(t)
	source := open(t, ours.member("a", 0))
	for name, tc := range map[string]struct{ said, answer string }{
		"HTTP/1":               {"GET / ", "HTTP/1.0 400 "},
		"HTTP/1 with a body":   {"POST / HTTP/1.1\r\n\r\n" + strings.Repeat("x", 32<<10), "HTTP/1.0 400 "},
		"HTTP/2":               {http2, "\x15\x03\x01\x00\x02\x02\x0a"},
		"HTTP/2 with requests": {http2 + strings.Repeat("x", 32<<10), "\x15\x03\x01\x00\x02\x02\x0a"},
	} {
		t.Run(name, func(t *testing.T) {
			address, metrics := listen(t, source, certs.ListenOptions{})
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err = io.WriteString(conn, tc.said); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(got), tc.answer) {
				t.Errorf("got %q, %v; want %q", got, err, tc.answer)
			}
			// Who still writes then is not reset before it has read the answer.
			if _, err = io.WriteString(conn, tc.said); err != nil {
				t.Error(err)
			}
			await(t, "it is counted", func() bool { return failures(t, metrics, "not_tls") == 1 })
		})
	}
}

// What is sent without TLS after the answer is not read for ever.
func TestWhoComesWithoutTLSIsClosed(t *testing.T) {
	address, _ := listen(t, open(t, newCA(t).member("a", 0)), certs.ListenOptions{})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for err == nil {
		_, err = conn.Write(make([]byte, 4<<10))
	}
}

func TestCloseEndsHandshakes(t *testing.T) {
	ours := newCA(t)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := open(t, ours.member("a", 0)).Handshaker(certs.ListenOptions{Timeout: time.Hour}).Listener(inner)
	conn, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err = listener.Close(); err != nil {
		t.Error(err)
	}
	if _, err = listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept returned %v, want net.ErrClosed", err)
	}
}
