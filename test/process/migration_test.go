package process_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/test/rig"
)

// restPatience bounds how long a client of REST tries the members one after the other.
const restPatience = 30 * time.Second

// TestAClusterBeginsToUseTLSUnderLoad changes a cluster from no TLS at all to TLS everywhere, and then to rules that are enforced, one member
// after the other, as docs/security.md says, while clients write over gRPC and over REST and hold locks. No call fails, and no session and no
// lock is lost.
func TestAClusterBeginsToUseTLSUnderLoad(t *testing.T) {
	ctx := t.Context()
	m := &migration{rotation: newRotation(t)}
	m.issue("first")
	m.trust("first")
	m.c = rig.StartCluster(ctx, t, binary, 3)
	working, stop := context.WithCancel(ctx)
	defer stop()
	clients := scale(3, 16)
	m.clients = int64(clients) + 1
	var workers sync.WaitGroup
	for i := range clients {
		workers.Go(func() { m.check(fmt.Sprint("client ", i), m.work(working, i)) })
	}
	workers.Go(func() { m.check("REST", m.rest(working)) })
	m.moreWrites(ctx)

	plain := map[*rig.Member][]string{}
	for _, member := range m.c.Members {
		plain[member] = member.Args()
		m.restart(ctx, member, append(plain[member], m.tls("--cleartext", "accept")...))
	}
	m.wantUnsafe(ctx)
	m.wantCleartext(ctx, true)
	m.advance(ctx) // The clients use TLS from here on.
	for _, member := range m.c.Members {
		until(ctx, t, "the end of connections without TLS to "+member.Name(), func() bool {
			return m.metric(ctx, member, `tenure_certs_cleartext_connections{listener="grpc"}`) == 0
		})
		member.Secure(m.dir)
	}
	for _, member := range m.c.Members {
		m.restart(ctx, member, append(plain[member], m.tls()...))
	}
	m.wantCleartext(ctx, false)

	admin := m.bootstrap(ctx)
	m.token(admin)
	m.advance(ctx) // They have a token, too.
	conn := m.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	if _, err := tenurev1.NewAuthServiceClient(conn).SetAuthMode(admin, &tenurev1.SetAuthModeRequest{
		Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE,
	}); err != nil {
		t.Fatal(err)
	}
	m.moreWrites(ctx)
	_, err := tenurev1.NewKVServiceClient(conn).Get(ctx, &tenurev1.GetRequest{Key: "app/key/0"})
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("without a token: got %v, want PERMISSION_DENIED", err)
	}
	last := m.c.Members[2]
	if err := last.Stop(); err != nil {
		t.Error(err)
	}
	last.SetArgs(append(plain[last], m.tls("--cleartext", "accept")...)...)
	last.Launch(ctx)
	if err := last.AwaitExit(ctx); err == nil || !strings.Contains(last.Log(), "start without --cleartext accept") {
		t.Errorf("a member that enforces rules accepts connections without TLS: %v", err)
	}
	stop()
	workers.Wait()
	t.Logf("%d writes by %d clients in %d steps", m.written.Load(), m.clients, m.step.Load())
}

// migration is a cluster whose members and clients begin to use TLS, and then tokens.
type migration struct {
	*rotation
	clients int64
	step    atomic.Int64 // 0: without TLS; 1: with TLS; 2: with a token, too
	arrived atomic.Int64 // how many clients have written something in this step
}

// tls are the flags of a member with TLS.
func (m *migration) tls(more ...string) []string {
	return append([]string{
		"--cert-file", m.path("member.crt"), "--key-file", m.path("member.key"),
		"--peer-cert-file", m.path("peer.crt"), "--peer-key-file", m.path("peer.key"), "--peer-ca-file", m.path("ca.crt"),
	}, more...)
}

// restart starts a member with other flags, and waits until the clients have written more.
func (m *migration) restart(ctx context.Context, member *rig.Member, args []string) {
	m.t.Helper()
	if err := member.Stop(); err != nil {
		m.t.Fatal(err)
	}
	member.SetArgs(args...)
	member.Restart(ctx)
	m.moreWrites(ctx)
}

// advance has the clients take the next step, and waits until all have.
func (m *migration) advance(ctx context.Context) {
	m.t.Helper()
	m.arrived.Store(0)
	m.step.Add(1)
	until(ctx, m.t, "the clients to take a step", func() bool { return m.arrived.Load() >= m.clients || m.failed.Load() > 0 })
	m.moreWrites(ctx)
}

// wantUnsafe fails unless no token can be made while members accept connections without TLS.
func (m *migration) wantUnsafe(ctx context.Context) {
	m.t.Helper()
	conn := m.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	_, err := tenurev1.NewAuthServiceClient(conn).BootstrapAuth(ctx, &tenurev1.BootstrapAuthRequest{Token: identity.NewToken()})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "without TLS") {
		m.t.Errorf("a bootstrap: got %v, want AUTH_UNSAFE", err)
	}
}

// wantCleartext fails unless every member says that it accepts connections without TLS, and who uses that; or none says it.
func (m *migration) wantCleartext(ctx context.Context, want bool) {
	m.t.Helper()
	for _, member := range m.c.Members {
		s, err := member.Status(ctx)
		if err != nil {
			m.t.Fatal(err)
		}
		said := ""
		for _, p := range s.GetProblems() {
			if p.GetName() == "cleartext-accepted" {
				said = p.GetMessage()
			}
		}
		if want != strings.Contains(said, "gRPC by 127.") || !want && said != "" {
			m.t.Errorf("%s: the problem cleartext-accepted is %q", member.Name(), said)
		}
		// It may have been met without at first: it was tried with TLS before it was restarted.
		until(ctx, m.t, "a member with TLS to meet "+member.Name(), func() bool {
			return m.metric(ctx, member, `tenure_certs_handshakes_total{listener="peer"}`) > 0
		})
		if want && m.metric(ctx, member, `tenure_certs_cleartext_connections_total{listener="grpc"}`) == 0 {
			m.t.Errorf("%s counts no connection without TLS", member.Name())
		}
	}
}

// bootstrap makes the first token, in mode warn, and a policy for the clients.
func (m *migration) bootstrap(ctx context.Context) (admin context.Context) {
	m.t.Helper()
	conn := m.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	auth, text := tenurev1.NewAuthServiceClient(conn), identity.NewToken()
	admin = withToken(ctx, text)
	until(ctx, m.t, "the members to have said that they are secure", func() bool {
		_, err := auth.BootstrapAuth(ctx, &tenurev1.BootstrapAuthRequest{Token: text, Mode: tenurev1.AuthMode_AUTH_MODE_WARN})
		return err == nil
	})
	if _, err := auth.PutPolicy(admin, &tenurev1.PutPolicyRequest{Name: "web", Rules: "session * write\nkey * rw\n"}); err != nil {
		m.t.Fatal(err)
	}
	return admin
}

// check notes how a client ended.
func (m *migration) check(name string, err error) {
	if err != nil {
		m.failed.Add(1)
		m.t.Errorf("%s: %v", name, err)
	}
}

// work is a client, which takes each step with a new connection and a new session.
func (m *migration) work(ctx context.Context, number int) error {
	for ctx.Err() == nil {
		step := m.step.Load()
		if err := m.take(ctx, step, number); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}

// take holds a lock and writes until the next step.
func (m *migration) take(ctx context.Context, step int64, number int) error {
	scheme, options := "tenure://", []tenure.Option(nil)
	if step > 0 {
		scheme, options = "tenures://", []tenure.Option{tenure.WithCAFile(m.path("ca.crt")), tenure.WithServerName("localhost")}
	}
	if step > 1 {
		options = append(options, tenure.WithTokenFile(m.path("token")))
	}
	client, err := tenure.Open(scheme+strings.Join(m.c.Endpoints(), ",")+"/app", options...)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	session, err := client.OpenSession(ctx, tenure.WithTTL(time.Minute))
	if err != nil {
		return orEnded(ctx, err)
	}
	held, err := session.Lock(fmt.Sprintf("lock/%d", number)).Acquire(ctx)
	if err != nil {
		return orEnded(ctx, err)
	}
	for n := 0; ctx.Err() == nil && m.step.Load() == step; n++ {
		if _, err = client.KV().Put(ctx, fmt.Sprintf("key/%d", number), []byte(strconv.Itoa(n))); err != nil {
			return orEnded(ctx, fmt.Errorf("write %d: %w", n, err))
		}
		m.written.Add(1)
		if n == 0 {
			m.arrived.Add(1)
		}
	}
	if err = held.Err(); err != nil || ctx.Err() != nil {
		return orEnded(ctx, err)
	}
	return errors.Join(held.Release(ctx), session.Close())
}

// orEnded returns an error, unless the test has ended the client.
func orEnded(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// rest is a client of REST, which tries the members one after the other.
func (m *migration) rest(ctx context.Context) error {
	for n, last := 0, int64(-1); ctx.Err() == nil; n++ {
		step := m.step.Load()
		if err := m.send(ctx, step, n); err != nil {
			return orEnded(ctx, fmt.Errorf("step %d, write %d: %w", step, n, err))
		}
		if step != last {
			last = step
			m.arrived.Add(1)
		}
		m.written.Add(1)
		wait(ctx, 5*time.Millisecond)
	}
	return nil
}

// send writes a key over REST through the first member that takes it.
func (m *migration) send(ctx context.Context, step int64, n int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, restPatience)
	defer cancel()
	transport, scheme, token := &http.Transport{}, "http://", []byte(nil)
	defer transport.CloseIdleConnections()
	if step > 0 {
		authority, readErr := os.ReadFile(m.path("ca.crt"))
		if readErr != nil {
			return readErr
		}
		scheme, transport.TLSClientConfig = "https://", &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool(), ServerName: "localhost"}
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(authority)
	}
	if step > 1 {
		if token, err = os.ReadFile(m.path("token")); err != nil {
			return err
		}
	}
	for i := 0; ctx.Err() == nil; i++ {
		at := scheme + m.c.Members[(n+i)%len(m.c.Members)].Addresses.HTTP + "/v1/kv/rest"
		if err = putREST(ctx, &http.Client{Transport: transport}, at, string(token), strconv.Itoa(n)); err == nil {
			return nil
		}
		wait(ctx, 20*time.Millisecond)
	}
	return err
}

func putREST(ctx context.Context, client *http.Client, at, token, value string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, at, bytes.NewReader([]byte(value)))
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, said)
	}
	return err
}
