package hostile_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
)

// connectionAttacks take connections.
func connectionAttacks() []attack {
	return []attack{
		{entry: "S7", name: "connections that say nothing", attack: connectIdle, files: 400, shows: `tenure_server_shared_refused_total{limit="connections_max"}`, pins: func(long bool) int {
			if long {
				return 20_000 * 32 >> 10
			}
			return 0
		}},
		{entry: "S19", name: "calls that are taken back", attack: resetRapidly, alike: listMuch, shows: `tenure_server_connections_cut_total{cause="resets"}`},
	}
}

// connectIdle opens connections to every listener, and keeps those that the member keeps.
func connectIdle(ctx context.Context, a *attacker) error {
	at := a.Members[0]
	listeners := []string{at.GRPC, at.HTTP, at.Peer}
	for i := range a.count(1200, 20_000) {
		conn, err := dialHostile(ctx, listeners[i%len(listeners)])
		if errors.Is(err, syscall.EMFILE) {
			return nil // The attacker has no more itself.
		}
		if err != nil {
			continue // The member is as busy as that.
		}
		go func(conn net.Conn) { // It ends with the connection.
			_, _ = io.Copy(io.Discard, conn) // Until the member hangs up.
			_ = conn.Close()
		}(conn)
	}
	return nil
}
