package share

import (
	"fmt"
	"net"
	"net/netip"
)

// networkBits is how much of an IPv6 address names a caller: a host commonly has all addresses of such a network.
const networkBits = 64

// Caller is somebody who gets a share. The zero Caller stands for all whose address is not known.
type Caller struct {
	address netip.Addr
	exempt  bool
}

// String returns the caller's address.
func (c Caller) String() string {
	if !c.address.IsValid() {
		return "unknown"
	}
	return c.address.String()
}

// Callers tells callers apart.
type Callers struct{ exempt []netip.Prefix }

// ParseExempt reads the prefixes of callers that are exempt, such as 10.1.0.0/16, or single addresses.
func ParseExempt(texts []string) (Callers, error) {
	var c Callers
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, addressErr := netip.ParseAddr(text); addressErr == nil {
			prefix, err = address.Prefix(address.BitLen())
		}
		if err != nil {
			return Callers{}, fmt.Errorf("%q must be an address or a prefix, such as 10.1.0.0/16", text)
		}
		c.exempt = append(c.exempt, prefix.Masked())
	}
	return c, nil
}

// Of returns who calls from a network address.
func (c Callers) Of(from net.Addr) Caller {
	switch from := from.(type) {
	case nil:
		return Caller{}
	case *net.TCPAddr:
		return c.of(from.AddrPort().Addr())
	default:
		return c.OfText(from.String())
	}
}

// OfText returns who calls from an address with a port.
func (c Callers) OfText(text string) Caller {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		return Caller{}
	}
	return c.of(at.Addr())
}

func (c Callers) of(address netip.Addr) Caller {
	address = address.Unmap().WithZone("")
	if !address.IsValid() {
		return Caller{}
	}
	for _, prefix := range c.exempt {
		if prefix.Contains(address) {
			return Caller{address: address, exempt: true}
		}
	}
	if address.Is6() {
		network, err := address.Prefix(networkBits)
		if err != nil {
			return Caller{}
		}
		address = network.Addr()
	}
	return Caller{address: address}
}
