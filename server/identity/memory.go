package identity

import (
	"crypto/subtle"
	"crypto/x509"
	"sync/atomic"
)

// Memory is what a connection has of the credential that came on it last: most connections bring the same one with every call, and it is
// read once. It has room for one; the zero value has none. Any goroutine may call any method.
type Memory struct{ last atomic.Pointer[remembered] }

// remembered is a token, and who has it.
type remembered struct {
	value  string
	caller Caller
}

// Of is the function Of, for a call on this connection. It compares in constant time: a proxy may bring several callers on one connection.
func (m *Memory) Of(authorization []string, certificate *x509.Certificate, by CertificateIdentity) Caller {
	if len(authorization) != 1 {
		return Of(authorization, certificate, by)
	}
	value := authorization[0]
	if last := m.last.Load(); last != nil && subtle.ConstantTimeCompare([]byte(last.value), []byte(value)) == 1 {
		return last.caller
	}
	caller := Of(authorization, certificate, by)
	if caller.Kind == Token || caller.Kind == JWT {
		m.last.Store(&remembered{value: value, caller: caller})
	}
	return caller
}
