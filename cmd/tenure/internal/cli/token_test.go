package cli

import "testing"

// TestATokenIsSentInClearToThisMachineAlone names members in all the ways that mean this machine, and others.
func TestATokenIsSentInClearToThisMachineAlone(t *testing.T) {
	for endpoint, here := range map[string]bool{
		"127.0.0.1:7400": true, "[::1]:7400": true, "localhost:7400": true, "LocalHost:7400": true,
		"10.0.0.5:7400": false, "localhost.example.net:7400": false, "localhost": false,
	} {
		e := &Environment{Endpoints: []string{"127.0.0.1:1", endpoint}}
		if got := e.InClear() == ""; got != here {
			t.Errorf("%s is this machine: got %v, want %v", endpoint, got, here)
		}
		if got := e.OnlyHere(); got != here {
			t.Errorf("a token is sent only to this machine with %s: got %v, want %v", endpoint, got, here)
		}
	}
}
