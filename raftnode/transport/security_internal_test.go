package transport

import (
	"errors"
	"testing"
)

// A certificate may stand for every member; a connection does not.
func TestAConnectionIsThatOfOneMember(t *testing.T) {
	var p pin
	for _, call := range []struct {
		member  uint64
		name    string
		refused bool
	}{
		{1, "a", false}, {1, "a", false}, {2, "a", true}, {1, "b", true}, {2, "b", true}, {1, "a", false},
	} {
		if err := p.take(call.member, call.name); errors.Is(err, ErrNotProven) != call.refused {
			t.Errorf("member %d (%q): got %v, want refused %t", call.member, call.name, err, call.refused)
		}
	}
}
