package rig

import (
	"net"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNoTwoListenersGetTheSamePort(t *testing.T) {
	c := &Cluster{t: t, host: loopbackNet(), ports: map[int]bool{}}
	host := "127.0.0.1"
	if c.host != "" {
		host = c.host + ".1"
	}
	seen := map[string]bool{}
	for range 1000 {
		address := c.free(t.Context(), host)
		if seen[address] {
			t.Fatalf("%s was given twice", address)
		}
		seen[address] = true
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if port, err := strconv.Atoi(text); err != nil || port < portMin || port > portMax {
			t.Fatalf("port %s, want one from %d to %d", text, portMin, portMax)
		}
	}
}
