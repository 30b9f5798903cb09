package port_test

import (
	"errors"
	"net"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/tenure-io/tenure/internal/port"
)

// listen listens for a moment, and returns where.
func listen(t *testing.T, address string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // Only the address matters.
	return l.Addr().String()
}

// connect connects for a moment, and returns from where.
func connect(t *testing.T, address string) string {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // Only the address matters.
	return c.LocalAddr().String()
}

func TestAKeptAddressIsListenedOnAgainAndAgain(t *testing.T) {
	kept, err := port.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := listen(t, kept.Address()); got != kept.Address() {
			t.Errorf("listened on %s, want %s", got, kept.Address())
		}
		if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", kept.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens, and who connects is told %v", err)
		}
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
}

func TestAKeptAddressIsGivenToNobody(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel keeps no port here")
	}
	const many = 200
	var addresses []string
	for range many {
		kept, err := port.Keep(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer kept.Close() //nolint:errcheck // It is thrown away.
		addresses = append(addresses, kept.Address())
	}
	slices.Sort(addresses)
	if n := len(slices.Compact(slices.Clone(addresses))); n != many {
		t.Errorf("%d addresses were kept %d times", n, many)
	}
	server, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() //nolint:errcheck // It is thrown away.
	for range 5 * many {
		if got := listen(t, "127.0.0.1:0"); slices.Contains(addresses, got) {
			t.Fatalf("%s was given to who listens", got)
		}
		if got := connect(t, server.Addr().String()); slices.Contains(addresses, got) {
			t.Fatalf("%s was given to who connects", got)
		}
	}
}
