package certs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tenure-io/tenure/server/certs"
)

// TestAnAddressOfClientsThatTheCertificateLacksIsAProblem: clients that are told to connect there refuse the member.
func TestAnAddressOfClientsThatTheCertificateLacksIsAProblem(t *testing.T) {
	ours := newCA(t)
	files := ours.member("a", 0)
	core, logged := observer.New(zap.InfoLevel)
	s, err := certs.Open(certs.Options{Files: files, Purpose: "test", Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	lacks := func() string {
		for _, p := range s.Problems() {
			if p.Name == certs.ProblemLacksAddress {
				return p.Message
			}
		}
		return ""
	}
	s.Serves("localhost:7400", "[::]:7400", "a.member."+domain+":7401")
	if got := lacks(); got != "" || logged.Len() > 0 {
		t.Errorf("got %q, and logged %v; want no problem with hosts that the certificate lists", got, logged.All())
	}
	s.Serves("10.0.0.1:7400", "10.0.0.1:7401")
	if got := lacks(); !strings.Contains(got, "does not list 10.0.0.1, where") || logged.FilterLevelExact(zap.WarnLevel).Len() != 1 {
		t.Errorf("got %q, and logged %v; want that the address is missing", got, logged.All())
	}
	made, err := ours.Member(domain, "a", []string{"10.0.0.1", "b.example.net"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	ours.write("a", made)
	s.Reload()
	if got := lacks(); got != "" {
		t.Errorf("got %q, want no problem with a certificate that lists the address", got)
	}
	for host, want := range map[string]bool{"10.0.0.1": true, "b.Example.net": true, "example.net": false, "localhost": false, "": false} {
		if s.Covers(host) != want {
			t.Errorf("that the certificate is for %q: got %t", host, !want)
		}
	}
}

// TestWhatIsLoggedOfFiles reads in the log which files are not taken, and that they can be used again.
func TestWhatIsLoggedOfFiles(t *testing.T) {
	ours := newCA(t)
	files := ours.member("a", 0)
	core, logged := observer.New(zap.InfoLevel)
	s, err := certs.Open(certs.Options{Files: files, Purpose: "peers", Logger: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(files.Key)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		writeFile(t, files.Key, []byte("x"))
		s.Reload()
	}
	if problems := s.Problems(); len(problems) != 1 || !strings.Contains(problems[0].Message, "The files for peers were changed") {
		t.Errorf("got %v, want that the problem says what the files are for", problems)
	}
	writeFile(t, files.Key, good)
	s.Reload()
	ours.member("a", 0)
	s.Reload()
	var got []string
	for _, l := range logged.All() {
		got = append(got, l.Message)
		for _, end := range l.ContextMap() {
			if ends, ok := end.([]any); ok && !strings.HasPrefix(fmt.Sprint(ends[0]), time.Now().AddDate(0, 0, 90).UTC().Format("2006-01-02 ")) {
				t.Errorf("got the end %v, want its date", ends)
			}
		}
	}
	want := "certificate not taken, the earlier one stays; certificate files can be used again, and say the same as before; certificate taken"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
