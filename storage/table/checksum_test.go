package table

import (
	"testing"

	"github.com/tenure-io/tenure/storage/layout"
)

// TestChecksumsTellWhatDiffers adds rows and entries that differ in one thing each, under every version.
func TestChecksumsTellWhatDiffers(t *testing.T) {
	rows := map[string]*Pending{
		"a row":                            {Row: []byte("ab"), Value: []byte("cd")},
		"its row and value cut elsewhere":  {Row: []byte("abc"), Value: []byte("d")},
		"another value":                    {Row: []byte("ab"), Value: []byte("ce")},
		"no value":                         {Row: []byte("ab"), Value: []byte{}},
		"deleted":                          {Row: []byte("ab")},
		"a value of more than thirty-two":  {Row: []byte("ab"), Value: []byte("0123456789012345678901234567890123456789")},
		"and one in whose middle one bit ": {Row: []byte("ab"), Value: []byte("0123456789012345678101234567890123456789")},
	}
	entries := map[string]layout.Entry{
		"an entry":         {Index: 1, Term: 1, Data: []byte("ab"), ConfState: []byte("c")},
		"cut elsewhere":    {Index: 1, Term: 1, Data: []byte("a"), ConfState: []byte("bc")},
		"of another term":  {Index: 1, Term: 2, Data: []byte("ab"), ConfState: []byte("c")},
		"of another index": {Index: 2, Term: 1, Data: []byte("ab"), ConfState: []byte("c")},
	}
	for version := uint32(layout.VersionMin); version <= layout.VersionMax; version++ {
		seen := make(map[uint64]string)
		note := func(name string, c *Checksum) {
			t.Helper()
			if other, ok := seen[c.Sum]; ok {
				t.Errorf("version %d: %q and %q have the same sum", version, name, other)
			}
			seen[c.Sum] = name
		}
		for name, p := range rows {
			for _, before := range []uint64{0, 1} {
				c := NewChecksum(before, version)
				c.addRow(p)
				note(name, c)
				c.addRow(p)
				note(name+", twice", c)
			}
		}
		for name, e := range entries {
			c := NewChecksum(0, version)
			c.AddEntry(e)
			note(name, c)
		}
	}
}

// TestSumsGoOnAfterARaise sums up in one go, and in two with the account of the state between them.
func TestSumsGoOnAfterARaise(t *testing.T) {
	p := &Pending{Row: []byte("ab"), Value: []byte("cd")}
	one := NewChecksum(7, layout.Version2)
	one.addRow(p)
	middle := one.Sum
	one.Follow(layout.Version3)
	one.addRow(p)
	two := NewChecksum(middle, layout.Version3)
	two.addRow(p)
	if one.Sum != two.Sum {
		t.Errorf("got %x in one go and %x in two", one.Sum, two.Sum)
	}
	if slow := NewChecksum(middle, layout.Version2); func() bool { slow.addRow(p); return slow.Sum == two.Sum }() {
		t.Error("the versions 2 and 3 sum up alike")
	}
}
