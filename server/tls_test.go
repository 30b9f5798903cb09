package server_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/server/certs"
)

// authority is a CA whose certificates are in a directory.
type authority struct {
	*certs.Authority
	t   *testing.T
	dir string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	made, err := certs.NewAuthority(certs.TrustDomainDefault, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, dir: t.TempDir()}
	if a.Authority, err = certs.ParseAuthority(made); err != nil {
		t.Fatal(err)
	}
	a.write("ca", made, nil)
	return a
}

// write writes a certificate.
func (a *authority) write(name string, made certs.Issued, err error) {
	a.t.Helper()
	if err = errors.Join(err, os.WriteFile(a.path(name+".crt"), made.Cert, 0o600), os.WriteFile(a.path(name+".key"), made.Key, 0o600)); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// member writes the certificate of a member that was issued some time ago.
func (a *authority) member(name string, ago time.Duration) {
	a.t.Helper()
	made, err := a.Member(certs.TrustDomainDefault, name, []string{"localhost", "127.0.0.1"}, time.Now().Add(-ago))
	a.write(name, made, err)
}

// client writes the certificate of a client.
func (a *authority) client(name string) {
	a.t.Helper()
	made, err := a.Client(certs.TrustDomainDefault, name, time.Now())
	a.write(name, made, err)
}

// dialing is how a client dials with its certificate; empty for none.
func (a *authority) dialing(name string) certs.Dialing {
	d := certs.Dialing{Files: certs.Files{CA: a.path("ca.crt")}}
	if name != "" {
		d.Cert, d.Key = a.path(name+".crt"), a.path(name+".key")
	}
	return d
}

// secure gives a member TLS.
func (a *authority) secure(name string) func(*server.Config) {
	return func(c *server.Config) {
		c.TLS = server.TLS{CertFile: a.path(name + ".crt"), KeyFile: a.path(name + ".key"), ClientCAFile: a.path("ca.crt")}
	}
}

// dialSecure connects with TLS, until the test ends. Its calls are made again while the member is not reached: if the machine stands still,
// the time of a handshake passes.
func dialSecure(t *testing.T, address string, d certs.Dialing) *grpc.ClientConn {
	t.Helper()
	return dialWith(t, address, d, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			var err error
			await(t, method+" is answered", func() bool {
				err = invoke(ctx, method, req, reply, conn, append(o, grpc.WaitForReady(true))...)
				return status.Code(err) != codes.Unavailable
			})
			return err
		}))
}

// dialOnce connects with TLS, until the test ends. Its calls fail when a handshake fails.
func dialOnce(t *testing.T, address string, d certs.Dialing) *grpc.ClientConn {
	t.Helper()
	return dialWith(t, address, d)
}

func dialWith(t *testing.T, address string, d certs.Dialing, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	with, err := d.Credentials()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(with))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// get makes a request of HTTP until it is answered.
func get(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	var answer *http.Response
	await(t, url+" is answered", func() bool {
		var err error
		answer, err = client.Get(url) //nolint:bodyclose // The caller closes it.
		return err == nil
	})
	return answer
}

// saysTo says something to whoever listens, and returns all that is answered.
func saysTo(t *testing.T, address, said string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err = io.WriteString(conn, said); err != nil {
		return ""
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return ""
	}
	return string(answer)
}

func TestTLSOnAllListenersOfClients(t *testing.T) {
	a := newAuthority(t)
	a.member("a", 0)
	a.client("c")
	m := startMember(t, a.secure("a"))
	for _, who := range []string{"", "c"} {
		kv := tenurev1.NewKVServiceClient(dialSecure(t, m.at.GRPC, a.dialing(who)))
		if _, err := kv.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
			t.Errorf("gRPC with the certificate %q: %v", who, err)
		}
		config, err := a.dialing(who).Config()
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []int{1, 2} {
			transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: version == 2}
			transport.TLSClientConfig.NextProtos = nil
			answer := get(t, &http.Client{Transport: transport}, "https://"+m.at.HTTP+"/v1/kv/k?raw=true")
			body, err := io.ReadAll(answer.Body)
			if err = errors.Join(err, answer.Body.Close()); err != nil || string(body) != "v" || answer.ProtoMajor != version {
				t.Errorf("HTTP/%d with the certificate %q: got HTTP/%d, %q, %v", version, who, answer.ProtoMajor, body, err)
			}
			transport.CloseIdleConnections()
		}
	}
	// Nothing is served without TLS.
	if _, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"}); err == nil {
		t.Error("gRPC is served without TLS")
	}
	await(t, "who comes to gRPC without TLS hears an alert of TLS", func() bool {
		return strings.HasPrefix(saysTo(t, m.at.GRPC, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "\x15\x03")
	})
	answer := get(t, http.DefaultClient, "http://"+m.at.HTTP+"/v1/kv/k")
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("HTTP without TLS: got %d, want 400", answer.StatusCode)
	}
}

func TestAStreamOverHTTP2WithTLS(t *testing.T) {
	a := newAuthority(t)
	a.member("a", 0)
	m := startMember(t, a.secure("a"))
	config, err := a.dialing("").Config()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	watch := get(t, client, "https://"+m.at.HTTP+"/v1/watch?keys=k")
	defer func() { _ = watch.Body.Close() }()
	lines := bufio.NewScanner(watch.Body)
	if !lines.Scan() {
		t.Fatalf("the watch ended: %v", lines.Err())
	}
	kv := tenurev1.NewKVServiceClient(dialSecure(t, m.at.GRPC, a.dialing("")))
	if _, err = kv.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"key":"k"`) || strings.Contains(lines.Text(), `"key": "k"`) {
			return
		}
	}
	t.Errorf("the watch ended without the event: %v", lines.Err())
}

func TestAClientWithoutCertificateIsRefusedWhereOneIsRequired(t *testing.T) {
	a := newAuthority(t)
	a.member("a", 0)
	a.client("c")
	m := startMember(t, a.secure("a"), func(c *server.Config) { c.TLS.ClientAuth = certs.AuthRequire })
	if _, err := healthpb.NewHealthClient(dialSecure(t, m.at.GRPC, a.dialing("c"))).Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if _, err := healthpb.NewHealthClient(dialOnce(t, m.at.GRPC, a.dialing(""))).Check(t.Context(), nil); err == nil {
		t.Error("a client without certificate is served")
	}
	config, err := a.dialing("").Config()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config}
	if answer, err := (&http.Client{Transport: transport}).Get("https://" + m.at.HTTP + "/healthz"); err == nil {
		_ = answer.Body.Close()
		t.Error("HTTP serves a client without certificate")
	}
}

// TestCertificatesAreChangedUnderLoad puts while the member's certificate is replaced, by connections that are new and old.
func TestCertificatesAreChangedUnderLoad(t *testing.T) {
	a := newAuthority(t)
	a.member("a", 0)
	reload := make(chan os.Signal)
	m := startMember(t, a.secure("a"), func(c *server.Config) { c.TLS.Reload = reload })
	old := tenurev1.NewKVServiceClient(dialSecure(t, m.at.GRPC, a.dialing("")))
	problems := func() []*tenurev1.StatusProblem {
		t.Helper()
		st, err := tenurev1.NewClusterServiceClient(dialSecure(t, m.at.GRPC, a.dialing(""))).GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return st.GetProblems()
	}
	put := func() {
		t.Helper()
		for _, kv := range []tenurev1.KVServiceClient{old, tenurev1.NewKVServiceClient(dialSecure(t, m.at.GRPC, a.dialing("")))} {
			if _, err := kv.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v")}); err != nil {
				t.Error(err)
			}
		}
	}
	put()
	for range 5 {
		a.member("a", 0)
		reload <- os.Interrupt // Whatever it is.
		put()
	}
	if err := os.WriteFile(a.path("a.key"), []byte("spoiled"), 0o600); err != nil {
		t.Fatal(err)
	}
	reload <- os.Interrupt
	await(t, "the status says that the key is not taken", func() bool {
		put()
		found := problems()
		return len(found) == 1 && found[0].GetName() == "certificate-not-loaded" &&
			strings.HasSuffix(found[0].GetRunbook(), "/docs/operations.md#certificate-not-loaded")
	})
}

func TestSilentHandshakesDoNotDelayOthers(t *testing.T) {
	a := newAuthority(t)
	a.member("a", 0)
	m := startMember(t, a.secure("a"))
	for range 50 {
		for _, address := range []string{m.at.GRPC, m.at.HTTP} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	if _, err := healthpb.NewHealthClient(dialSecure(t, m.at.GRPC, a.dialing(""))).Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestSettingsOfTLS(t *testing.T) {
	tests := map[string]struct {
		tls  server.TLS
		want string
	}{
		"a certificate needs a key":              {server.TLS{CertFile: "c"}, "--cert-file and --key-file belong together"},
		"a key needs a certificate":              {server.TLS{KeyFile: "k"}, "--cert-file and --key-file belong together"},
		"what is asked for must be known":        {server.TLS{CertFile: "c", KeyFile: "k", ClientAuth: "maybe"}, `--client-auth is "maybe"`},
		"who is verified needs a CA":             {server.TLS{CertFile: "c", KeyFile: "k", ClientAuth: certs.AuthRequire}, "--client-auth require needs --client-ca-file"},
		"a CA of clients has no use without TLS": {server.TLS{ClientCAFile: "ca"}, "need --cert-file and --key-file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := server.New(server.Config{DataDir: "d", TLS: tc.tls})
			if !errors.Is(err, server.ErrConfig) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := server.New(server.Config{DataDir: "d", ListenAddr: ":7400", HTTPAddr: ":7401", TLS: server.TLS{CertFile: "c", KeyFile: "k"}}); err != nil {
		t.Errorf("with TLS any address may be listened on: %v", err)
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

// TestTheNamesInTheCertificateAreTheMembersOwn asks for REST, and for Consul's HTTP, by a name that stands in the certificate and nowhere in
// the settings, and by one that a new certificate has.
func TestTheNamesInTheCertificateAreTheMembersOwn(t *testing.T) {
	a := newAuthority(t)
	names := func(names ...string) {
		made, err := a.Member(certs.TrustDomainDefault, "a", append(names, "127.0.0.1"), time.Now())
		a.write("a", made, err)
	}
	names("a.example.net")
	reload := make(chan os.Signal)
	m := startMember(t, a.secure("a"), func(c *server.Config) {
		c.TLS.Reload, c.ConsulAddr = reload, "127.0.0.1:0"
		c.Consul = func(grpc.ClientConnInterface) (http.Handler, error) {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), nil
		}
	})
	config, err := a.dialing("").Config()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	status := func(address, host string) (code int) {
		t.Helper()
		await(t, host+" is answered", func() bool {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			answer, err := client.Do(request)
			if err == nil {
				code = answer.StatusCode
				_ = answer.Body.Close()
			}
			return err == nil
		})
		return code
	}
	for _, address := range []string{m.at.HTTP, m.at.Consul} {
		for host, want := range map[string]int{
			"a.example.net:7401": 200, "A.Example.Net": 200, "a.member.tenure.internal": 200, "b.example.net": 403, "evil.example": 403,
		} {
			if got := status(address, host); got != want {
				t.Errorf("%s by the name %s: got %d, want %d", address, host, got, want)
			}
		}
	}
	names("b.example.net")
	reload <- os.Interrupt
	await(t, "the new certificate's name is taken", func() bool { return status(m.at.HTTP, "b.example.net") == 200 })
	if got := status(m.at.HTTP, "a.example.net"); got != 403 {
		t.Errorf("by the name of the earlier certificate: got %d, want 403", got)
	}
}

// TestStatusSaysThatTheCertificateLacksTheAddress has a certificate that is not for where clients are told to connect.
func TestStatusSaysThatTheCertificateLacksTheAddress(t *testing.T) {
	a := newAuthority(t)
	made, err := a.Member(certs.TrustDomainDefault, "a", []string{"a.example.net"}, time.Now())
	a.write("a", made, err)
	m := startMember(t, a.secure("a"))
	d := a.dialing("")
	d.ServerName = "a.example.net"
	st, err := tenurev1.NewClusterServiceClient(dialSecure(t, m.at.GRPC, d)).GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if found := st.GetProblems(); len(found) != 1 || found[0].GetName() != "certificate-lacks-address" ||
		!strings.Contains(found[0].GetMessage(), "does not list 127.0.0.1,") {
		t.Errorf("got %v, want that the certificate lacks the address", found)
	}
}
