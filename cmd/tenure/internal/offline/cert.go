package offline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/server/certs"
)

// certFlags are the flags of `tenure cert`.
type certFlags struct {
	dir         string
	trustDomain string
}

// NewCertCommand returns `tenure cert`.
func NewCertCommand(env *cli.Environment) *cobra.Command {
	flags := &certFlags{}
	ca := &cobra.Command{
		Use:     "ca",
		Short:   "Make a CA: ca.crt and ca.key",
		Example: "  tenure cert ca --dir certs",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			made, err := certs.NewAuthority(flags.trustDomain, time.Now())
			return flags.finish(env, cli.CAName, made, err)
		},
	}
	member := &cobra.Command{
		Use:   "member NAME HOST...",
		Short: "Make the certificate of a member: NAME.crt and NAME.key",
		Long: `Make the certificate of a member, signed by the CA in --dir. NAME is the member's --name. Clients verify that the
host they connect to is one of the HOSTs: give all DNS names and addresses by which clients reach the member.`,
		Example: "  tenure cert member a a.example.net 10.0.0.5 --dir certs",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			return flags.signed(env, args[0], func(a *certs.Authority) (certs.Issued, error) {
				return a.Member(flags.trustDomain, args[0], args[1:], time.Now())
			})
		},
	}
	client := &cobra.Command{
		Use:     "client NAME",
		Short:   "Make the certificate of a client: NAME.crt and NAME.key",
		Example: "  tenure cert client billing --dir certs",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return flags.signed(env, args[0], func(a *certs.Authority) (certs.Issued, error) {
				return a.Client(flags.trustDomain, args[0], time.Now())
			})
		},
	}
	cmd := cli.GroupCommand("cert", "Make a private CA and certificates for TLS",
		"  tenure cert ca --dir certs\n  tenure cert member a a.example.net 10.0.0.5 --dir certs\n  tenure cert client billing --dir certs",
		ca, member, client)
	cmd.Long = `Make a private CA, and certificates for members and clients, as files. The commands connect to no member.

The CA is valid for 10 years, the other certificates for 90 days. Files are readable by their owner only, and
existing ones are never overwritten. Keep ca.key away from the members: anyone who has it can act as any
member or client.`
	cmd.PersistentFlags().StringVar(&flags.dir, "dir", ".", "directory of the files; created if missing")
	cmd.PersistentFlags().StringVar(&flags.trustDomain, "trust-domain", certs.TrustDomainDefault, "name of the cluster in certificates; must differ between clusters that share a CA")
	return cmd
}

// signed writes a certificate that the CA in the directory issues.
func (f *certFlags) signed(env *cli.Environment, name string, issue func(*certs.Authority) (certs.Issued, error)) error {
	if strings.EqualFold(name, cli.CAName) {
		return cli.UsageError("%q is the name of the CA's own files; choose another", name)
	}
	crt, key := f.paths(cli.CAName)
	var ca certs.Issued
	var errCert, errKey error
	ca.Cert, errCert = os.ReadFile(crt)
	ca.Key, errKey = os.ReadFile(key)
	if err := errors.Join(errCert, errKey); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return cli.RefusedError("%s and %s are needed: those of your CA, if you have one; `tenure cert ca` makes a new one, which "+
				"members and clients of another do not accept", crt, key)
		}
		return cli.RefusedError("%w", err)
	}
	a, err := certs.ParseAuthority(ca)
	if err != nil {
		return cli.RefusedError("%s, %s: %w", crt, key, err)
	}
	made, err := issue(a)
	return f.finish(env, name, made, err)
}

// paths are where a certificate and its key are.
func (f *certFlags) paths(name string) (crt, key string) {
	base := filepath.Join(f.dir, name)
	return base + ".crt", base + ".key"
}

// finish writes what was made, and says where it is.
func (f *certFlags) finish(env *cli.Environment, name string, made certs.Issued, err error) error {
	if err != nil {
		return cli.UsageError("%w", err)
	}
	if err = os.MkdirAll(f.dir, 0o700); err != nil {
		return cli.RefusedError("%w", err)
	}
	crt, key := f.paths(name)
	if err = writeNew(key, made.Key); err != nil {
		return err
	}
	if err = writeNew(crt, made.Cert); err != nil {
		return errors.Join(err, os.Remove(key)) // Which was made a moment ago.
	}
	if env.Output == cli.OutputJSON {
		_, err = fmt.Fprintf(env.Stdout, "{\"certFile\": %q, \"keyFile\": %q}\n", crt, key)
	} else {
		_, err = fmt.Fprintf(env.Stdout, "%s\n%s\n", crt, key)
	}
	return err
}

// writeNew writes a file that must not exist, for its owner's eyes.
func writeNew(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return cli.RefusedError("%s exists; nothing is overwritten: move it away, and run the command again", path)
	}
	if err != nil {
		return cli.RefusedError("%w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(cli.RefusedError("%w", err), os.Remove(path))
	}
	return nil
}
