package selection

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/watch"
)

// A resume token is a sealed position: version, history, revision, index, seal. The seal binds it to the selectors, so a
// token is good only for a watch of the same things. It tells accident and mix-up from a token; it hides nothing and
// guards nothing, for a position is no privilege. Any member takes any other's tokens.
const (
	resumeTokenVersion = 1
	resumeSealBytes    = 16
	resumePlainBytes   = 1 + 16 + 8 + 4
)

// Resumer makes and reads the resume tokens of one selection.
type Resumer struct {
	History   [16]byte
	selection [32]byte
}

// NewResumer returns the resumer for watches of normal selectors in a history.
func NewResumer(history [16]byte, s watch.Selectors) Resumer {
	return Resumer{History: history, selection: sha256.Sum256([]byte(s.Key()))}
}

// seal returns what proves that the plain part was made for this selection.
func (t Resumer) seal(plain []byte) []byte {
	key := sha256.Sum256(append([]byte("tenure resume token\x00"), t.selection[:]...))
	mac := hmac.New(sha256.New, key[:])
	_, _ = mac.Write(plain)
	return mac.Sum(nil)[:resumeSealBytes]
}

// Token returns the text for a position.
func (t Resumer) Token(p watch.Position) string {
	data := make([]byte, 0, resumePlainBytes+resumeSealBytes)
	data = append(data, resumeTokenVersion)
	data = append(data, t.History[:]...)
	data = binary.BigEndian.AppendUint64(data, p.Revision)
	data = binary.BigEndian.AppendUint32(data, p.Index)
	return base64.RawURLEncoding.EncodeToString(append(data, t.seal(data)...))
}

// Position reads a token.
func (t Resumer) Position(text string) (watch.Position, error) {
	data, err := call.DecodeToken(text)
	if err != nil || len(data) != resumePlainBytes+resumeSealBytes || data[0] != resumeTokenVersion ||
		!hmac.Equal(data[resumePlainBytes:], t.seal(data[:resumePlainBytes])) {
		return watch.Position{}, reason.InvalidAs(tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID, "resume_token",
			"is damaged, or of a watch with other selectors")
	}
	if [16]byte(data[1:17]) != t.History {
		return watch.Position{}, reason.New(tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED,
			"resume_token is of another history: the cluster was restored, or it is another cluster").
			With("history_id", call.HexID(t.History))
	}
	return watch.Position{
		Revision: binary.BigEndian.Uint64(data[17:25]),
		Index:    binary.BigEndian.Uint32(data[25:29]),
	}, nil
}
