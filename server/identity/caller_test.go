package identity_test

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/server/identity"
)

func TestATokenIsReadBack(t *testing.T) {
	scanner := regexp.MustCompile(`\btnr1_[a-z2-7]{59}\b`)
	for range 100 {
		text := identity.NewToken()
		hash, err := identity.ParseToken(text)
		if err != nil || hash != identity.Hash(sha256.Sum256([]byte(text))) || !scanner.MatchString("x "+text+",") {
			t.Fatalf("%s: %v", text, err)
		}
		for i := range len(text) {
			for _, c := range []byte{'a', '7', 'A', ' ', 0xff} {
				wrong := []byte(text)
				wrong[i] = c
				if _, err := identity.ParseToken(string(wrong)); (err == nil) != (wrong[i] == text[i]) {
					t.Fatalf("byte %d as %q: %v", i, c, err)
				}
			}
		}
	}
}

// Of the last symbol of the secret one bit counts. A token has one text: with other bits there it is another text, whose checksum may be right.
func TestATokenHasOneText(t *testing.T) {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	lower := base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)
	whole := identity.NewToken()
	taken := ""
	for _, last := range alphabet {
		text := whole[:56] + string(last)
		sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
		text += lower.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
		if _, err := identity.ParseToken(text); err == nil {
			taken += string(last)
		}
	}
	if taken != "aq" {
		t.Errorf("last symbols %q are taken, want those of a bit and four zeros", taken)
	}
}

// Every call with a token reads one. Package crc32 keeps no slice on the stack.
func TestReadingATokenAllocatesOnce(t *testing.T) {
	values := []string{"Bearer " + identity.NewToken()}
	if n := testing.AllocsPerRun(100, func() { identity.Of(values, nil, identity.ByURI) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhoCalls(t *testing.T) {
	text := identity.NewToken()
	hash, err := identity.ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	certificate := func(name string, uris ...string) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		for _, u := range uris {
			parsed, err := url.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			c.URIs = append(c.URIs, parsed)
		}
		return c
	}
	web := certificate("web", "spiffe://tenure.internal/web")
	bad := func(cause string) identity.Caller { return identity.Caller{Kind: identity.Bad, Cause: cause} }
	proved := func(p string) identity.Caller { return identity.Caller{Kind: identity.Certificate, Principal: p} }
	const form = "authorization must be of the form: Bearer TOKEN"
	tests := map[string]struct {
		values      []string
		certificate *x509.Certificate
		by          identity.CertificateIdentity
		want        identity.Caller
	}{
		"nothing is anonymous":                 {nil, nil, 0, identity.Caller{}},
		"a token":                              {[]string{"Bearer " + text}, nil, 0, identity.Caller{Kind: identity.Token, Token: hash}},
		"the scheme in any case":               {[]string{"bearer " + text}, nil, 0, identity.Caller{Kind: identity.Token, Token: hash}},
		"a token comes before a certificate":   {[]string{"Bearer " + text}, web, 0, identity.Caller{Kind: identity.Token, Token: hash}},
		"a wrong token is not the certificate": {[]string{"Bearer x"}, web, 0, bad(identity.ErrToken.Error())},
		"an empty value is not anonymous":      {[]string{""}, nil, 0, bad(form)},
		"another scheme":                       {[]string{"Basic " + text}, nil, 0, bad(form)},
		"no scheme":                            {[]string{text}, nil, 0, bad(form)},
		"blanks":                               {[]string{"Bearer  " + text}, nil, 0, bad(identity.ErrToken.Error())},
		"two values":                           {[]string{"Bearer " + text, "Bearer " + text}, nil, 0, bad("authorization is given more than once")},
		"a long value":                         {[]string{strings.Repeat("x", 8193)}, nil, 0, bad("authorization is longer than 8192 bytes")},
		"a certificate's URI":                  {nil, web, identity.ByURI, proved("cert:spiffe://tenure.internal/web")},
		"a certificate without URI":            {nil, certificate("web"), identity.ByURI, identity.Caller{}},
		"two URIs":                             {nil, certificate("", "spiffe://a/b", "spiffe://a/c"), identity.ByURI, bad("the certificate has more than one URI")},
		"another URI": {
			nil, certificate("", "https://a/b"), identity.ByURI,
			bad("the certificate's URI is not the id of a workload: spiffe://TRUST-DOMAIN/PATH"),
		},
		"a common name":           {nil, web, identity.ByCommonName, proved("cert:cn/web")},
		"no common name":          {nil, certificate(""), identity.ByCommonName, identity.Caller{}},
		"a control character":     {nil, certificate("a\nb"), identity.ByCommonName, bad("the certificate's common name has control characters, or is not UTF-8")},
		"certificates by nothing": {nil, web, identity.ByNothing, identity.Caller{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := identity.Of(test.values, test.certificate, test.by); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestWhatACertificateIsFor(t *testing.T) {
	for text, want := range map[string]identity.CertificateIdentity{
		"": identity.ByURI, "uri": identity.ByURI, "cn": identity.ByCommonName, "none": identity.ByNothing,
	} {
		if got, err := identity.ParseCertificateIdentity(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := identity.ParseCertificateIdentity("CN"); err == nil {
		t.Error("CN was taken")
	}
}

func TestAConnectionRemembersWhoCalledLast(t *testing.T) {
	memory := &identity.Memory{}
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "web"}}
	one, other := "Bearer "+identity.NewToken(), "bearer "+identity.NewToken()
	said := [][]string{
		{one},
		{one},
		{other},
		{one},
		nil,
		{one},
		{one, one},
		{"Bearer eyJ.a.b"},
		{"Bearer eyJ.a.b"},
		{"Bearer eyJ.a.c"},
		{one},
		{one[:70]},
		{one + "a"},
		{""},
		{"Basic " + one[7:]},
		{"B" + one[1:]},
	}
	for i, values := range said {
		got := memory.Of(values, certificate, identity.ByCommonName)
		if want := identity.Of(values, certificate, identity.ByCommonName); got.Caller != want {
			t.Errorf("call %d: got %+v, want %+v", i, got.Caller, want)
		}
	}
	if got := memory.Of(nil, nil, identity.ByCommonName); got.Kind != identity.None {
		t.Errorf("without a certificate: got %+v", got.Caller)
	}
	for _, values := range [][]string{{one}, nil} {
		memory.Of(values, certificate, identity.ByCommonName).Keep(1)
		if n := testing.AllocsPerRun(100, func() { memory.Of(values, certificate, identity.ByCommonName) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		if known := memory.Of(values, certificate, identity.ByCommonName).Known(); known != 1 {
			t.Errorf("%v is known, want 1", known)
		}
		if known := memory.Of([]string{other}, certificate, identity.ByCommonName).Known(); known != nil {
			t.Errorf("of another caller, %v is known", known)
		}
	}
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer tnr1_" + strings.Repeat("a", 59))
	f.Add("Bearer " + identity.NewToken())
	f.Fuzz(func(t *testing.T, value string) {
		caller := identity.Of([]string{value}, nil, identity.ByURI)
		switch caller.Kind {
		case identity.Token:
			if _, text, _ := strings.Cut(value, " "); caller.Token != sha256.Sum256([]byte(text)) {
				t.Errorf("%q has hash %x", value, caller.Token)
			}
		case identity.Bad:
			if len(value) > 60 && strings.Contains(caller.Cause, value) {
				t.Errorf("the cause repeats the credential: %s", caller.Cause)
			}
		default:
			t.Errorf("%q is %v", value, caller.Kind)
		}
	})
}
