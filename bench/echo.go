package main

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echoCommand as first argument turns the program into the echo server, so that it is a process of its own like the
// member.
const echoCommand = "echo-server"

const echoMethod = "/bench.Echo/Echo"

// serveEcho answers each unary call with its own request, until ctx ends. It writes its address where a member would.
func serveEcho(ctx context.Context, dir string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Echo",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Echo", Handler: handleEcho}},
	}, nil)
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	if err = writeAddresses(filepath.Join(dir, addressFile), addresses{GRPC: listener.Addr().String()}); err != nil {
		return err
	}
	return server.Serve(listener)
}

//nolint:revive // gRPC fixes the order of the parameters.
func handleEcho(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	message := new(wrapperspb.BytesValue)
	return message, decode(message)
}

// startEcho starts this program a second time, as echo server.
func startEcho(ctx context.Context, dir string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startServer(ctx, dir, self, echoCommand, dir)
}

// newEchoCell calls the echo server with valueBytes there and back.
func newEchoCell(echo *server, clients int, o options) (*cell, error) {
	conns, err := dialAll(echo.addresses.GRPC, min(clients, o.conns))
	if err != nil {
		return nil, err
	}
	request := wrapperspb.Bytes(make([]byte, o.valueBytes))
	return &cell{
		drivers: clients,
		step: func(ctx context.Context, client int, r *recorder) error {
			return r.time(func() error {
				return conns.of(client).Invoke(ctx, echoMethod, request, new(wrapperspb.BytesValue))
			})
		},
		close: conns.close,
	}, nil
}
