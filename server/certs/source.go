package certs

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

const (
	// lookInterval is how often files are looked at.
	lookInterval = 10 * time.Second
	// warnAtMost and warnPart say how long before its end a certificate is a problem: a part of its life, but not longer.
	warnAtMost = 14 * 24 * time.Hour
	warnPart   = 3
)

// The problems with certificates; each is the heading of a runbook.
const (
	ProblemNotLoaded    = "certificate-not-loaded"
	ProblemExpires      = "certificate-expires"
	ProblemLacksAddress = "certificate-lacks-address"
)

// Problem is something that an operator should look at.
type Problem struct {
	// Name is one of the constants.
	Name string
	// Message says it in a sentence.
	Message string
}

// Options say how files become certificates.
type Options struct {
	Files
	// Purpose says what the certificates are for, as a word: it names them in logs.
	Purpose string
	// Uses are the extended key usages that the certificate must have, if it has any.
	Uses []x509.ExtKeyUsage
	// Check refuses a certificate that is not right for another reason; nil refuses none.
	Check func(leaf *x509.Certificate) error
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Logger is told when files are taken and when they are not; nil logs nothing.
	Logger *zap.Logger
}

// Source has the certificates that files say, and looks at the files again. Any goroutine may use it.
type Source struct {
	o       Options
	current atomic.Pointer[material]
	taken   atomic.Int64 // how often changed files were
	// Connections whose other side has shown a certificate, and how many were ended because it was no longer valid.
	open     openConns
	finished atomic.Int64

	mu    sync.Mutex        // guards what follows, and is held while files are read
	seen  [sha256.Size]byte // digest of the files that are in use
	bad   error             // why those were not taken
	hosts []string          // where clients are told to connect to
}

// Open reads files. It fails when they cannot be used.
func Open(o Options) (*Source, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	s := &Source{o: o}
	m, digest, err := s.look()
	if err != nil {
		return nil, err
	}
	s.seen = digest
	s.current.Store(m)
	return s, nil
}

// look reads the files and checks what they say.
func (s *Source) look() (*material, [sha256.Size]byte, error) {
	contents, digest, err := s.o.read()
	if err != nil {
		return nil, digest, err
	}
	m, err := s.o.parse(contents)
	if err == nil {
		err = s.o.check(m, s.o.Now(), s.o.Uses)
	}
	if err == nil && m.pair != nil && s.o.Check != nil {
		if err = s.o.Check(m.pair.Leaf); err != nil {
			err = fmt.Errorf("%s: %w", s.o.Cert, err)
		}
	}
	return m, digest, err
}

// Reload looks at the files, and takes what they say if it changed and can be used. Connections whose certificates are no longer valid end
// soon after.
func (s *Source) Reload() {
	before := s.current.Load()
	s.take()
	s.sweep(s.open.list(), !sameCAs(before, s.current.Load()))
}

// take takes what changed files say.
func (s *Source) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, digest, err := s.look()
	if err != nil && digest == s.seen {
		s.bad = nil // They say what is in use, which only got old.
		return
	}
	if err != nil {
		if s.bad == nil || s.bad.Error() != err.Error() {
			s.o.Logger.Error("certificate not taken, the earlier one stays", zap.String("purpose", s.o.Purpose), zap.Error(err))
		}
		s.bad = err
		return
	}
	repaired := s.bad != nil
	s.bad = nil
	if digest == s.seen {
		if repaired {
			s.o.Logger.Info("certificate files can be used again, and say the same as before", zap.String("purpose", s.o.Purpose))
		}
		return
	}
	s.seen = digest
	s.current.Store(m)
	s.taken.Add(1)
	var ends []string
	for _, end := range s.ends() {
		ends = append(ends, dayOf(end))
	}
	s.o.Logger.Info("certificate taken", zap.String("purpose", s.o.Purpose), zap.Strings("ends", ends))
	s.warnOfHosts()
}

// Serves notes the addresses, host:port, at which clients are told to connect. A host that the certificate does not list is a problem.
func (s *Source) Serves(addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = nil
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err == nil && host != "" && !net.ParseIP(host).IsUnspecified() && !slices.Contains(s.hosts, host) {
			s.hosts = append(s.hosts, host)
		}
	}
	s.warnOfHosts()
}

// warnOfHosts logs the hosts that the certificate lacks. The mutex is held.
func (s *Source) warnOfHosts() {
	if lacking := s.lacking(); len(lacking) > 0 {
		s.o.Logger.Warn("the certificate does not list the address that is advertised to clients; they will refuse it there",
			zap.String("purpose", s.o.Purpose), zap.String("file", s.o.Cert), zap.Strings("lacks", lacking))
	}
}

// lacking returns the hosts that the certificate lacks. The mutex is held.
func (s *Source) lacking() []string {
	return slices.DeleteFunc(slices.Clone(s.hosts), s.Covers)
}

// Covers reports whether the certificate in use is for a host: a DNS name, with a wildcard for it or without, or an address.
func (s *Source) Covers(host string) bool {
	m := s.current.Load()
	return m.pair != nil && m.pair.Leaf.VerifyHostname(host) == nil
}

// Run looks at the files every few seconds, and whenever reload has something, until ctx ends.
func (s *Source) Run(ctx context.Context, reload <-chan struct{}) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-reload:
		case <-ctx.Done():
			return
		}
		s.Reload()
	}
}

// ends returns when the certificate in use ends, or one between it and the CA does, and when the last of the CAs does; of those that there are.
func (s *Source) ends() []time.Time {
	var ends []time.Time
	m := s.current.Load()
	if m.pair != nil {
		ends = append(ends, firstEnding(m.sent).NotAfter)
	}
	if len(m.cas) > 0 {
		ends = append(ends, lastEnd(m.cas))
	}
	return ends
}

// problem returns the hosts that the certificate in use lacks, and why the files as they are now are not taken.
func (s *Source) problem() (lacking []string, notTaken error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lacking(), s.bad
}

// Problems returns what an operator should look at, worst first.
func (s *Source) Problems() []Problem {
	var found []Problem
	lacking, bad := s.problem()
	if bad != nil {
		found = append(found, Problem{ProblemNotLoaded, fmt.Sprintf(
			"The files for %s were changed and cannot be used, so this member continues with the certificates it had: %v.", s.o.Purpose, bad)})
	}
	if len(lacking) > 0 {
		found = append(found, Problem{ProblemLacksAddress, fmt.Sprintf(
			"The certificate in %s does not list %s, where members tell clients to connect: clients will refuse this member. "+
				"Replace it by one that lists it, or advertise a name that it lists.", s.o.Cert, strings.Join(lacking, " and "))})
	}
	return append(found, s.expiring()...)
}

// expiring returns which of the certificates in use end soon, or have ended.
func (s *Source) expiring() []Problem {
	var found []Problem
	m, now := s.current.Load(), s.o.Now()
	ending := slices.DeleteFunc(slices.Clone(m.sent), func(one *x509.Certificate) bool { return !soon(one, now) })
	if len(ending) > 0 {
		found = append(found, expires(s.o.Cert, firstEnding(ending).NotAfter, now))
	}
	if len(m.cas) > 0 && lastEnd(m.cas).Sub(now) < warnAtMost {
		found = append(found, expires(s.o.CA, lastEnd(m.cas), now))
	}
	return found
}

// soon reports whether a certificate ends soon, for the life that it has.
func soon(one *x509.Certificate, now time.Time) bool {
	return one.NotAfter.Sub(now) < min(warnAtMost, one.NotAfter.Sub(one.NotBefore)/warnPart)
}

func expires(path string, end, now time.Time) Problem {
	verb := "ends"
	if now.After(end) {
		verb = "ended"
	}
	return Problem{ProblemExpires, fmt.Sprintf("The certificate in %s %s on %s. Replace the file; no restart is needed.", path, verb, dayOf(end))}
}
