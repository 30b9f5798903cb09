package main

import (
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// connections are client connections shared evenly by the clients of a cell.
type connections []*grpc.ClientConn

// dialAll connects to a server without TLS, unless the options say otherwise.
func dialAll(address string, n int, opts ...grpc.DialOption) (connections, error) {
	opts = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, opts...)
	var conns connections
	for range n {
		conn, err := grpc.NewClient("passthrough:///"+address, opts...)
		if err != nil {
			return nil, errors.Join(err, conns.close())
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// of returns the connection that a client uses.
func (c connections) of(client int) *grpc.ClientConn { return c[client%len(c)] }

func (c connections) close() error {
	var errs []error
	for _, conn := range c {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
