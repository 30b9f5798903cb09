package layout

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
)

// FuzzKeys checks that rows hold what was put in, sort as keys do, and that ranges have what they should.
func FuzzKeys(f *testing.F) {
	f.Add("a", "a\x00", uint64(0), uint64(0), uint64(1), uint64(2), []byte{RowHold, 0, 'a', 0, 1})
	f.Add("a\x00\xff", "a\x00\x01", uint64(1), uint64(256), uint64(1), uint64(1), []byte{RowObject})
	f.Add("", "\xff\xff", uint64(1<<63), uint64(0), uint64(0), uint64(1<<63), []byte{RowKey, 9})
	f.Fuzz(func(t *testing.T, a, b string, namespaceA, namespaceB, i, j uint64, raw []byte) {
		x, y := Name{NS: namespaceA, Key: a}, Name{NS: namespaceB, Key: b}
		checkRoundTrip(t, x, b, i)
		checkOrder(t, x, y, i, j)
		checkRanges(t, a, b, raw)
		// Whatever the disk returns, nothing panics.
		_, _ = CutNameRow(raw)
		_, _, _ = CutNumberedRow(raw)
		_, _ = CutObjectRow(raw)
		_, _ = CutSessionRow(raw)
		_, _, _ = CutTombstoneRow(raw)
		_, _, _ = CutHistoryRow(raw)
	})
}

// checkRoundTrip reads rows back.
func checkRoundTrip(t *testing.T, n Name, owner string, number uint64) {
	t.Helper()
	id := SessionID{0: 1, 15: 0xff}
	if got, ok := CutNameRow(NameRow(RowKey, n)); !ok || got != n {
		t.Errorf("key row of %v: got %v", n, got)
	}
	if got, gotNumber, ok := CutNumberedRow(NumberedRow(RowHold, n, number)); !ok || got != n || gotNumber != number {
		t.Errorf("row %d of %v: got %v, %d", number, n, got, gotNumber)
	}
	for _, kind := range []byte{ObjectHold, ObjectPlace} {
		if got, ok := CutObjectRow(OwnerRow(id, kind, n, owner)); !ok || got != (Object{Kind: kind, Name: n, Owner: owner}) {
			t.Errorf("object of %v and %q: got %v", n, owner, got)
		}
	}
	if got, ok := CutObjectRow(EphemeralRow(id, n)); !ok || got != (Object{Kind: ObjectEphemeral, Name: n}) {
		t.Errorf("ephemeral row of %v: got %v", n, got)
	}
	if gotID, epoch, ok := CutTombstoneRow(TombstoneRow(7, id, number)); !ok || gotID != id || epoch != number {
		t.Errorf("tombstone of %s in epoch %d: got %s, %d", id, number, gotID, epoch)
	}
	if revision, index, ok := CutHistoryRow(HistoryRow(number, 9)); !ok || revision != number || index != 9 {
		t.Errorf("event 9 of %d: got %d of %d", number, index, revision)
	}
}

// checkOrder compares rows and what they are of.
func checkOrder(t *testing.T, x, y Name, i, j uint64) {
	t.Helper()
	want := cmp.Or(cmp.Compare(x.NS, y.NS), strings.Compare(x.Key, y.Key))
	if got := bytes.Compare(NameRow(RowKey, x), NameRow(RowKey, y)); got != want {
		t.Errorf("key rows of %v and %v: got order %d, want %d", x, y, got, want)
	}
	if got := bytes.HasPrefix(NumberedRow(RowHold, x, i), NameRows(RowHold, y)); got != (x == y) {
		t.Errorf("row of %v begins as those of %v: got %v", x, y, got)
	}
	want = cmp.Or(want, cmp.Compare(i, j))
	if got := bytes.Compare(NumberedRow(RowHold, x, i), NumberedRow(RowHold, y, j)); got != want {
		t.Errorf("rows of %v %d and %v %d: got order %d, want %d", x, i, y, j, got, want)
	}
}

// checkRanges compares ranges of rows with what they are meant to select.
func checkRanges(t *testing.T, a, b string, raw []byte) {
	t.Helper()
	within := func(row, from, to []byte) bool {
		return bytes.Compare(row, from) >= 0 && (to == nil || bytes.Compare(row, to) < 0)
	}
	prefix := []byte(b)
	if got, want := within(raw, prefix, RowsEnd(prefix)), bytes.HasPrefix(raw, prefix); got != want {
		t.Errorf("%q within the rows with %q: got %v, want %v", raw, prefix, got, want)
	}
	// A page of keys that begin with each beginning of b, behind any key.
	after := string(raw)
	for end := range len(b) + 1 {
		from, to := PageRows(RowKey, b[:end], after)
		for _, key := range []string{a, b, b + a, after, after + "\x00"} {
			want := strings.HasPrefix(key, b[:end]) && (after == "" || key > after)
			if got := within(NameRow(RowKey, Name{Key: key}), from, to); got != want {
				t.Errorf("%q on the page of %q after %q: got %v, want %v", key, b[:end], after, got, want)
			}
		}
		if far := NameRow(RowKey, Name{NS: 1, Key: b}); within(far, from, to) {
			t.Errorf("%x of another namespace is on the page of %q", far, b[:end])
		}
	}
}
