package consulhttp

import (
	"net/netip"
	"sync"
)

// networkBits is how much of an IPv6 address names a client: a machine commonly has all addresses of such a network.
const networkBits = 64

// client is where requests come from. The zero client stands for all whose address is not known.
type client struct{ address netip.Addr }

// clientOf returns the client of an address with a port.
func clientOf(remote string) client {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return client{}
	}
	address := at.Addr().Unmap().WithZone("")
	if !address.Is6() {
		return client{address}
	}
	network, err := address.Prefix(networkBits)
	if err != nil {
		return client{}
	}
	return client{network.Addr()}
}

// shares divide places between clients: one may take as many as it leaves free, so that there is always one left for another.
type shares struct {
	total int

	mu   sync.Mutex // guards what follows
	used int
	of   map[client]int
}

func newShares(total int) *shares { return &shares{total: total, of: map[client]int{}} }

// take takes a place for a client, and reports whether it has a share in one.
func (s *shares) take(c client) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[c] >= s.total-s.used {
		return false
	}
	s.of[c]++
	s.used++
	return true
}

// give gives a place of a client back.
func (s *shares) give(c client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	if s.of[c]--; s.of[c] == 0 {
		delete(s.of, c)
	}
}

// taken returns how many places are taken.
func (s *shares) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
