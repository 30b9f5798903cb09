package main

import "testing"

func TestOneLine(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"one error stays as it is":              {"no such key", "no such key"},
		"the same error twice is said once":     {"member: it was removed\nit was removed", "member: it was removed"},
		"errors that differ are both in a line": {"disk is full\nclose: no such file", "disk is full; close: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := oneLine(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
