package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/rest"
)

// checkDebugAddress refuses an address that other machines can reach.
func checkDebugAddress(address string) error {
	const flag = "--debug-http"
	if err := checkListenAddress(flag, address, true); err != nil {
		return err
	}
	if host, _, _ := net.SplitHostPort(address); !loopback(host) {
		return fmt.Errorf("%w: %s %q must be a loopback address", ErrConfig, flag, address)
	}
	return nil
}

// serveDebug serves profiles of the process, if asked to, on a listener of their own: a profile tells names of keys and
// takes CPU time, so it is for who has a shell on this machine.
func (r *running) serveDebug(ctx context.Context) error {
	if r.config.DebugAddr == "" {
		return nil
	}
	listener, err := r.config.Listen(ctx, r.config.DebugAddr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", r.config.DebugAddr, err)
	}
	r.addresses.Debug = listener.Addr().String()
	listener = gate.Listener{Listener: listener, Callers: r.rooms.Callers, Pool: r.rooms.Connections}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	r.serveHTTP(ctx, listener, rest.NewFrontDoor(rest.Options{AllowedHosts: r.config.httpHosts(), Log: r.log}, mux.ServeHTTP))
	return nil
}
