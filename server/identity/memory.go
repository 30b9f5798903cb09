package identity

import (
	"crypto/x509"
	"sync/atomic"
)

// Client is who makes a call, with room for what is known of it. Calls of one connection that bring the same credential share one.
type Client struct {
	Caller

	known atomic.Value
}

// Known returns what was kept last; nil: nothing was.
func (c *Client) Known() any { return c.known.Load() }

// Keep keeps what is known of the client, which is always of one type. Only a connection may keep it longer than the call, so it should be small.
func (c *Client) Keep(known any) { c.known.Store(known) }

// Memory is what a connection has of the credential that came on it last: most connections bring the same one with every call, and it is
// read once. It has room for one; the zero value has none. Any goroutine may call any method.
type Memory struct {
	last atomic.Pointer[remembered] // of a token
	bare atomic.Pointer[remembered] // of calls without one
}

// remembered is a credential, and who has it.
type remembered struct {
	value       string
	certificate *x509.Certificate
	client      Client
}

// Of is the function Of, for a call on this connection, with the same by for all of them. It compares tokens in constant time: a proxy may bring
// several callers on one connection.
func (m *Memory) Of(authorization []string, certificate *x509.Certificate, by CertificateIdentity) *Client {
	if len(authorization) == 0 {
		return m.without(certificate, by)
	}
	value := authorization[0]
	if last := m.last.Load(); len(authorization) == 1 && last != nil && same(last.value, value) {
		return &last.client
	}
	now := &remembered{value: value, client: Client{Caller: Of(authorization, certificate, by)}}
	if kind := now.client.Kind; kind == Token || kind == JWT {
		m.last.Store(now)
	}
	return &now.client
}

// without returns who makes a call without a token.
func (m *Memory) without(certificate *x509.Certificate, by CertificateIdentity) *Client {
	if bare := m.bare.Load(); bare != nil && bare.certificate == certificate {
		return &bare.client
	}
	now := &remembered{certificate: certificate, client: Client{Caller: Of(nil, certificate, by)}}
	m.bare.Store(now)
	return &now.client
}

// same reports whether two texts are the same, in a time that says nothing about where they differ, as subtle.ConstantTimeCompare does, but eight
// bytes at a time: every call that brings a token compares it.
func same(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	var differ uint64
	for len(a) >= 8 && len(b) >= 8 {
		differ |= word(a) ^ word(b)
		a, b = a[8:], b[8:]
	}
	for i := range len(a) {
		differ |= uint64(a[i] ^ b[i])
	}
	return differ == 0
}

// word returns the first eight bytes of a text that has as many.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
