package tenure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// secured is a real member behind a proxy with TLS, and what its clients need in files.
type secured struct {
	proxy     *rig.Proxy
	authority *rig.Authority
	dir       string // Has ca.crt, client.crt and client.key.
}

// secure starts a member behind a proxy with TLS.
func secure(ctx context.Context, t *testing.T, changes ...func(*x509.Certificate)) *secured {
	t.Helper()
	proxy, err := rig.NewProxy(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	s := &secured{proxy: proxy, dir: t.TempDir()}
	s.rotate(t, tls.NoClientCert, changes...)
	proxy.SetTarget(rig.Start(ctx, t, binary, "--advertise", proxy.Address()).Addresses.GRPC)
	return s
}

// rotate gives the proxy, and the files, certificates of a new authority.
func (s *secured) rotate(t *testing.T, clients tls.ClientAuthType, changes ...func(*x509.Certificate)) {
	t.Helper()
	authority, err := rig.NewAuthority("tenure test CA")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Pair([]string{"127.0.0.1"}, changes...)
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	s.authority = authority
	s.proxy.Secure(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: clients, ClientCAs: authority.Pool(), NextProtos: []string{"h2"},
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
	})
}

func (s *secured) path(name string) string { return filepath.Join(s.dir, name) }

// put opens a client, and tries to put a key.
func put(ctx context.Context, t *testing.T, target string, options ...tenure.Option) error {
	t.Helper()
	c, err := tenure.Open(target, options...)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.KV().Put(ctx, "k", []byte("v"))
	return err
}

func TestTLS(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	s := secure(ctx, t)
	at, ca := s.proxy.Address(), s.path("ca.crt")
	pool := s.authority.Pool()
	other, err := rig.NewAuthority("another CA")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := other.Write(elsewhere); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		target  string
		options []tenure.Option
		failed  string // In the text of an ErrTLSFailed; empty if it succeeds.
	}{
		"a CA by option":                      {target: at, options: []tenure.Option{tenure.WithCAFile(ca)}},
		"a CA by connection string":           {target: "tenures://" + at + "/app?ca_file=" + ca},
		"a configuration of the program's":    {target: at, options: []tenure.Option{tenure.WithTLS(&tls.Config{RootCAs: pool})}},
		"a certificate that nobody asks for":  {target: at + "?ca_file=" + ca + "&cert_file=" + s.path("client.crt") + "&key_file=" + s.path("client.key")},
		"a server name that it has":           {target: at + "?server_name=127.0.0.1&ca_file=" + ca},
		"the roots of the system":             {target: "tenures://" + at, failed: "(TLS failed: its certificate is not signed by a trusted authority"},
		"another CA":                          {target: "tenures://" + at + "?ca_file=" + elsewhere + "/ca.crt", failed: "not signed by a trusted authority: set ca_file"},
		"a server name that it does not have": {target: at + "?server_name=h1&ca_file=" + ca, failed: "is for another name: connect by a name that it has, or set server_name"},
		"a CA file that there is not":         {target: at + "?ca_file=/there/is/none", failed: "ca_file /there/is/none: no such file"},
		"a CA file without a certificate":     {target: at + "?ca_file=" + s.path("client.key"), failed: "has no certificate in PEM form"},
		"a key of another certificate": {
			target: at + "?cert_file=" + s.path("client.crt") + "&key_file=" + elsewhere + "/client.key", failed: "are not a pair",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := put(ctx, t, test.target, test.options...)
			if test.failed == "" && err != nil {
				t.Errorf("got %v, want success", err)
			}
			if test.failed != "" && (!errors.Is(err, tenure.ErrTLSFailed) || !strings.Contains(err.Error(), test.failed)) {
				t.Errorf("got %v, want ErrTLSFailed with %q", err, test.failed)
			}
		})
	}
}

func TestEveryCallLearnsThatTLSFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	s := secure(ctx, t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	c, err := tenure.Open(s.proxy.Address(), tenure.WithCAFile(s.path("ca.crt")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	calls := map[string]func() error{
		"Connect": func() error {
			for {
				if err := c.Connect(ctx); !errors.Is(err, tenure.ErrUnavailable) || ctx.Err() != nil { // Else the machine was slow.
					return err
				}
			}
		},
		"OpenSession": func() error { _, err := c.OpenSession(ctx); return err },
		"Get":         func() error { _, err := c.KV().Get(ctx, "k"); return err },
		"OpenCache":   func() error { _, err := c.OpenCache(ctx, "k"); return err },
		"Watch": func() error {
			for _, err := range c.Watch(ctx, tenure.OnKeys("k")) {
				return err
			}
			return nil
		},
		"Observe": func() error {
			for _, err := range c.Observe(ctx, "k") {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, tenure.ErrTLSFailed) || !strings.Contains(err.Error(), "has expired or is not valid yet") {
			t.Errorf("%s: got %v, want ErrTLSFailed", name, err)
		}
	}
	s.rotate(t, tls.NoClientCert) // It is mended, and so is what the client reads.
	if _, err := c.KV().Put(ctx, "k", []byte("v")); err != nil {
		t.Errorf("after the certificate was renewed: %v", err)
	}
}

func TestAMemberMayDemandACertificate(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	s := secure(ctx, t)
	s.rotate(t, tls.RequireAndVerifyClientCert)
	at := s.proxy.Address() + "?ca_file=" + s.path("ca.crt")
	own := "&cert_file=" + s.path("client.crt") + "&key_file=" + s.path("client.key")
	if err := put(ctx, t, at+own); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := put(ctx, t, at); !errors.Is(err, tenure.ErrTLSFailed) || !strings.Contains(err.Error(), "demands a client certificate: set cert_file") {
		t.Errorf("without a certificate: got %v, want ErrTLSFailed", err)
	}
	other, err := rig.NewAuthority("another CA")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err = other.Write(elsewhere); err != nil {
		t.Fatal(err)
	}
	err = put(ctx, t, at+"&cert_file="+elsewhere+"/client.crt&key_file="+elsewhere+"/client.key")
	if !errors.Is(err, tenure.ErrTLSFailed) || !strings.Contains(err.Error(), "refuses the client certificate") {
		t.Errorf("with another's certificate: got %v, want ErrTLSFailed", err)
	}
}

func TestFilesAreReadForEachConnection(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	s := secure(ctx, t)
	s.rotate(t, tls.RequireAndVerifyClientCert)
	at := s.proxy.Address() + "?ttl=10m&ca_file=" + s.path("ca.crt") + "&cert_file=" + s.path("client.crt") + "&key_file=" + s.path("client.key")
	c, err := tenure.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	own := session(t, c)
	for range 3 { // A new authority each time, for members and clients.
		s.rotate(t, tls.RequireAndVerifyClientCert)
		s.proxy.Cut()
		if _, err := own.KV().Put(ctx, "k", []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(s.path("client.key")); err != nil {
		t.Fatal(err)
	}
	lost := make(chan struct{})
	var once atomic.Bool
	own.OnState(func(c tenure.StateChange) {
		if c.State == tenure.StateSuspended && !once.Swap(true) {
			close(lost)
		}
	})
	s.proxy.Cut()
	<-lost // A certificate that fails later is a link that is down.
	waiting, end := context.WithTimeout(ctx, short)
	defer end()
	if _, err := own.KV().Get(waiting, "k"); !errors.Is(err, tenure.ErrUnavailable) || errors.Is(err, tenure.ErrTLSFailed) {
		t.Errorf("without a key: got %v, want ErrUnavailable", err)
	}
	s.rotate(t, tls.RequireAndVerifyClientCert)
	if _, err := own.KV().Put(ctx, "k", []byte("v")); err != nil {
		t.Errorf("with a key again: %v", err)
	}
}

func TestTokensAreSent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	at := rig.Start(ctx, t, binary).Addresses.GRPC
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := func(context.Context) (string, error) { return "from-source", nil }
	for want, option := range map[string]tenure.Option{
		"Bearer text": tenure.WithToken("text"), "Bearer from-file": tenure.WithTokenFile(file), "Bearer from-source": tenure.WithTokenSource(source),
	} {
		door := &doorway{}
		door.accept("none")
		if err := put(ctx, t, at, append(door.options(), option)...); !errors.Is(err, tenure.ErrAuth) || tenure.AppliedOf(err) == tenure.AppliedYes {
			t.Errorf("refused: got %v, want ErrAuth", err)
		}
		door.accept(want)
		if err := put(ctx, t, at, append(door.options(), option)...); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
	failing := tenure.WithTokenSource(func(context.Context) (string, error) { return "", errors.New("out of tokens") })
	if err := put(ctx, t, at, failing); !errors.Is(err, tenure.ErrAuth) || tenure.AppliedOf(err) != tenure.AppliedNo || !strings.Contains(err.Error(), "out of tokens") {
		t.Errorf("without token: got %v, want ErrAuth and nothing applied", err)
	}
}

func TestATokenThatIsRefusedIsReadAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	proxy, err := rig.NewProxy(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.SetTarget(rig.Start(ctx, t, binary, "--advertise", proxy.Address()).Addresses.GRPC)
	door := &doorway{}
	var token atomic.Pointer[string]
	issue := func(text string) {
		token.Store(&text)
		door.accept("Bearer " + text)
	}
	issue("first")
	source := tenure.WithTokenSource(func(context.Context) (string, error) { return *token.Load(), nil })
	c, err := tenure.Open(proxy.Address()+"?ttl=10m", append(door.options(), source)...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	own := session(t, c)
	issue("second") // What follows would be refused with the first.
	if _, err := own.KV().Put(ctx, "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	issue("third")
	for _, err := range c.Watch(ctx, tenure.OnKeys("k"), tenure.WithInitial()) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	issue("fourth")
	if _, err := own.Lock("lock").Acquire(ctx); err != nil {
		t.Error(err)
	}
	door.accept("Bearer fifth") // Nobody has it yet: the session cannot be renewed.
	suspended, connected := make(chan struct{}), make(chan struct{})
	var began, ended atomic.Bool
	own.OnState(func(c tenure.StateChange) {
		switch {
		case c.State == tenure.StateSuspended && !began.Swap(true):
			close(suspended)
		case c.State == tenure.StateConnected && began.Load() && !ended.Swap(true):
			close(connected)
		}
	})
	proxy.Cut()
	<-suspended
	fifth := "fifth"
	token.Store(&fifth)
	<-connected
}

// door looks at the tokens of a client's calls before they leave the client, as a member will.
type doorway struct{ accepted atomic.Value }

func (d *doorway) accept(value string) { d.accepted.Store(value) }

// refuse returns the error of a call without the token that is accepted.
func (d *doorway) refuse(ctx context.Context) error {
	carried, _ := metadata.FromOutgoingContext(ctx)
	if got := strings.Join(carried.Get("authorization"), ","); got != d.accepted.Load() {
		return status.Errorf(codes.Unauthenticated, "a token that is not known: %s", got)
	}
	return nil
}

// options returns those of a client whose calls pass the door.
func (d *doorway) options() []tenure.Option {
	unary := func(
		ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		if err := d.refuse(ctx); err != nil {
			return err
		}
		return call(ctx, method, request, reply, cc, options...)
	}
	stream := func(
		ctx context.Context, description *grpc.StreamDesc, cc *grpc.ClientConn, method string, begin grpc.Streamer, options ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		s, err := begin(ctx, description, cc, method, options...)
		return &doorStream{ClientStream: s, door: d}, err
	}
	return []tenure.Option{tenure.WithDialOptions(grpc.WithUnaryInterceptor(unary), grpc.WithStreamInterceptor(stream))}
}

// doorStream is a stream that is refused as by a member: at the first message that is read.
type doorStream struct {
	grpc.ClientStream

	door   *doorway
	passed bool
}

func (s *doorStream) RecvMsg(message any) error {
	if !s.passed {
		if err := s.door.refuse(s.Context()); err != nil {
			return err
		}
		s.passed = true
	}
	return s.ClientStream.RecvMsg(message)
}
