package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// TestCertificatesAndTokensAreReplacedUnderLoad replaces the CA, all certificates and keys of members and clients, and the clients' token, as
// docs/security.md says, while clients write, and hold locks with sessions. No call fails, no session or lock is lost, and in the end no
// connection is left that was made with what was replaced.
func TestCertificatesAndTokensAreReplacedUnderLoad(t *testing.T) {
	ctx := t.Context()
	r := newRotation(t)
	r.issue("first")
	r.trust("first")
	r.c = rig.StartSecuredCluster(ctx, t, binary, 3, r.dir, func(int) []string {
		return []string{
			"--peer-cert-file", r.path("peer.crt"), "--peer-key-file", r.path("peer.key"), "--peer-ca-file", r.path("ca.crt"),
		}
	})
	admin := withToken(ctx, bootstrapped(ctx, t, r.c))
	first := r.token(admin)
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for i := range scale(3, 16) {
		r.begun.Add(1)
		workers.Go(func() { r.work(working, i) })
	}
	r.begun.Wait()
	r.moreWrites(ctx)

	r.reload(ctx, func() { r.trust("first", "second") })
	r.reload(ctx, func() { r.issue("second") })
	r.moreWrites(ctx)
	r.reload(ctx, func() { r.trust("second") })
	for _, m := range r.c.Members {
		until(ctx, t, "the end of the connections of "+m.Name()+" that were made with the first CA", func() bool {
			return r.metric(ctx, m, `tenure_certs_connections_ended_total{purpose="peers"}`) > 0
		})
	}
	r.moreWrites(ctx)

	second := r.token(admin)
	r.moreWrites(ctx)
	conn := r.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	if _, err := tenurev1.NewAuthServiceClient(conn).RevokeToken(admin, &tenurev1.RevokeTokenRequest{Accessor: first}); err != nil {
		t.Fatal(err)
	}
	r.moreWrites(ctx)
	stop()
	workers.Wait()
	ended := 0.0
	for _, m := range r.c.Members {
		ended += r.metric(ctx, m, `tenure_certs_connections_ended_total{purpose="clients"}`)
	}
	t.Logf("%d writes by %d clients, %.0f connections of clients ended, tokens %s and %s", r.written.Load(), scale(3, 16), ended, first, second)
	if ended == 0 {
		t.Error("no connection of a client ended, so that nothing was tried")
	}
}

// rotation is a cluster and clients whose files are replaced.
type rotation struct {
	t           *testing.T
	c           *rig.Cluster
	dir         string
	authorities map[string]*rig.Authority
	begun       sync.WaitGroup
	written     atomic.Int64
	failed      atomic.Int64
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{t: t, dir: t.TempDir(), authorities: map[string]*rig.Authority{}}
	for _, name := range []string{"first", "second"} {
		a, err := rig.NewAuthority(name)
		if err != nil {
			t.Fatal(err)
		}
		r.authorities[name] = a
	}
	return r
}

func (r *rotation) path(name string) string { return filepath.Join(r.dir, name) }

// write replaces a file, which is always a whole one.
func (r *rotation) write(name string, content []byte) {
	r.t.Helper()
	if err := errors.Join(os.WriteFile(r.path(name+".new"), content, 0o600), os.Rename(r.path(name+".new"), r.path(name))); err != nil {
		r.t.Fatal(err)
	}
}

// issue gives members and clients certificates of an authority.
func (r *rotation) issue(authority string) {
	r.t.Helper()
	for name, hosts := range map[string][]string{
		"member": {"localhost", "127.0.0.1"}, "peer": {"member.tenure.internal", "*.member.tenure.internal"}, "client": nil,
	} {
		certificate, key, err := r.authorities[authority].Issue(hosts)
		if err != nil {
			r.t.Fatal(err)
		}
		r.write(name+".crt", certificate)
		r.write(name+".key", key)
	}
}

// trust has members and clients trust authorities.
func (r *rotation) trust(authorities ...string) {
	r.t.Helper()
	var all [][]byte
	for _, name := range authorities {
		all = append(all, r.authorities[name].PEM())
	}
	r.write("ca.crt", bytes.Join(all, []byte("\n")))
}

// reload replaces files, and waits until all members have taken them. A member looks at its files every few seconds, too, so it may have
// taken them before it is told to.
func (r *rotation) reload(ctx context.Context, replace func()) {
	r.t.Helper()
	counts := []string{`tenure_certs_reloads_total{purpose="clients"}`, `tenure_certs_reloads_total{purpose="peers"}`}
	before := map[*rig.Member][]float64{}
	for _, m := range r.c.Members {
		for _, name := range counts {
			before[m] = append(before[m], r.metric(ctx, m, name))
		}
	}
	replace()
	for _, m := range r.c.Members {
		if err := syscall.Kill(m.PID(), syscall.SIGHUP); err != nil {
			r.t.Fatal(err)
		}
		for i, name := range counts {
			until(ctx, r.t, m.Name()+" to take files", func() bool { return r.metric(ctx, m, name) > before[m][i] })
		}
	}
}

// metric returns a metric of a member; 0 while it does not answer.
func (r *rotation) metric(ctx context.Context, m *rig.Member, name string) float64 {
	_, text, err := m.Fetch(ctx, "/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				r.t.Fatal(err)
			}
			return number
		}
	}
	r.t.Fatalf("%s has no metric %s", m.Name(), name)
	return 0
}

// token makes a token for the clients, who find it in their file, and returns its accessor.
func (r *rotation) token(admin context.Context) (accessor string) {
	r.t.Helper()
	conn := r.c.Members[0].Dial()
	defer func() { _ = conn.Close() }()
	made, err := tenurev1.NewAuthServiceClient(conn).CreateToken(admin, &tenurev1.CreateTokenRequest{Name: "web", Policies: []string{"web"}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("token", []byte(made.GetText()))
	return made.GetToken().GetAccessor()
}

// work is a client: it holds a lock, and writes until ctx ends.
func (r *rotation) work(ctx context.Context, number int) {
	once := sync.OnceFunc(r.begun.Done)
	defer once()
	if err := r.use(ctx, number, once); err != nil {
		r.failed.Add(1)
		r.t.Errorf("client %d: %v", number, err)
	}
}

// client returns a client with the certificates and the token of the files.
func (r *rotation) client() (*tenure.Client, error) {
	return tenure.Open("tenures://"+strings.Join(r.c.Endpoints(), ",")+"/app", tenure.WithCAFile(r.path("ca.crt")),
		tenure.WithCertificateFiles(r.path("client.crt"), r.path("client.key")), tenure.WithServerName("localhost"), tenure.WithTokenFile(r.path("token")))
}

func (r *rotation) use(ctx context.Context, number int, begun func()) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	session, err := client.OpenSession(ctx, tenure.WithTTL(30*time.Second))
	if err != nil {
		return err
	}
	held, err := session.Lock(fmt.Sprintf("lock/%d", number)).Acquire(ctx)
	if err != nil {
		return err
	}
	for n := 0; ctx.Err() == nil; n++ {
		if _, err = client.KV().Put(ctx, fmt.Sprintf("key/%d", number), []byte(strconv.Itoa(n))); err != nil && ctx.Err() == nil {
			return fmt.Errorf("write %d: %w", n, err)
		}
		r.written.Add(1)
		begun()
	}
	return held.Err()
}

// moreWrites waits until the clients have written some more.
func (r *rotation) moreWrites(ctx context.Context) {
	r.t.Helper()
	enough := r.written.Load() + int64(scale(50, 2_000))
	until(ctx, r.t, "writes", func() bool { return r.written.Load() >= enough || r.failed.Load() > 0 })
}
