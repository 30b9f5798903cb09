// Package issuer is a provider of JSON Web Tokens for tests: it signs tokens, and serves its keys over HTTP as a provider of
// OpenID Connect does. It can be away, and change its keys.
package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Audience is what tokens are for, unless it is said.
const Audience = "tenure"

// Issuer is a provider. Any goroutine may use it.
type Issuer struct {
	mu   sync.Mutex // guards what follows
	url  string
	keys []jose.JSONWebKey // the last one signs
	made int
	away bool
	gets int
}

// New returns a provider with one key. Until At says otherwise, its name is https://issuer.test.
func New() *Issuer {
	i := &Issuer{url: "https://issuer.test"}
	i.AddKey()
	return i
}

// At says under which URL the provider can be reached: its tokens name it.
func (i *Issuer) At(url string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.url = url
}

// URL is the issuer that tokens name.
func (i *Issuer) URL() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.url
}

// AddKey makes another key, which signs from now on.
func (i *Issuer) AddKey() {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // It never fails; see crypto/rand.
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.made++
	i.keys = append(i.keys, jose.JSONWebKey{Key: private, KeyID: fmt.Sprint("key", i.made), Use: "sig"})
}

// Withdraw takes the oldest key away.
func (i *Issuer) Withdraw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = i.keys[1:]
}

// Away says whether the provider answers with errors only.
func (i *Issuer) Away(away bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.away = away
}

// Gets is how often its keys were asked for.
func (i *Issuer) Gets() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.gets
}

// KeySet returns the public keys as JSON.
func (i *Issuer) KeySet() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set jose.JSONWebKeySet
	for _, k := range i.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	data, err := json.Marshal(set)
	if err != nil {
		panic(err) // Keys are made here.
	}
	return string(data)
}

// ServeHTTP serves the keys at /keys, and where they are at /.well-known/openid-configuration.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	away, url := i.away, i.url
	if r.URL.Path == "/keys" {
		i.gets++
	}
	i.mu.Unlock()
	switch {
	case away:
		http.Error(w, "away", http.StatusServiceUnavailable)
	case r.URL.Path == "/keys":
		_, _ = w.Write([]byte(i.KeySet())) // The client sees it.
	case r.URL.Path == "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": url, "jwks_uri": url + "/keys"}) // The client sees it.
	default:
		http.NotFound(w, r)
	}
}

// Sign returns a token with the newest key. What claims do not say is filled in: iss and aud.
func (i *Issuer) Sign(claims map[string]any) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := map[string]any{"iss": i.url, "aud": Audience}
	maps.Copy(all, claims)
	return Sign(i.keys[len(i.keys)-1], jose.ES256, all)
}

// Sign returns a token by a key.
func Sign(key any, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		panic(err) // A test that asks for what is not possible is wrong.
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		panic(err)
	}
	return text
}
