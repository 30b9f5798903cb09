package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tenure-io/tenure/agent/check"
)

const (
	// redirectsMax is how many redirects are followed.
	redirectsMax = 10
	// headerBytesMax bounds the header of an answer.
	headerBytesMax = 64 << 10
	// caBytesMax bounds the file with the certificates that are trusted.
	caBytesMax = 4 << 20
)

// http asks a URL.
func (p *Prober) http(ctx context.Context, k check.HTTP, timeout time.Duration) check.Result {
	method := k.Method
	if method == "" {
		method = http.MethodGet
	}
	what := method + " " + k.URL
	request, err := http.NewRequestWithContext(ctx, method, k.URL, strings.NewReader(k.Body))
	if err != nil {
		return critical("%s: %v", what, err)
	}
	request.Header.Set("User-Agent", p.userAgent)
	for name, values := range k.Header {
		request.Header.Del(name)
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	config, err := tlsConfig(k.TLS)
	if err != nil {
		return critical("%s: %v", what, err)
	}
	// A connection of its own shows whether the service still accepts any.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: config, MaxResponseHeaderBytes: headerBytesMax}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: redirects(k.FollowRedirects)}
	response, err := client.Do(request)
	if err != nil {
		// The error's own text repeats the request.
		if wrapped, is := errors.AsType[*url.Error](err); is {
			err = wrapped.Err
		}
		return failed(ctx, what, timeout, err)
	}
	defer func() { _ = response.Body.Close() }()
	// The status decides. Output that does not come in time is left out.
	body, _ := io.ReadAll(io.LimitReader(response.Body, check.OutputBytesMax))
	output := fmt.Sprintf("%s: %s\n%s", what, response.Status, body)
	switch {
	case response.StatusCode >= 200 && response.StatusCode < 300:
		return check.Result{Status: check.Passing, Output: output}
	case response.StatusCode == http.StatusTooManyRequests:
		return check.Result{Status: check.Warning, Output: output}
	default:
		return check.Result{Status: check.Critical, Output: output}
	}
}

// redirects returns what follows an answer that points elsewhere.
func redirects(follow bool) func(*http.Request, []*http.Request) error {
	return func(_ *http.Request, via []*http.Request) error {
		if !follow {
			return http.ErrUseLastResponse
		}
		if len(via) >= redirectsMax {
			return fmt.Errorf("more than %d redirects", redirectsMax)
		}
		return nil
	}
}

// tlsConfig returns how a probe speaks TLS. Certificates are read each time, so that new ones need no restart.
func tlsConfig(t check.TLS) (*tls.Config, error) {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: t.ServerName,
		InsecureSkipVerify: t.SkipVerify, //nolint:gosec // The definition asks for it.
	}
	if t.CAFile == "" {
		return config, nil
	}
	raw, err := readCA(t.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s holds no certificate", t.CAFile)
	}
	return config, nil
}

// readCA reads a file that is not larger than such files are, and does not wait for one that is a pipe.
func readCA(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	file, err := os.Open(path) //nolint:gosec // The definition names the file.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, caBytesMax))
}
