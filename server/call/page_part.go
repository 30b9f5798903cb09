package call

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// A page that shows only what its caller sees may end at something that the caller does not see, and what a token of it says is nobody's to read. Nor may
// anybody make one up, who could then ask for what is behind any place. The key is made of what every member knows and no client: the hash of the first
// token, of which there is one wherever rules are enforced. It is gone where tokens were dropped with a restore, until there is another first one. Then the
// key is made of ids that clients know, too, and there are tokens only for who sees all.
const (
	partTokenVersion = 2
	// partPlaceBytes is what the length of a place is rounded up to, which would tell how long a name is.
	partPlaceBytes = 64
)

// Pages makes the page tokens of one listing on one snapshot.
type Pages struct {
	query    PageQuery
	snapshot *Snapshot
	// sealed says that only members read the tokens.
	sealed bool
}

// paged is a request for a page of a listing that its caller may want to see as far as it may.
type paged interface {
	GetPageToken() string
	GetVisibleOnly() bool
}

// Pages returns what makes the page tokens of a listing, and the item after which the page begins that is asked for; empty for the first page. The tokens of
// a listing that shows what its caller sees are good for no other, and good still when the caller's rights have changed.
func (s *Snapshot) Pages(q PageQuery, r paged) (p Pages, after string, err error) {
	p = Pages{query: q, snapshot: s, sealed: r.GetVisibleOnly()}
	if p.sealed {
		p.query.List = "visible " + q.List
		after, err = p.open(r.GetPageToken())
	} else {
		after, err = q.After(s.At, r.GetPageToken())
	}
	return p, after, err
}

// sealer returns what makes and reads tokens that only members read.
func (s *Snapshot) sealer() (cipher.AEAD, error) {
	head, err := s.AuthHead()
	if err != nil {
		return nil, err
	}
	hash := head.GetBootstrapSha256()
	if len(hash) == 0 && s.Sight != nil {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_AUTH_NOT_BOOTSTRAPPED,
			"a part of a list has no second page while there is no first token, as after a restore without tokens; "+
				"bootstrap again, or ask for a list that one page holds").
			With("revision", strconv.FormatUint(s.At.Revision, 10))
	}
	mac := hmac.New(sha256.New, hash)
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
func (p Pages) Token(after string) (string, error) {
	if !p.sealed {
		return p.query.Token(p.snapshot.At, after), nil
	}
	sealer, err := p.snapshot.sealer()
	if err != nil {
		return "", err
	}
	place := append(binary.AppendUvarint(nil, uint64(len(after))), after...)
	place = append(place, make([]byte, (partPlaceBytes-len(place)%partPlaceBytes)%partPlaceBytes)...)
	sealed := sealer.Seal([]byte{partTokenVersion}, nil, place, p.query.seal(p.snapshot.At, "")) //nolint:gosec // It draws the nonce itself.
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// open returns the item after which the page of a sealed token begins; empty for no token.
func (p Pages) open(token string) (string, error) {
	if token == "" {
		return "", nil
	}
	data, err := DecodeToken(token)
	if err != nil || len(data) == 0 || data[0] != partTokenVersion {
		return "", PageTokenInvalid()
	}
	sealer, err := p.snapshot.sealer()
	if err != nil {
		return "", err
	}
	place, err := sealer.Open(nil, nil, data[1:], p.query.seal(p.snapshot.At, ""))
	if err != nil {
		return "", PageTokenInvalid()
	}
	length, n := binary.Uvarint(place)
	if n <= 0 || length > uint64(len(place)-n) {
		return "", PageTokenInvalid()
	}
	return string(place[n:][:length]), nil
}
