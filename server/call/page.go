package call

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// A page token is a sealed place in a listing: the last item before it, bound to the listing, its filters and the
// history. Its key is made of the cluster's ids, which every member knows, so any member takes any other's tokens. The
// seal tells accident and mix-up from a token; it hides nothing and guards nothing, for a place is no privilege.
const (
	pageTokenVersion = 1
	pageSealBytes    = 16
)

// PageQuery names a listing by all that must be the same on its next page.
type PageQuery struct {
	List    string
	Filters []string
}

// seal returns what proves that after is a place in this listing of this history.
func (q PageQuery) seal(a storage.Applied, after string) []byte {
	key := sha256.Sum256(append(a.ClusterID[:], a.HistoryID[:]...))
	mac := hmac.New(sha256.New, key[:])
	for _, part := range append([]string{q.List, after}, q.Filters...) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = mac.Write(length[:])
		_, _ = mac.Write([]byte(part))
	}
	return mac.Sum(nil)[:pageSealBytes]
}

// Token returns the page token that goes on after an item.
func (q PageQuery) Token(a storage.Applied, after string) string {
	token := append([]byte{pageTokenVersion}, q.seal(a, after)...)
	return base64.RawURLEncoding.EncodeToString(append(token, after...))
}

// After returns the item after which a page begins; empty for the first page.
func (q PageQuery) After(a storage.Applied, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	data, err := DecodeToken(token)
	if err != nil || len(data) < 1+pageSealBytes || data[0] != pageTokenVersion {
		return "", PageTokenInvalid()
	}
	after := string(data[1+pageSealBytes:])
	if !hmac.Equal(data[1:1+pageSealBytes], q.seal(a, after)) {
		return "", PageTokenInvalid()
	}
	return after, nil
}

// DecodeToken reads the text of a token. Each token has one text only: the decoder would pass over line ends.
func DecodeToken(text string) ([]byte, error) {
	if at := strings.IndexAny(text, "\r\n"); at >= 0 {
		return nil, base64.CorruptInputError(at)
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}

// PageTokenInvalid returns the error for a token that is none of this listing.
func PageTokenInvalid() error {
	return reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_PAGE_TOKEN_INVALID, "page_token",
		"is not a token of this listing; start again without it")
}
