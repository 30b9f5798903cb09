package tenure_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// TestAnAgentWithTLS registers a service at an agent that has TLS and demands certificates.
func TestAnAgentWithTLS(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	t.Cleanup(cancel)
	member := rig.StartCluster(ctx, t, binary, 1).Members[0]
	awaitCatalog(t, member)
	dir := t.TempDir()
	authority, err := rig.NewAuthority("tenure test CA")
	if err == nil {
		err = authority.Write(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	a := rig.NewAgent(t, binary, "m1", member.Addresses.GRPC, "--gossip", "off", "--listen-cert-file", file("member.crt"),
		"--listen-key-file", file("member.key"), "--client-ca-file", file("ca.crt"), "--client-auth", "require")
	a.Restart(ctx)
	ca, own := tenure.WithCAFile(file("ca.crt")), tenure.WithCertificateFiles(file("client.crt"), file("client.key"))
	register := func(address string, options ...tenure.Option) error {
		agent, refused := tenure.OpenAgent(address, options...)
		if refused != nil {
			return refused
		}
		waiting, stop := context.WithTimeout(ctx, patience)
		defer stop()
		_, failed := agent.Register(waiting, tenure.Service{Name: "web", Port: 80})
		return errors.Join(failed, agent.Close())
	}
	if err = register(a.Address, ca, own); err != nil {
		t.Errorf("with options: %v", err)
	}
	for name, of := range map[string]struct {
		address string
		options []tenure.Option
		kind    error
	}{
		"no certificate":           {a.Address, []tenure.Option{ca}, tenure.ErrTLSFailed},
		"the system's CAs":         {"tenures://" + a.Address, nil, tenure.ErrTLSFailed},
		"a CA that is not there":   {a.Address, []tenure.Option{tenure.WithCAFile("not/there")}, tenure.ErrTLSFailed},
		"a certificate and no key": {a.Address, []tenure.Option{ca, tenure.WithCertificateFiles(file("client.crt"), "")}, tenure.ErrInvalidArgument},
		"no TLS, and a CA":         {"tenure://" + a.Address, []tenure.Option{ca}, tenure.ErrInvalidArgument},
		"a namespace":              {"tenures://" + a.Address + "/app", nil, tenure.ErrInvalidArgument},
		"a parameter":              {"tenures://" + a.Address + "?ca_file=" + file("ca.crt"), nil, tenure.ErrInvalidArgument},
		"a token":                  {a.Address, []tenure.Option{ca, own, tenure.WithToken("secret")}, tenure.ErrInvalidArgument},
	} {
		if err = register(of.address, of.options...); !errors.Is(err, of.kind) {
			t.Errorf("%s: got %v, want %v", name, err, of.kind)
		}
	}

	// The environment says the rest once the address asks for TLS. A token there is for members.
	t.Setenv("TENURE_CA_FILE", file("ca.crt"))
	t.Setenv("TENURE_CERT_FILE", file("client.crt"))
	t.Setenv("TENURE_KEY_FILE", file("client.key"))
	t.Setenv("TENURE_TOKEN_FILE", "not/there")
	t.Setenv("TENURE_AGENT", "tenures://"+a.Address)
	if err = register(""); err != nil {
		t.Errorf("with the environment: %v", err)
	}
}
