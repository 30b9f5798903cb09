package main

import (
	"errors"
	"net"
)

// addressFlag is a flag that takes an address to listen on, and its value.
type addressFlag struct{ name, address string }

// addressTaken says that another program listens on an address, and which flag gives another one. What is what the program runs.
func addressTaken(err error, what string, flags []addressFlag) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Addr == nil {
		return refusedError("%w: is another %s running?", err, what)
	}
	taken := op.Addr.String()
	for _, flag := range flags {
		if at, err := net.ResolveTCPAddr("tcp", flag.address); err == nil && at.String() == taken {
			return refusedError("%s (--%s) is already in use: is another %s running? Stop it, or choose another address with --%s; port 0 is any free port",
				taken, flag.name, what, flag.name)
		}
	}
	return refusedError("%s is already in use: is another %s running?", taken, what)
}
