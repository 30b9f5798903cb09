package agent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenure-io/tenure/agent"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/certs"
)

// files are a CA, a certificate of an agent, and one of a client, in a directory.
type files struct{ dir string }

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

// issue makes them, or others in their place.
func (f files) issue(t *testing.T) {
	t.Helper()
	now, domain := time.Now(), certs.TrustDomainDefault
	ca := must[certs.Issued](t)(certs.NewAuthority(domain, now))
	by := must[*certs.Authority](t)(certs.ParseAuthority(ca))
	for name, issued := range map[string]certs.Issued{
		"ca": ca, "web1": must[certs.Issued](t)(by.Member(domain, "web1", []string{"127.0.0.1"}, now)),
		"job": must[certs.Issued](t)(by.Client(domain, "job", now)),
	} {
		for end, text := range map[string][]byte{".crt": issued.Cert, ".key": issued.Key} {
			if err := os.WriteFile(f.path(name+end), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// clients says that listeners have TLS.
func (f files) clients() certs.Clients {
	return certs.Clients{CertFile: f.path("web1.crt"), KeyFile: f.path("web1.key")}
}

// config is what a client has that shows a certificate, or none.
func (f files) config(t *testing.T, certificate string) *tls.Config {
	t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}
	c.RootCAs.AppendCertsFromPEM(must[[]byte](t)(os.ReadFile(f.path("ca.crt"))))
	if certificate != "" {
		c.Certificates = []tls.Certificate{must[tls.Certificate](t)(tls.LoadX509KeyPair(f.path(certificate+".crt"), f.path(certificate+".key")))}
	}
	return c
}

func TestWhatDoesNotGoTogetherIsRefused(t *testing.T) {
	f := files{t.TempDir()}
	f.issue(t)
	pair := f.clients()
	with := func(change func(*certs.Clients)) func(*agent.Options) {
		return func(o *agent.Options) {
			o.TLS = pair
			change(&o.TLS)
		}
	}
	outside := func(flag string, more func(*agent.Options)) func(*agent.Options) {
		return func(o *agent.Options) {
			*map[string]*string{"--listen": &o.Listen, "--http": &o.HTTP, "--consul-http": &o.Consul}[flag] = "0.0.0.0:0"
			o.TLS = pair
			o.NewConsul = func(*agent.Local) (http.Handler, error) { return http.NotFoundHandler(), nil }
			more(o)
		}
	}
	inClear := func(o *agent.Options) { o.TLS = certs.Clients{} }
	api := func(o *agent.Options) { o.Exec = agent.ExecAPI }
	none := func(*agent.Options) {}
	demand := func(o *agent.Options) { o.TLS.CAFile, o.TLS.Auth = f.path("ca.crt"), certs.AuthRequire }
	for name, c := range map[string]struct {
		change func(*agent.Options)
		want   string // Empty: nothing is wrong.
		is     error
	}{
		"a certificate without its key":   {with(func(c *certs.Clients) { c.KeyFile = "" }), "--cert-file and --key-file belong together", nil},
		"a key without its certificate":   {with(func(c *certs.Clients) { c.CertFile = "" }), "--cert-file and --key-file belong together", nil},
		"under the names of its flags":    {with(func(c *certs.Clients) { c.KeyFile, c.CertFlag, c.KeyFlag = "", "--a", "--b" }), "--a and --b belong together", nil},
		"a CA for clients without a pair": {with(func(c *certs.Clients) { *c = certs.Clients{CAFile: f.path("ca.crt")} }), "--client-ca-file and --client-auth need --cert-file", nil},
		"certificates without a CA":       {with(func(c *certs.Clients) { c.Auth = certs.AuthRequire }), "--client-auth require needs --client-ca-file", nil},
		"something else that is asked":    {with(func(c *certs.Clients) { c.Auth = "maybe" }), `--client-auth is "maybe"`, nil},
		"a file that is not there":        {with(func(c *certs.Clients) { c.CertFile = f.path("missing.crt") }), "missing.crt: no such file", os.ErrNotExist},
		"a CA that is not there":          {with(func(c *certs.Clients) { c.CAFile = f.path("missing.crt") }), "missing.crt: no such file", os.ErrNotExist},
		"the key of another":              {with(func(c *certs.Clients) { c.KeyFile = f.path("job.key") }), "private key does not match", nil},
		"a certificate for clients alone": {with(func(c *certs.Clients) { c.CertFile, c.KeyFile = f.path("job.crt"), f.path("job.key") }), "lacks serverAuth", certs.ErrUsage},

		"--listen for others in clear":           {outside("--listen", inClear), "--listen 0.0.0.0:0: ", agent.ErrInsecure},
		"--http for others in clear":             {outside("--http", inClear), "--http 0.0.0.0:0: ", agent.ErrInsecure},
		"--consul-http for others in clear":      {outside("--consul-http", inClear), "--consul-http 0.0.0.0:0: ", agent.ErrInsecure},
		"--listen for others with TLS":           {outside("--listen", none), "--listen 0.0.0.0:0: ", agent.ErrAnybody},
		"--http for others with TLS":             {outside("--http", none), "--http 0.0.0.0:0: ", agent.ErrAnybody},
		"--consul-http for others with TLS":      {outside("--consul-http", none), "--consul-http 0.0.0.0:0: ", agent.ErrAnybody},
		"--listen for anybody":                   {outside("--listen", func(o *agent.Options) { o.Insecure = true }), "", nil},
		"--listen for certificates":              {outside("--listen", demand), "", nil},
		"--http for certificates":                {outside("--http", demand), "", nil},
		"--consul-http for certificates":         {outside("--consul-http", demand), "", nil},
		"programs of others at --listen":         {outside("--listen", func(o *agent.Options) { demand(o); api(o) }), "--listen 0.0.0.0:0: ", agent.ErrInsecureExec},
		"programs of others at --http":           {outside("--http", api), "--http 0.0.0.0:0: ", agent.ErrInsecureExec},
		"programs of others at --consul-http":    {outside("--consul-http", api), "--consul-http 0.0.0.0:0: ", agent.ErrInsecureExec},
		"programs of others that were agreed to": {outside("--listen", func(o *agent.Options) { api(o); o.Insecure = true }), "", nil},
		"programs of files":                      {outside("--listen", func(o *agent.Options) { demand(o); o.Exec = agent.ExecFile }), "", nil},
		"this machine, in capitals":              {func(o *agent.Options) { o.Listen = "LocalHost:0" }, "", nil},
		"programs of this machine":               {with(func(*certs.Clients) {}), "", nil},
	} {
		o := options(folder(t, nil))
		c.change(&o)
		a, err := agent.New(o)
		if err == nil {
			err = errors.Join(err, a.Close())
		} else if _, statErr := os.Stat(o.DataDir); statErr == nil {
			t.Errorf("%s: refused, and yet there is a directory", name)
		}
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)), c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// secure starts an agent with TLS on all ports.
func secure(t *testing.T, change func(*certs.Clients, files)) (a *agent.Agent, f files) {
	t.Helper()
	f = files{t.TempDir()}
	f.issue(t)
	o := options(folder(t, nil))
	o.TLS, o.Consul = f.clients(), "127.0.0.1:0"
	o.NewConsul = func(*agent.Local) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "consul") }), nil
	}
	change(&o.TLS, f)
	a = must[*agent.Agent](t)(agent.New(o))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
	<-a.Ready()
	return a, f
}

// called is what comes of a call at each port: over gRPC, of REST, and of a client of Consul.
func called(t *testing.T, a *agent.Agent, config *tls.Config) (errs [3]error) {
	t.Helper()
	security := insecure.NewCredentials()
	scheme := "http"
	if config != nil {
		security, scheme = credentials.NewTLS(config), "https"
	}
	conn := must[*grpc.ClientConn](t)(grpc.NewClient("passthrough:///"+a.Addresses().GRPC, grpc.WithTransportCredentials(security)))
	defer func() { _ = conn.Close() }()
	_, errs[0] = tenurev1.NewAgentServiceClient(conn).GetAgent(t.Context(), &tenurev1.GetAgentRequest{})
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	for i, url := range []string{a.Addresses().HTTP + "/v1/agent", a.Addresses().Consul + "/v1/agent/self"} {
		r := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+url, nil))
		answer, err := (&http.Client{Transport: transport}).Do(r)
		if err == nil {
			if answer.StatusCode != http.StatusOK {
				err = errors.New(answer.Status)
			}
			err = errors.Join(err, answer.Body.Close())
		}
		errs[1+i] = err
	}
	return errs
}

// wantCalls says whether calls at each port come through.
func wantCalls(t *testing.T, who string, a *agent.Agent, config *tls.Config, want bool) {
	t.Helper()
	for i, err := range called(t, a, config) {
		if (err == nil) != want {
			t.Errorf("%s at %s: got %v; want that it is served: %v", who, []string{"gRPC", "REST", "Consul's HTTP"}[i], err, want)
		}
	}
}

func TestAllPortsHaveTLS(t *testing.T) {
	a, f := secure(t, func(*certs.Clients, files) {})
	at := a.Addresses()
	for _, address := range []string{at.GRPC, at.HTTP, at.Consul} { // Who says nothing holds nobody up.
		for range 8 {
			silent := must[net.Conn](t)((&net.Dialer{}).DialContext(t.Context(), "tcp", address))
			defer func() { _ = silent.Close() }()
		}
	}
	wantCalls(t, "with the CA", a, f.config(t, ""), true)
	wantCalls(t, "in clear", a, nil, false)
	before := f.config(t, "")
	f.issue(t)
	wantCalls(t, "with another CA", a, f.config(t, ""), false)

	// What changed is taken for new connections.
	a.RenewCertificates()
	wantCalls(t, "with the new CA", a, f.config(t, ""), true)
	wantCalls(t, "with the old CA", a, before, false)

	// What cannot be used is not.
	if err := os.WriteFile(f.path("web1.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.RenewCertificates()
	wantCalls(t, "with the new CA", a, f.config(t, ""), true)
}

func TestAllPortsDemandACertificate(t *testing.T) {
	a, f := secure(t, func(c *certs.Clients, f files) { c.CAFile, c.Auth = f.path("ca.crt"), certs.AuthRequire })
	wantCalls(t, "with a certificate", a, f.config(t, "job"), true)
	wantCalls(t, "without", a, f.config(t, ""), false)

	// A CA that is taken away takes those with it that it has signed, on connections that are open, too.
	conn := must[*grpc.ClientConn](t)(grpc.NewClient("passthrough:///"+a.Addresses().GRPC,
		grpc.WithTransportCredentials(credentials.NewTLS(f.config(t, "job")))))
	defer func() { _ = conn.Close() }()
	if _, err := tenurev1.NewAgentServiceClient(conn).GetAgent(t.Context(), &tenurev1.GetAgentRequest{}); err != nil {
		t.Fatal(err)
	}
	state := conn.GetState()
	f.issue(t)
	a.RenewCertificates()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !conn.WaitForStateChange(ctx, state) {
		t.Error("the connection stays open although the CA of its client is gone")
	}
}

// TestTheLogNamesWhatOthersCanReach has agents listen where other machines can reach them.
func TestTheLogNamesWhatOthersCanReach(t *testing.T) {
	f := files{t.TempDir()}
	f.issue(t)
	pair := f.clients()
	demanding := pair
	demanding.CAFile, demanding.Auth = f.path("ca.crt"), certs.AuthRequire
	for name, c := range map[string]struct {
		tls    certs.Clients
		exec   agent.Exec
		listen string
		want   int
	}{
		"in clear":                        {certs.Clients{}, agent.ExecOff, "0.0.0.0:0", 1},
		"in clear, on loopback":           {certs.Clients{}, agent.ExecOff, "127.0.0.1:0", 0},
		"with TLS":                        {pair, agent.ExecOff, "0.0.0.0:0", 1},
		"that demands certificates":       {demanding, agent.ExecFile, "0.0.0.0:0", 0},
		"that also runs others' programs": {demanding, agent.ExecAPI, "0.0.0.0:0", 1},
		"that does so on loopback":        {demanding, agent.ExecAPI, "127.0.0.1:0", 0},
	} {
		o := options(folder(t, nil))
		o.TLS, o.Exec, o.Listen, o.Insecure = c.tls, c.exec, c.listen, true
		core, logged := observer.New(zap.WarnLevel)
		o.Logger = zap.New(core)
		a := must[*agent.Agent](t)(agent.New(o))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		<-a.Ready()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: the agent ended with %v", name, err)
		}
		if got := logged.FilterField(zap.String("address", a.Addresses().GRPC)).Len(); got != c.want {
			t.Errorf("%s: the log warns %d times of the address, want %d; all: %v", name, got, c.want, logged.All())
		}
	}
}
