package consul

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/server/certs"
)

// consulAnswerMax is how much of an answer is shown that is no list of keys.
const consulAnswerMax = 200

// consulSource is a Consul from whose HTTP API an import reads. What is read one after the other shares a connection: Consul takes 200 of a client.
type consulSource struct {
	env     *cli.Environment
	address string // Scheme, host and port.
	client  *http.Client
}

// newConsulSource returns the Consul at an address. Close it after the last answer was read.
func newConsulSource(e *cli.Environment, base string) (*consulSource, error) {
	at, err := url.Parse(base)
	if err != nil || at.Host == "" || at.User != nil || at.RawQuery != "" || strings.Trim(at.Path, "/") != "" {
		return nil, cli.UsageError("%s is not the address of Consul's HTTP API; it must be http://HOST:PORT or https://HOST:PORT", cli.Quoted(base))
	}
	client, err := consulClient(e)
	if err != nil {
		return nil, err
	}
	return &consulSource{env: e, address: at.Scheme + "://" + at.Host, client: client}, nil
}

// close closes the connection that is kept for the next question.
func (s *consulSource) close() { s.client.CloseIdleConnections() }

// openKeys asks for all keys with a prefix.
func (s *consulSource) openKeys(ctx context.Context, prefix string) (io.ReadCloser, error) {
	return s.open(ctx, "/v1/kv/"+url.PathEscape(prefix)+"?recurse&consistent")
}

// open asks for a list. Of what is read, nothing may take longer than a call may.
func (s *consulSource) open(ctx context.Context, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address+path, http.NoBody)
	if err != nil {
		cancel(nil)
		return nil, cli.UsageError("%w", err)
	}
	if token, set := s.env.Getenv("CONSUL_HTTP_TOKEN"); set && token != "" {
		request.Header.Set("X-Consul-Token", token)
	}
	body := &consulBody{ctx: ctx, timeout: s.env.Timeout, cancel: cancel}
	body.silence = time.AfterFunc(s.env.Timeout, func() { cancel(errConsulSilent) })
	answer, err := s.client.Do(request) //nolint:bodyclose // consulBody closes it.
	body.silence.Stop()
	if err != nil {
		err = body.unavailable(err)
		cancel(nil)
		return nil, err
	}
	body.from = answer.Body
	switch answer.StatusCode {
	case http.StatusOK:
		return body, nil
	case http.StatusNotFound:
		_ = body.Close() // There is none.
		return io.NopCloser(strings.NewReader("[]")), nil
	default:
		said, _ := io.ReadAll(io.LimitReader(body, consulAnswerMax)) // What could be read is shown.
		_ = body.Close()                                             // It was only read.
		return nil, cli.RefusedError("Consul answered %d: %s", answer.StatusCode, cli.Printable(strings.TrimSpace(string(said))))
	}
}

// consulClient returns what speaks to Consul. It follows no redirects, which could carry a token elsewhere.
func consulClient(e *cli.Environment) (*http.Client, error) {
	var dialing certs.Dialing
	dialing.CA, _ = e.Getenv("CONSUL_CACERT")
	config, err := dialing.Config()
	if err != nil {
		return nil, cli.UsageError("CONSUL_CACERT: %w", err)
	}
	config.NextProtos = []string{"http/1.1"}
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// consulBody is what Consul answers, each part of which has to come in time.
type consulBody struct {
	ctx     context.Context //nolint:containedctx // The request's, which ends with the body.
	from    io.ReadCloser
	timeout time.Duration
	silence *time.Timer // Cancels the request.
	cancel  context.CancelCauseFunc
}

// errConsulSilent is why a request ends to which Consul gave no answer in time.
var errConsulSilent = errors.New("no answer in time")

// unavailable says that Consul could not be asked, or stopped responding, or that the user ended the command.
func (b *consulBody) unavailable(err error) error {
	switch cause := context.Cause(b.ctx); {
	case errors.Is(cause, errConsulSilent):
		return &cli.ExitError{Code: cli.ExitUnavailable, Err: fmt.Errorf("no answer from Consul within %v", b.timeout)}
	case cause != nil:
		return cause
	default:
		return &cli.ExitError{Code: cli.ExitUnavailable, Err: fmt.Errorf("cannot read from Consul: %s", cli.Printable(err.Error()))}
	}
}

// Read waits for the next part.
func (b *consulBody) Read(p []byte) (int, error) {
	b.silence.Reset(b.timeout)
	n, err := b.from.Read(p)
	b.silence.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.unavailable(err)
	}
	return n, err
}

// Close ends the request.
func (b *consulBody) Close() error {
	b.silence.Stop()
	b.cancel(nil)
	return b.from.Close()
}
