package certs_test

import (
	"crypto/x509"
	"errors"
	"testing"

	"github.com/tenure-io/tenure/server/certs"
)

func TestWhoseCertificateItIs(t *testing.T) {
	const members = "member.tenure.internal"
	tests := map[string]struct {
		names []string
		name  string
		want  error
	}{
		"its own":                                  {[]string{members, "a." + members}, "a", nil},
		"a member's, whoever it is":                {[]string{members, "a." + members}, "", nil},
		"in other letters":                         {[]string{members, "A." + members}, "a", nil},
		"another member's":                         {[]string{members, "a." + members}, "b", certs.ErrOtherMember},
		"a client's":                               {nil, "a", certs.ErrNotMember},
		"a client's that has the name":             {[]string{"a." + members}, "a", certs.ErrNotMember},
		"that of another cluster":                  {[]string{"member.other.internal", "a.member.other.internal"}, "a", certs.ErrNotMember},
		"one that stands for all names of the CA":  {[]string{"*.tenure.internal"}, "", certs.ErrNotMember},
		"one for all members":                      {[]string{members, "*." + members}, "a", nil},
		"one for all members, and an older name":   {[]string{members, "*." + members}, "A_1.x", nil},
		"an older name is in no other certificate": {[]string{members, "a_1." + members}, "a_1", certs.ErrOtherMember},
		"a name that is made of others":            {[]string{members, "a.b." + members}, "a.b", certs.ErrOtherMember},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := certs.CheckMember(&x509.Certificate{DNSNames: tc.names}, certs.TrustDomainDefault, tc.name); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
