package port

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
)

// host is the address of this machine for itself.
const host = "127.0.0.1"

// The ports to choose from where the kernel keeps none. They are below those that kernels give to whoever asks for any.
const (
	portMin  = 10_000
	portMax  = 29_999
	triesMax = 100
)

// Kept is an address of this machine that programs may listen on, one at a time.
type Kept struct {
	address string
	holder  *os.File // Nil where the kernel keeps no port.
}

// Keep finds an address on which nobody listens, and keeps it until Close.
//
// It is bound to a socket that does not listen. With SO_REUSEADDR, which Go sets for all listeners, another one may then listen there: on Linux
// always, elsewhere not. There it is only an address that is not taken by accident.
func Keep(ctx context.Context) (*Kept, error) {
	holder, address, err := bind()
	if err != nil {
		return nil, fmt.Errorf("keep a port: %w", err)
	}
	if err = tryToListen(ctx, address); err == nil {
		return &Kept{address: address, holder: holder}, nil
	}
	if err = holder.Close(); err != nil {
		return nil, fmt.Errorf("keep a port: %w", err)
	}
	for range triesMax {
		number := portMin + rand.IntN(portMax-portMin+1) //nolint:gosec // A port needs no secret.
		address = net.JoinHostPort(host, strconv.Itoa(number))
		if err = tryToListen(ctx, address); err == nil {
			return &Kept{address: address}, nil
		}
	}
	return nil, fmt.Errorf("find a port: %w", err)
}

// Address returns host:port.
func (k *Kept) Address() string { return k.address }

// Close gives the address up.
func (k *Kept) Close() error {
	if k.holder == nil {
		return nil
	}
	return k.holder.Close()
}

// bind binds a socket to a port that the kernel chooses.
func bind() (holder *os.File, address string, err error) {
	syscall.ForkLock.RLock() // No program that is started now may inherit it.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, "", err
	}
	holder = os.NewFile(uintptr(fd), "port")
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte(net.ParseIP(host).To4())}),
	)
	if err == nil {
		var at syscall.Sockaddr
		if at, err = syscall.Getsockname(fd); err == nil {
			if inet, ok := at.(*syscall.SockaddrInet4); ok {
				return holder, net.JoinHostPort(host, strconv.Itoa(inet.Port)), nil
			}
			err = fmt.Errorf("bound to %T", at)
		}
	}
	return nil, "", errors.Join(err, holder.Close())
}

// tryToListen tells whether a program could listen on an address.
func tryToListen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}
