package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/certs"
)

const (
	// fetchTimeout is how long an attempt may take in all.
	fetchTimeout = 10 * time.Second
	// bodyBytesMax is how long an answer may be.
	bodyBytesMax = 1 << 20
	// discoveryPath is where an issuer says where its keys are.
	discoveryPath = "/.well-known/openid-configuration"
)

// CheckURL refuses the URL of keys that others could read or change on their way.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return errors.New("not a URL")
	case u.User != nil || u.Fragment != "":
		return errors.New("it has a user, a password or a fragment")
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	default:
		return errors.New("it must start with https://, or with http:// on a loopback address")
	}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}

// CheckCertificates refuses a text that has no certificates of a CA.
func CheckCertificates(pem string) error {
	_, err := certs.Asking([]byte(pem))
	return err
}

// fetch returns the key set of a provider from where it, or its issuer, says.
func fetch(ctx context.Context, p *storev1.ProviderRecord) ([]byte, error) {
	client, err := clientOf(p)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	from := p.GetJwksUrl()
	if from == "" {
		if from, err = discover(ctx, client, p.GetIssuer()); err != nil {
			return nil, err
		}
	}
	return get(ctx, client, from)
}

// clientOf returns what a provider's server is asked with.
func clientOf(p *storev1.ProviderRecord) (*http.Client, error) {
	config, err := certs.Asking([]byte(p.GetCaCertificates()))
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") },
	}, nil
}

// discover returns where an issuer says that its keys are.
func discover(ctx context.Context, client *http.Client, issuer string) (string, error) {
	data, err := get(ctx, client, strings.TrimSuffix(issuer, "/")+discoveryPath)
	if err != nil {
		return "", err
	}
	var said struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if json.Unmarshal(data, &said) != nil {
		return "", errors.New("the answer of the issuer is not JSON of OpenID Connect")
	}
	if said.Issuer != issuer {
		return "", errors.New("the answer of the issuer names another issuer")
	}
	if err = CheckURL(said.Keys); err != nil {
		return "", fmt.Errorf("the jwks_uri of the issuer: %w", err)
	}
	return said.Keys, nil
}

// get returns what a server answers.
func get(ctx context.Context, client *http.Client, from string) (data []byte, err error) {
	if err = CheckURL(from); err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d", from, answer.StatusCode)
	}
	if data, err = io.ReadAll(io.LimitReader(answer.Body, bodyBytesMax+1)); err == nil && len(data) > bodyBytesMax {
		err = fmt.Errorf("GET %s: the answer is longer than %d bytes", from, bodyBytesMax)
	}
	return data, err
}
