package certs

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// fileBytesMax is how much is read of a file.
const fileBytesMax = 1 << 20

// Errors of files.
var (
	// ErrNoCertificate says that a file has no certificate.
	ErrNoCertificate = errors.New("no certificate in it")
	// ErrEnded says that a certificate has ended.
	ErrEnded = errors.New("the certificate has ended")
	// ErrNotYet says that the time of a certificate has not begun.
	ErrNotYet = errors.New("the certificate is not valid yet")
	// ErrUsage says that a certificate is not for what it is to be used for.
	ErrUsage = errors.New("the certificate is not for this use")
	// ErrTooLarge says that a file is larger than any certificate.
	ErrTooLarge = errors.New("the file is too large")
)

// Files are where certificates are read, as PEM.
type Files struct {
	// Cert has the certificate, its own first, then those between it and the CA. Key has its private key. Both or neither.
	Cert, Key string
	// CA has the certificates of the CAs that the other side is verified with; empty for none.
	CA string
}

// material is what the files of one moment say.
type material struct {
	pair *tls.Certificate    // nil without one
	sent []*x509.Certificate // of the pair: its own first, then those by which the other side gets from it to the CA
	cas  []*x509.Certificate
	pool *x509.CertPool // of cas; nil without a file
}

// read returns what is in the files, and a digest of it.
func (f Files) read() (contents [3][]byte, digest [sha256.Size]byte, err error) {
	all := sha256.New()
	for i, path := range []string{f.Cert, f.Key, f.CA} {
		if path == "" {
			continue
		}
		if contents[i], err = readFile(path); err != nil {
			return contents, digest, err
		}
		one := sha256.Sum256(contents[i])
		_, _ = all.Write(one[:]) // It never fails.
	}
	return contents, [sha256.Size]byte(all.Sum(nil)), nil
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // Its operator names it.
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, fileBytesMax+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(data) > fileBytesMax {
		return nil, fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	return data, nil
}

// parse returns what contents say.
func (f Files) parse(contents [3][]byte) (*material, error) {
	m := &material{}
	if f.Cert != "" {
		pair, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("%s and %s: %w", f.Cert, f.Key, err)
		}
		m.pair = &pair
		if m.sent, err = sentOf(&pair); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Cert, err)
		}
	}
	if f.CA == "" {
		return m, nil
	}
	var err error
	if m.cas, err = parseCertificates(contents[2]); err != nil {
		return nil, fmt.Errorf("%s: %w", f.CA, err)
	}
	m.pool = x509.NewCertPool()
	for _, ca := range m.cas {
		m.pool.AddCert(ca)
	}
	return m, nil
}

// check refuses what the other side would refuse, or with which every other side would be refused.
func (f Files) check(m *material, now time.Time, uses []x509.ExtKeyUsage) error {
	if m.pair != nil {
		if err := usable(m.pair.Leaf, now, uses); err != nil {
			return fmt.Errorf("%s: %w", f.Cert, err)
		}
		if err := signed(m.sent, now); err != nil {
			return fmt.Errorf("%s: %w", f.Cert, err)
		}
	}
	if end := lastEnd(m.cas); len(m.cas) > 0 && now.After(end) {
		return fmt.Errorf("%s: %w: on %s", f.CA, ErrEnded, dayOf(end))
	}
	return nil
}

// usable refuses a certificate that the other side would refuse whatever CA it has.
func usable(leaf *x509.Certificate, now time.Time, uses []x509.ExtKeyUsage) error {
	if err := current(leaf, now); err != nil {
		return err
	}
	if len(leaf.ExtKeyUsage) == 0 || slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny) {
		return nil
	}
	names := map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "serverAuth", x509.ExtKeyUsageClientAuth: "clientAuth"}
	for _, use := range uses {
		if !slices.Contains(leaf.ExtKeyUsage, use) {
			return fmt.Errorf("%w: its extended key usage lacks %s", ErrUsage, names[use])
		}
	}
	return nil
}

// signed refuses a certificate, the first of those that are sent, if none of the file that may have signed it is current: nobody gets from it to the
// CA then. For those further up there may be another way, as past a CA that another one has signed, too, for programs that do not know it.
func signed(sent []*x509.Certificate, now time.Time) error {
	var refusal error
	for _, one := range sent[1:] {
		if !bytes.Equal(one.RawSubject, sent[0].RawIssuer) {
			continue
		}
		err := current(one, now)
		if err == nil {
			return nil
		}
		refusal = cmp.Or(refusal, fmt.Errorf("of the CA %q: %w", one.Subject, err))
	}
	return refusal
}

// current refuses a certificate that has ended, or whose time has not begun.
func current(one *x509.Certificate, now time.Time) error {
	switch {
	case now.After(one.NotAfter):
		return fmt.Errorf("%w: on %s", ErrEnded, dayOf(one.NotAfter))
	case now.Before(one.NotBefore):
		return fmt.Errorf("%w: it will be on %s", ErrNotYet, dayOf(one.NotBefore))
	default:
		return nil
	}
}

// sentOf returns the certificate of a pair and those that signed it and are sent with it. A root is not among them: the other side has its own.
func sentOf(pair *tls.Certificate) ([]*x509.Certificate, error) {
	sent := []*x509.Certificate{pair.Leaf}
	for _, raw := range pair.Certificate[1:] {
		one, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, err
		}
		root := bytes.Equal(one.RawSubject, one.RawIssuer)
		signs := func(of *x509.Certificate) bool { return bytes.Equal(one.RawSubject, of.RawIssuer) }
		if !root && slices.ContainsFunc(sent, signs) {
			sent = append(sent, one)
		}
	}
	return sent, nil
}

// firstEnding returns the one of some certificates that ends first.
func firstEnding(all []*x509.Certificate) *x509.Certificate {
	return slices.MinFunc(all, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
}

// parseCertificates returns all certificates of a file. One that cannot be parsed fails all.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for len(bytes.TrimSpace(data)) > 0 {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, ErrNoCertificate
	}
	return all, nil
}

// lastEnd returns when the last of some certificates ends.
func lastEnd(all []*x509.Certificate) time.Time {
	var end time.Time
	for _, one := range all {
		if one.NotAfter.After(end) {
			end = one.NotAfter
		}
	}
	return end
}

// dayOf returns an instant as people write it.
func dayOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// pairOf returns a certificate with its key.
func pairOf(i Issued) (tls.Certificate, error) { return tls.X509KeyPair(i.Cert, i.Key) }
