package provider

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"

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

// parseKeySet reads the key set that is part of a provider: it has public keys only. Those that are for something else, or of kinds that are not
// known, are left out. ErrNoKey comes with the keys of a set that is one: none.
func parseKeySet(data []byte) ([]key, error) {
	s, err := readKeySet(data)
	if err != nil {
		return nil, err
	}
	if s.refused != nil {
		return nil, s.refused
	}
	return s.keys, s.lack()
}

// parseFetched reads the key set that a provider publishes. What does not belong there is left out, so that the rest of the set is still taken; a
// set with nothing else is refused for it, but says which keys everybody knows. ErrNoKey comes as with parseKeySet.
func parseFetched(data []byte) (keySet, error) {
	s, err := readKeySet(data)
	if err == nil && len(s.keys) == 0 && s.refused != nil {
		err = s.refused
	}
	if err != nil {
		return s, err
	}
	return s, s.lack()
}

// keySet is what stands in a key set.
type keySet struct {
	keys    []key
	left    leftOut
	refused error          // why nobody should publish it; nil: no reason
	known   map[KeyID]bool // to everybody, as their private keys are in it
}

// leftOut counts the keys of a set that are left out, but for those that are for something else.
type leftOut struct {
	secret  int // private or symmetric, or public where the set has the private one, too
	unknown int // of a kind that is not known, or no key at all
}

// lack returns ErrNoKey if there is no key.
func (s keySet) lack() error {
	if len(s.keys) == 0 {
		return ErrNoKey
	}
	return nil
}

// readKeySet reads a key set. Whoever reads a private key that is published can sign with it, so its public key is left out wherever it stands.
func readKeySet(data []byte) (keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(data, &set) != nil || set.Keys == nil { // Without the member keys it is some other answer.
		return keySet{}, ErrKeySet
	}
	s := keySet{keys: []key{}, known: map[KeyID]bool{}}
	for _, raw := range set.Keys {
		public, secret, foreign := strip(raw)
		k, unreadable := readKey(public)
		switch {
		case foreign != nil:
			s.refused = cmp.Or(s.refused, foreign)
			s.left.unknown++
		case secret:
			s.refused = cmp.Or(s.refused, ErrPrivateKey)
			s.left.secret++
			s.known[k.id] = true
		case unreadable != nil:
			s.left.unknown++
		case k.algorithm != "" && len(s.keys) < keysMax:
			s.keys = append(s.keys, k)
		}
	}
	all := len(s.keys)
	s.keys = s.safe(s.keys)
	s.left.secret += all - len(s.keys)
	return s, nil
}

// safe returns those of some keys whose private keys are not in the set.
func (s keySet) safe(keys []key) []key {
	return slices.DeleteFunc(slices.Clone(keys), func(k key) bool { return s.known[k.id] })
}

// strip returns a key without what only its owner may know, and reports whether it had that.
func strip(raw []byte) (public []byte, secret bool, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false, ErrKeySet
	}
	for name, value := range members {
		switch strings.ToLower(name) {
		case "d", "k", "p", "q", "dp", "dq", "qi", "oth", "priv":
			secret = secret || string(value) != "null"
			delete(members, name)
		}
	}
	if !secret {
		return raw, false, nil
	}
	public, err = json.Marshal(members)
	return public, true, err
}

// readKey reads a public key. One that is for something else than signatures that may be used has no algorithm.
func readKey(raw []byte) (key, error) {
	var k jose.JSONWebKey
	if err := k.UnmarshalJSON(raw); err != nil {
		return key{}, err
	}
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil {
		return key{}, err
	}
	algorithm := algorithmOf(k.Key)
	if !k.Valid() || k.Use != "" && k.Use != "sig" || k.Algorithm != "" && k.Algorithm != algorithm {
		algorithm = ""
	}
	return key{id: KeyID(sum), kid: k.KeyID, algorithm: algorithm, public: k.Key}, nil
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
