package service

import (
	"encoding/binary"
	"math"
	"testing"
)

// TestObjectPlaceIsReadAsItWasWritten reads places of a page token. Every client can seal a text of its own.
func TestObjectPlaceIsReadAsItWasWritten(t *testing.T) {
	long := func(length uint64) string { return string(binary.AppendUvarint([]byte("h"), length)) }
	for name, tc := range map[string]struct {
		text string
		want objectPlace
		ok   bool
	}{
		"a hold":                          {objectPlace{key: "k", owner: "o"}.text(), objectPlace{key: "k", owner: "o"}, true},
		"a place of nobody in particular": {objectPlace{waits: true, key: "k"}.text(), objectPlace{waits: true, key: "k"}, true},
		"nothing":                         {},
		"a kind alone":                    {text: "h"},
		"an unknown kind":                 {text: "x\x01k"},
		"a length that does not end":      {text: "h\xff"},
		"a length that overflows":         {text: "h\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		"a key that is shorter":           {text: "h\x02k"},
		"a length beyond int":             {text: long(math.MaxInt64 + 1)},
		"the longest length":              {text: long(math.MaxUint64)},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := parseObjectPlace(tc.text)
			if got != tc.want || ok != tc.ok {
				t.Errorf("got %v, %v, want %v, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
}
