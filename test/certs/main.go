// Command certs makes the certificates beside it, for the tests of clients in languages that cannot easily make their own:
//
//	go run ./test/certs test/certs
//
// The folders one and two have an authority each (ca.crt), whose key is thrown away; a pair for members, at localhost and 127.0.0.1 (member.crt and
// member.key); and a pair for clients (client.crt and client.key). They are good for a hundred years. In one there also is a pair for members that has
// expired, and one for a member of another name. Everyone can read the keys: trust none of this outside of tests.
package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tenure-io/tenure/test/rig"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: certs DIRECTORY")
		os.Exit(2)
	}
	for _, name := range []string{"one", "two"} {
		if err := write(filepath.Join(os.Args[1], name), name == "one"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// pair is a certificate to make.
type pair struct {
	hosts  []string
	change func(*x509.Certificate)
}

// write makes a folder. All tells whether it has the bad certificates, too.
func write(dir string, all bool) error {
	long := func(c *x509.Certificate) { c.NotAfter = c.NotBefore.AddDate(100, 0, 0) }
	over := func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Minute) }
	authority, err := rig.NewAuthority("tenure test CA "+filepath.Base(dir), long)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	here := []string{"localhost", "127.0.0.1"}
	pairs := map[string]pair{"member": {here, long}, "client": {nil, long}}
	if all {
		pairs["expired"], pairs["elsewhere"] = pair{here, over}, pair{[]string{"elsewhere.test"}, long}
	}
	for name, pair := range pairs {
		certificate, key, err := authority.Issue(pair.hosts, pair.change)
		if err != nil {
			return err
		}
		if err := put(dir, name+".crt", certificate); err != nil {
			return err
		}
		if err := put(dir, name+".key", key); err != nil {
			return err
		}
	}
	return put(dir, "ca.crt", authority.PEM())
}

// put writes a file.
func put(dir, name string, content []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return root.WriteFile(name, content, 0o600)
}
