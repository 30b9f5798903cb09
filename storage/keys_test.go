package storage

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRowsNeverChange holds the encoding of every row. A change of it needs a new disk format: old disks must be read.
func TestRowsNeverChange(t *testing.T) {
	id := SessionID{0: 0xaa, 15: 0xbb}
	const idHex = "aa0000000000000000000000000000bb"
	n := name{key: "a\x00b"}
	far := name{ns: 0x1234, key: "k"}
	rows := map[string]struct {
		got  []byte
		want string
	}{
		"applied record":                {[]byte{rowApplied}, "61"},
		"number of objects":             {sessionRow(rowObjects, id), "63" + idHex},
		"delayed hold":                  {numberedRow(rowDelay, n, 7), "64" + "00" + "6100ff620001" + "0000000000000007"},
		"ended session":                 {numberRow(rowEnded, 258), "65" + "0000000000000102"},
		"freeze":                        {[]byte{rowFreeze}, "66"},
		"lock left ungranted":           {nameRow(rowUngranted, n), "67" + "00" + "610062"},
		"key left to be moved":          {nameRow(rowUnmoved, n), "58" + "00" + "610062"},
		"hold":                          {numberedRow(rowHold, n, 7), "68" + "00" + "6100ff620001" + "0000000000000007"},
		"key":                           {nameRow(rowKey, n), "6b" + "00" + "610062"},
		"key of another namespace":      {nameRow(rowKey, far), "6b" + "021234" + "6b"},
		"lock head":                     {nameRow(rowLock, n), "6c" + "00" + "610062"},
		"limits":                        {[]byte{rowLimits}, "6d"},
		"member":                        {numberRow(rowMember, 1), "6e" + "0000000000000001"},
		"ephemeral key of a session":    {ephemeralRow(id, n), "6f" + idHex + "65" + "00" + "610062"},
		"hold of a session":             {ownerRow(id, objectHold, n, "o"), "6f" + idHex + "68" + "00" + "6100ff620001" + "6f"},
		"place of a session":            {ownerRow(id, objectPlace, n, ""), "6f" + idHex + "70" + "00" + "6100ff620001"},
		"place":                         {numberedRow(rowPlace, n, 7), "71" + "00" + "6100ff620001" + "0000000000000007"},
		"remembered request":            {requestRow(id, 1, 2), "72" + idHex + "0000000000000001" + "0000000000000002"},
		"session":                       {sessionRow(rowSession, id), "73" + idHex},
		"window of an ended session":    {tombstoneRow(5, id, 1), "74" + "0000000000000005" + idHex + "0000000000000001"},
		"event":                         {historyRow(258, 3), "76" + "0000000000000102" + "00000003"},
		"wait with time-out":            {numberedRow(rowWait, n, 7), "77" + "00" + "6100ff620001" + "0000000000000007"},
		"number of an ended session":    {sessionRow(rowEndedIndex, id), "78" + idHex},
		"head of a request window":      {windowRow(id, 1), "7a" + idHex + "0000000000000001"},
		"numbered idempotency key":      {numberRow(rowKeyed, 1), "6a" + "0000000000000001"},
		"first byte of idempotency key": {[]byte{rowIdempotency}, "69"},
	}
	for what, row := range rows {
		if got := hex.EncodeToString(row.got); got != row.want {
			t.Errorf("%s: got %s, want %s", what, got, row.want)
		}
	}
}

// randomKeys are keys with many zeros, high bytes and common beginnings.
func randomKeys(rng *rand.Rand, n int) []string {
	alphabet := []string{"\x00", "\x01", "a", "\u00ff", "\U0010ffff", "\x7f"}
	keys := make([]string, n)
	for i := range keys {
		var b strings.Builder
		for range rng.IntN(5) {
			b.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
		keys[i] = b.String()
	}
	return keys
}

func TestRowsSortAsKeysDo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	keys := randomKeys(rng, 300)
	for _, a := range keys {
		for _, b := range keys {
			x, y := name{ns: rng.Uint64() >> rng.IntN(64), key: a}, name{ns: rng.Uint64() >> rng.IntN(64), key: b}
			if rng.IntN(2) == 0 {
				y.ns = x.ns
			}
			i, j := rng.Uint64N(3), rng.Uint64N(3)
			want := slices.Compare([]uint64{x.ns}, []uint64{y.ns})
			if want == 0 {
				want = strings.Compare(a, b)
			}
			if got := bytes.Compare(nameRow(rowKey, x), nameRow(rowKey, y)); got != want {
				t.Fatalf("key rows of %v and %v: got order %d, want %d", x, y, got, want)
			}
			if want == 0 {
				want = slices.Compare([]uint64{i}, []uint64{j})
			}
			if got := bytes.Compare(numberedRow(rowHold, x, i), numberedRow(rowHold, y, j)); got != want {
				t.Fatalf("hold rows of %v %d and %v %d: got order %d, want %d", x, i, y, j, got, want)
			}
			inside := bytes.HasPrefix(numberedRow(rowHold, x, i), nameRows(rowHold, y))
			if inside != (x == y) {
				t.Fatalf("hold row of %v begins as those of %v: got %v", x, y, inside)
			}
		}
	}
}

func TestRowsRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	id := SessionID{1, 2, 3}
	for _, key := range randomKeys(rng, 500) {
		n := name{ns: rng.Uint64() >> rng.IntN(64), key: key}
		if got, ok := cutNameRow(nameRow(rowKey, n)); !ok || got != n {
			t.Errorf("key row of %v: got %v", n, got)
		}
		if got, number, ok := cutNumberedRow(numberedRow(rowHold, n, 9)); !ok || got != n || number != 9 {
			t.Errorf("hold row of %v: got %v %d", n, got, number)
		}
		if got, ok := cutObjectRow(ephemeralRow(id, n)); !ok || got != (object{kind: objectEphemeral, name: n}) {
			t.Errorf("ephemeral row of %v: got %v", n, got)
		}
		owner := randomKeys(rng, 1)[0]
		if got, ok := cutObjectRow(ownerRow(id, objectHold, n, owner)); !ok || got != (object{objectHold, n, owner}) {
			t.Errorf("hold row of %v and %q: got %v", n, owner, got)
		}
	}
}

func TestRowsEnd(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\x00": "a\x01"} {
		if got := string(rowsEnd([]byte(in))); got != want {
			t.Errorf("end of rows with %q: got %q, want %q", in, got, want)
		}
	}
	if got := rowsEnd([]byte{0xff, 0xff}); got != nil {
		t.Errorf("end of the last rows: got %q, want none", got)
	}
}

func TestParseSessionID(t *testing.T) {
	const text = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	id, err := ParseSessionID(text)
	if err != nil || id.String() != text {
		t.Fatalf("got %v, %v, want %s", id, err, text)
	}
	if upper, err := ParseSessionID(strings.ToUpper(text)); err != nil || upper != id {
		t.Errorf("upper case: got %v, %v", upper, err)
	}
	for _, bad := range []string{"", text[1:], text + "0", strings.ReplaceAll(text, "-", ""), "{" + text[1:35] + "}", text[:35] + "g", strings.Replace(text, "-", "0", 1)} {
		if got, err := ParseSessionID(bad); !errors.Is(err, ErrSessionID) {
			t.Errorf("%q: got %v, %v, want ErrSessionID", bad, got, err)
		}
	}
}
