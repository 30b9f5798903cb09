package daemon

import (
	"cmp"
	"errors"
	"net"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
)

// AddressFlag is a flag that takes an address to listen on, and its value.
type AddressFlag struct{ Name, Address string }

// AddressTaken says that another program listens on an address, and which flag gives another one. What is what the program runs.
func AddressTaken(err error, what string, flags []AddressFlag) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil {
		return cli.RefusedError("%w: is another %s running?", err, what)
	}
	taken := op.Addr.String()
	for _, flag := range flags {
		if at, err := net.ResolveTCPAddr("tcp", flag.Address); err == nil && at.String() == taken {
			return cli.RefusedError("%s (--%s) is already in use: is another %s running? Stop it, or choose another address with --%s; port 0 is any free port",
				taken, flag.Name, what, flag.Name)
		}
	}
	return cli.RefusedError("%s is already in use: is another %s running?", taken, what)
}

// OrOff returns an address that is listened on, or "off" if there is none.
func OrOff(address string) string { return cmp.Or(address, "off") }
