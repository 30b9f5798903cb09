package tenure_test

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tenure "github.com/tenure-io/tenure/clients/go"
)

func TestWhatSecurityIsAskedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		target  string
		options []tenure.Option
		env     map[string]string
		refused string // In the text of the error; empty if it is accepted.
		kind    error
	}{
		"TLS with the system's roots":           {target: "tenures://h1"},
		"a server name":                         {target: "h1?server_name=h2"},
		"a server name, and no TLS":             {target: "tenure://h1?server_name=h2", refused: "a server name (server_name, TENURE_SERVER_NAME) is given"},
		"a server name of the environment":      {target: "h1", env: map[string]string{"TENURE_SERVER_NAME": "h2"}},
		"that, and no TLS":                      {target: "tenure://h1", env: map[string]string{"TENURE_SERVER_NAME": "h2"}, refused: "use tenures://"},
		"a CA, and no TLS":                      {target: "tenure://h1", options: []tenure.Option{tenure.WithCAFile("x")}, refused: "a CA (ca_file, TENURE_CA_FILE) is given"},
		"a certificate, and no TLS":             {target: "tenure://h1?cert_file=x&key_file=y", refused: "a certificate (cert_file, TENURE_CERT_FILE) is given"},
		"the program's own, and no TLS":         {target: "tenure://h1", options: []tenure.Option{tenure.WithTLS(&tls.Config{})}, refused: "WithTLS is given"},
		"the program's own":                     {target: "h1", options: []tenure.Option{tenure.WithTLS(&tls.Config{})}, env: map[string]string{"TENURE_CA_FILE": "/none"}},
		"the program's own, and files":          {target: "h1?ca_file=x", options: []tenure.Option{tenure.WithTLS(&tls.Config{})}, refused: "exclude each other"},
		"a certificate without key":             {target: "h1?cert_file=x", refused: "go together"},
		"a key without certificate":             {target: "h1", env: map[string]string{"TENURE_KEY_FILE": "x"}, refused: "go together"},
		"an empty parameter":                    {target: "h1?ca_file=", refused: "ca_file= is empty"},
		"a token in the connection string":      {target: "tenures://h1?token=s3cret", refused: "token= is refused"},
		"that, escaped":                         {target: "http://h1?%74oken=s3cret", refused: "token= is refused"},
		"a token to this machine":               {target: "localhost,127.0.0.1,[::1]", options: []tenure.Option{tenure.WithToken("t")}},
		"a token with TLS":                      {target: "tenures://h1", env: map[string]string{"TENURE_TOKEN": "t"}},
		"a token in clear":                      {target: "localhost,h1", env: map[string]string{"TENURE_TOKEN": "t"}, refused: "not sent to h1:7400 without TLS"},
		"a token in clear that is meant":        {target: "tenure://h1?insecure=true&token_file=" + file},
		"that, by option":                       {target: "h1", options: []tenure.Option{tenure.WithTokenFile(file), tenure.WithInsecure()}},
		"a token in clear that is not meant":    {target: "tenure://h1?insecure=false&token_file=" + file, refused: "not sent to h1:7400 without TLS"},
		"insecure and TLS":                      {target: "tenures://h1?insecure=true", refused: "nothing skips verification"},
		"insecure and what":                     {target: "h1?insecure=yes", refused: "must be true or false"},
		"two tokens":                            {target: "localhost", env: map[string]string{"TENURE_TOKEN": "t", "TENURE_TOKEN_FILE": file}, refused: "more than one token"},
		"a token file before one of the system": {target: "localhost?token_file=" + file, env: map[string]string{"TENURE_TOKEN_FILE": "/none"}},
		"a token file that there is not":        {target: "localhost?token_file=/none", refused: "token_file /none: no such file", kind: tenure.ErrAuth},
		"a token that cannot be sent":           {target: "localhost", options: []tenure.Option{tenure.WithToken("a\nb")}, refused: "not printable", kind: tenure.ErrAuth},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for key, value := range test.env {
				t.Setenv(key, value)
			}
			c, err := tenure.Open(test.target, test.options...)
			if err == nil {
				err = c.Close()
				if test.refused != "" || err != nil {
					t.Errorf("got %v, want that it is refused: %s", err, test.refused)
				}
				return
			}
			kind := test.kind
			if kind == nil {
				kind = tenure.ErrInvalidArgument
			}
			if test.refused == "" || !errors.Is(err, kind) || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("got %v, want %v with %q", err, kind, test.refused)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the token: %v", err)
			}
		})
	}
}
