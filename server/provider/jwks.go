package provider

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysMax is how many keys of a provider are used; what is behind them is left out.
	keysMax = 64
	// rsaBitsMin and rsaBitsMax bound the keys for RSA: below they are weak, above slow.
	rsaBitsMin, rsaBitsMax = 2048, 8192
)

// Algorithms are what signatures may have.
func Algorithms() []string { return []string{"RS256", "ES256", "ES384", "EdDSA"} }

// KeyID names a key: the thumbprint of RFC 7638.
type KeyID [sha256.Size]byte

// key is a public key of a provider.
type key struct {
	id        KeyID
	kid       string
	algorithm string // the only one that it is for
	public    crypto.PublicKey
}

// Errors of key sets.
var (
	// ErrKeySet says that a text is not a JSON Web Key Set.
	ErrKeySet = errors.New("not a JSON Web Key Set")
	// ErrPrivateKey says that a key set has what only its provider may know.
	ErrPrivateKey = errors.New("it has a private or symmetric key; only public keys belong there")
	// ErrNoKey says that a key set has no key for an algorithm that may be used.
	ErrNoKey = errors.New("it has no key for signatures by RS256, ES256, ES384 or EdDSA")
)

// CheckKeySet refuses a text that is not a set of public keys, or has none that can be used.
func CheckKeySet(text string) error {
	_, err := parseKeySet([]byte(text))
	return err
}

// parseKeySet reads a key set. Keys that are for something else, or of kinds that are not known, are left out. ErrNoKey comes with the keys of a
// set that is one: none.
func parseKeySet(data []byte) ([]key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(data, &set) != nil || set.Keys == nil { // Without the member keys it is some other answer.
		return nil, ErrKeySet
	}
	all := []key{}
	for _, raw := range set.Keys {
		var secret struct {
			D any `json:"d"` // of private keys
			K any `json:"k"` // of symmetric keys
		}
		if json.Unmarshal(raw, &secret) != nil {
			return nil, ErrKeySet
		}
		if secret.D != nil || secret.K != nil {
			return nil, ErrPrivateKey
		}
		if k, ok := parseKey(raw); ok && len(all) < keysMax {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return all, ErrNoKey
	}
	return all, nil
}

// parseKey reads a public key, and reports whether it can be used.
func parseKey(raw []byte) (key, bool) {
	var k jose.JSONWebKey
	if k.UnmarshalJSON(raw) != nil || !k.Valid() || k.Use != "" && k.Use != "sig" {
		return key{}, false
	}
	algorithm := algorithmOf(k.Key)
	if algorithm == "" || k.Algorithm != "" && k.Algorithm != algorithm {
		return key{}, false
	}
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil {
		return key{}, false
	}
	return key{id: KeyID(sum), kid: k.KeyID, algorithm: algorithm, public: k.Key}, true
}

// algorithmOf returns the algorithm that a key is for; empty: none.
func algorithmOf(public crypto.PublicKey) string {
	switch public := public.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits >= rsaBitsMin && bits <= rsaBitsMax {
			return "RS256"
		}
	case *ecdsa.PublicKey:
		switch public.Curve.Params().BitSize {
		case 256:
			return "ES256"
		case 384:
			return "ES384"
		}
	case ed25519.PublicKey:
		return "EdDSA"
	}
	return ""
}

// find returns the key that a token names. One that names none means the only key for its algorithm.
func find(keys []key, kid, algorithm string) *key {
	var found *key
	for i := range keys {
		k := &keys[i]
		if k.algorithm != algorithm || kid != "" && k.kid != kid {
			continue
		}
		if found != nil && kid == "" {
			return nil
		}
		if found == nil {
			found = k
		}
	}
	return found
}
