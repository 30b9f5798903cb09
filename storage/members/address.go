package members

import (
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/rule"
)

// CheckAddress refuses what others cannot connect to. It is part of apply, so it depends on nothing but the bytes. The error
// does not repeat the address.
func CheckAddress(address string) error {
	malformed := rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_MEMBER_ADDRESS_MALFORMED, memberAddressBytesMax)
	if len(address) > memberAddressBytesMax {
		return malformed
	}
	for i := range len(address) {
		if address[i] <= ' ' || address[i] > '~' {
			return malformed
		}
	}
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 || !isHost(address[:colon]) || !isPort(address[colon+1:]) {
		return malformed
	}
	return nil
}

// isHost reports whether a name or an address of a host can stand before a port: IPv6 stands in brackets.
func isHost(host string) bool {
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, bracketed = strings.CutSuffix(inner, "]")
		return bracketed && inner != "" && !strings.ContainsAny(inner, "[]")
	}
	return host != "" && !strings.ContainsAny(host, ":[]")
}

// isPort reports whether a text is a number between 1 and 65535.
func isPort(port string) bool {
	n := 0
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' || i > 4 {
			return false
		}
		n = 10*n + int(port[i]-'0')
	}
	return n > 0 && n < 1<<16
}

// CheckJoiner refuses a description with which no member can join. Its addresses are those that it advertises; only the one
// for other members is required.
func CheckJoiner(m *storev1.Member) error {
	if err := checkMember(m); err != nil {
		return err
	}
	if m.GetIncarnation() == 0 {
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_MEMBER_WITHOUT_INCARNATION)
	}
	if err := CheckAddress(m.GetPeerAddress()); err != nil {
		return err
	}
	for _, address := range []string{m.GetClientAddress(), m.GetHttpAddress()} {
		if address == "" {
			continue
		}
		if err := CheckAddress(address); err != nil {
			return err
		}
	}
	return nil
}
