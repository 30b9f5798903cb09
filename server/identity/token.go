package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A token is the prefix, 32 random bytes, and a checksum of all before it, so that a mistyped one costs no look-up and scanners
// for secrets find it.
const (
	prefix       = "tnr1_"
	secretBytes  = 32
	secretLength = 52
	sumLength    = 7
	// TextLength is how long the text of a token is.
	TextLength = len(prefix) + secretLength + sumLength
)

// Hash is the SHA-256 of the text of a token. Only it is kept.
type Hash [sha256.Size]byte

// ErrToken says that a text is not that of a token. It never repeats the text.
var ErrToken = errors.New("not a token of Tenure, or a mistyped one")

// encoding is base32 in lower case, without padding.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewToken draws a token and returns its text.
func NewToken() string {
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // It never fails; see crypto/rand.
	text := prefix + encoding.EncodeToString(secret[:])
	return text + checksum(text)
}

// checksum returns the CRC-32C of a text, as a token ends with it.
func checksum(text string) string {
	sum := sumOf([]byte(text))
	return string(sum[:])
}

// sumOf is checksum without a text of its own.
func sumOf(text []byte) (symbols [sumLength]byte) {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(text, castagnoli))
	encoding.Encode(symbols[:], sum[:])
	return symbols
}

// castagnoli is the table of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ParseToken returns the hash of a token's text, which must be exactly as NewToken writes it. Every call with a token begins with it.
func ParseToken(text string) (Hash, error) {
	const body = len(prefix) + secretLength
	if len(text) != TextLength || text[:len(prefix)] != prefix {
		return Hash{}, ErrToken
	}
	var whole [TextLength]byte
	copy(whole[:], text)
	if [sumLength]byte(whole[body:]) != sumOf(whole[:body]) || !isSecret([secretLength]byte(whole[len(prefix):body])) {
		return Hash{}, ErrToken
	}
	return sha256.Sum256(whole[:]), nil
}

// isSecret reports whether symbols are those of 32 bytes. There is room for 260 bits in them: the last four are zero.
func isSecret(symbols [secretLength]byte) bool {
	for _, c := range symbols {
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	last := symbols[secretLength-1]
	return last == 'a' || last == 'q'
}
