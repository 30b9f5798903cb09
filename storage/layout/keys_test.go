package layout

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
	n := Name{Key: "a\x00b"}
	far := Name{NS: 0x1234, Key: "k"}
	rows := map[string]struct {
		got  []byte
		want string
	}{
		"applied record":                {[]byte{RowApplied}, "61"},
		"number of objects":             {SessionRow(RowObjects, id), "63" + idHex},
		"delayed hold":                  {NumberedRow(RowDelay, n, 7), "64" + "00" + "6100ff620001" + "0000000000000007"},
		"ended session":                 {NumberRow(RowEnded, 258), "65" + "0000000000000102"},
		"freeze":                        {[]byte{RowFreeze}, "66"},
		"lock left ungranted":           {NameRow(RowUngranted, n), "67" + "00" + "610062"},
		"key left to be moved":          {NameRow(RowUnmoved, n), "58" + "00" + "610062"},
		"brief of a key":                {NameRow(RowKeyBrief, n), "59" + "00" + "610062"},
		"brief of a place":              {NumberedRow(RowPlaceBrief, n, 7), "5a" + "00" + "6100ff620001" + "0000000000000007"},
		"hold":                          {NumberedRow(RowHold, n, 7), "68" + "00" + "6100ff620001" + "0000000000000007"},
		"key":                           {NameRow(RowKey, n), "6b" + "00" + "610062"},
		"key of another namespace":      {NameRow(RowKey, far), "6b" + "021234" + "6b"},
		"lock head":                     {NameRow(RowLock, n), "6c" + "00" + "610062"},
		"limits":                        {[]byte{RowLimits}, "6d"},
		"member":                        {NumberRow(RowMember, 1), "6e" + "0000000000000001"},
		"ephemeral key of a session":    {EphemeralRow(id, n), "6f" + idHex + "65" + "00" + "610062"},
		"hold of a session":             {OwnerRow(id, ObjectHold, n, "o"), "6f" + idHex + "68" + "00" + "6100ff620001" + "6f"},
		"place of a session":            {OwnerRow(id, ObjectPlace, n, ""), "6f" + idHex + "70" + "00" + "6100ff620001"},
		"place":                         {NumberedRow(RowPlace, n, 7), "71" + "00" + "6100ff620001" + "0000000000000007"},
		"remembered request":            {RequestRow(id, 1, 2), "72" + idHex + "0000000000000001" + "0000000000000002"},
		"session":                       {SessionRow(RowSession, id), "73" + idHex},
		"window of an ended session":    {TombstoneRow(5, id, 1), "74" + "0000000000000005" + idHex + "0000000000000001"},
		"event":                         {HistoryRow(258, 3), "76" + "0000000000000102" + "00000003"},
		"wait with time-out":            {NumberedRow(RowWait, n, 7), "77" + "00" + "6100ff620001" + "0000000000000007"},
		"number of an ended session":    {SessionRow(RowEndedIndex, id), "78" + idHex},
		"head of a request window":      {WindowRow(id, 1), "7a" + idHex + "0000000000000001"},
		"numbered idempotency key":      {NumberRow(RowKeyed, 1), "6a" + "0000000000000001"},
		"first byte of idempotency key": {[]byte{RowIdempotency}, "69"},
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
			x, y := Name{NS: rng.Uint64() >> rng.IntN(64), Key: a}, Name{NS: rng.Uint64() >> rng.IntN(64), Key: b}
			if rng.IntN(2) == 0 {
				y.NS = x.NS
			}
			i, j := rng.Uint64N(3), rng.Uint64N(3)
			want := slices.Compare([]uint64{x.NS}, []uint64{y.NS})
			if want == 0 {
				want = strings.Compare(a, b)
			}
			if got := bytes.Compare(NameRow(RowKey, x), NameRow(RowKey, y)); got != want {
				t.Fatalf("key rows of %v and %v: got order %d, want %d", x, y, got, want)
			}
			if want == 0 {
				want = slices.Compare([]uint64{i}, []uint64{j})
			}
			if got := bytes.Compare(NumberedRow(RowHold, x, i), NumberedRow(RowHold, y, j)); got != want {
				t.Fatalf("hold rows of %v %d and %v %d: got order %d, want %d", x, i, y, j, got, want)
			}
			inside := bytes.HasPrefix(NumberedRow(RowHold, x, i), NameRows(RowHold, y))
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
		n := Name{NS: rng.Uint64() >> rng.IntN(64), Key: key}
		if got, ok := CutNameRow(NameRow(RowKey, n)); !ok || got != n {
			t.Errorf("key row of %v: got %v", n, got)
		}
		if got, number, ok := CutNumberedRow(NumberedRow(RowHold, n, 9)); !ok || got != n || number != 9 {
			t.Errorf("hold row of %v: got %v %d", n, got, number)
		}
		if got, ok := CutObjectRow(EphemeralRow(id, n)); !ok || got != (Object{Kind: ObjectEphemeral, Name: n}) {
			t.Errorf("ephemeral row of %v: got %v", n, got)
		}
		owner := randomKeys(rng, 1)[0]
		if got, ok := CutObjectRow(OwnerRow(id, ObjectHold, n, owner)); !ok || got != (Object{Kind: ObjectHold, Name: n, Owner: owner}) {
			t.Errorf("hold row of %v and %q: got %v", n, owner, got)
		}
	}
}

func TestQueryRowsRoundTrip(t *testing.T) {
	session, query := SessionID{1, 2}, QueryID{3, 0, 0xff}
	if got, ok := CutObjectRow(QueryObjectRow(session, query)); !ok || got != (Object{Kind: ObjectQuery, Query: query}) {
		t.Errorf("query of a session: got %v", got)
	}
	if _, ok := CutObjectRow(append(QueryObjectRow(session, query), 0)); ok {
		t.Error("the row of a query goes on behind its id")
	}
	for _, prefix := range []bool{false, true} {
		value := QueryNameValue(query, prefix)
		if id, by, ok := CutQueryNameValue(value); !ok || id != query || by != prefix {
			t.Errorf("name of a query: got %s, %t", id, by)
		}
		value[len(value)-1]++
		if _, _, ok := CutQueryNameValue(value); ok {
			t.Errorf("%x is taken for the value of a name", value)
		}
	}
}

func TestRowsEnd(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\x00": "a\x01"} {
		if got := string(RowsEnd([]byte(in))); got != want {
			t.Errorf("end of rows with %q: got %q, want %q", in, got, want)
		}
	}
	if got := RowsEnd([]byte{0xff, 0xff}); got != nil {
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
