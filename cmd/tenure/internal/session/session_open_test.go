package session

import (
	"strings"
	"testing"
)

func TestClipKeepsCharactersWhole(t *testing.T) {
	long := strings.Repeat("é", 200)
	if got := Clip("x" + long); len(got) != 255 || !strings.HasSuffix(got, "é") {
		t.Errorf("got %d bytes, ending in %q; want 255, ending in é", len(got), got[len(got)-2:])
	}
	if got := Clip("short"); got != "short" {
		t.Errorf("got %q, want it whole", got)
	}
}
