package identity

import (
	"strings"
	"testing"
)

// A text is the same as itself, and as no other: not with one bit changed anywhere, nor with a byte more or less.
func TestSame(t *testing.T) {
	for length := range 40 {
		text := strings.Repeat("x", length)
		if !same(text, strings.Clone(text)) {
			t.Errorf("%d bytes differ from themselves", length)
		}
		if same(text, text+"x") || same(text+"x", text) {
			t.Errorf("%d bytes are the same as %d", length, length+1)
		}
		for at := range length {
			for bit := range 8 {
				other := []byte(text)
				other[at] ^= 1 << bit
				if same(text, string(other)) || same(string(other), text) {
					t.Errorf("%d bytes are the same with bit %d of byte %d changed", length, bit, at)
				}
			}
		}
	}
}

func BenchmarkSame(b *testing.B) {
	text := "Bearer " + strings.Repeat("x", 56)
	other := strings.Clone(text)
	for b.Loop() {
		if !same(text, other) {
			b.Fatal("they differ")
		}
	}
}
