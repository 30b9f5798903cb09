package call

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/tenure-io/tenure/storage"
)

// A page that shows only what its caller sees may end at something that the caller does not see, and what a token of it says is nobody's to read. Its key
// is made of what every member knows and no client: the hash of the first token, of which there is one wherever rules are enforced. (It is gone where
// tokens were dropped with a restore, until there is another first one: then the key is made of ids that clients know, too.)
const (
	partTokenVersion = 2
	// partPlaceBytes is what the length of a place is rounded up to, which would tell how long a name is.
	partPlaceBytes = 64
)

// Pages makes the page tokens of one listing on one snapshot.
type Pages struct {
	query PageQuery
	at    storage.Applied
	// sealer makes tokens that only members read; nil: the pages show all.
	sealer cipher.AEAD
}

// paged is a request for a page of a listing that its caller may want to see as far as it may.
type paged interface {
	GetPageToken() string
	GetVisibleOnly() bool
}

// Pages returns what makes the page tokens of a listing, and the item after which the page begins that is asked for; empty for the first page. The tokens of
// a listing that shows what its caller sees are good for no other, and good still when the caller's rights have changed.
func (s *Snapshot) Pages(q PageQuery, r paged) (p Pages, after string, err error) {
	p = Pages{query: q, at: s.At}
	if !r.GetVisibleOnly() {
		after, err = q.After(s.At, r.GetPageToken())
		return p, after, err
	}
	p.query.List = "visible " + q.List
	data, err := DecodeToken(r.GetPageToken())
	sealed := err == nil && len(data) > 0 && data[0] == partTokenVersion
	var sealer cipher.AEAD
	if sealed || s.Sight != nil {
		if sealer, err = s.sealer(); err != nil {
			return p, "", err
		}
	}
	if s.Sight != nil {
		p.sealer = sealer
	}
	if sealed {
		after, err = p.open(sealer, data)
	} else {
		after, err = p.query.After(s.At, r.GetPageToken())
	}
	return p, after, err
}

// sealer returns what makes and reads tokens that only members read.
func (s *Snapshot) sealer() (cipher.AEAD, error) {
	head, err := s.AuthHead()
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, head.GetBootstrapSha256())
	_, _ = mac.Write([]byte("page tokens"))
	_, _ = mac.Write(s.At.ClusterID[:])
	_, _ = mac.Write(s.At.HistoryID[:])
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("page tokens: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Token returns the page token that goes on after an item.
func (p Pages) Token(after string) string {
	if p.sealer == nil {
		return p.query.Token(p.at, after)
	}
	place := append(binary.AppendUvarint(nil, uint64(len(after))), after...)
	place = append(place, make([]byte, (partPlaceBytes-len(place)%partPlaceBytes)%partPlaceBytes)...)
	sealed := p.sealer.Seal([]byte{partTokenVersion}, nil, place, p.query.seal(p.at, "")) //nolint:gosec // It draws the nonce itself.
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open returns the item after which the page of a sealed token begins.
func (p Pages) open(sealer cipher.AEAD, data []byte) (string, error) {
	place, err := sealer.Open(nil, nil, data[1:], p.query.seal(p.at, ""))
	if err != nil {
		return "", PageTokenInvalid()
	}
	length, n := binary.Uvarint(place)
	if n <= 0 || length > uint64(len(place)-n) {
		return "", PageTokenInvalid()
	}
	return string(place[n:][:length]), nil
}
