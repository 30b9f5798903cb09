package gate

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/tenure-io/tenure/server/frames"
)

// Leaving returns credentials of a listener that have the other side of a connection told to connect again once the certificate that it has shown
// is no longer valid.
func Leaving(of credentials.TransportCredentials) credentials.TransportCredentials {
	return leaving{of}
}

type leaving struct {
	credentials.TransportCredentials
}

// ServerHandshake makes a connection's handshake.
func (l leaving) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := l.TransportCredentials.ServerHandshake(raw)
	shown, ok := info.(secured)
	if err != nil || !ok {
		return conn, info, err
	}
	leaver := frames.Unmetered(conn)
	context.AfterFunc(shown.Valid(), leaver.Leave)
	return leaver, info, nil
}

// Clone copies the credentials.
func (l leaving) Clone() credentials.TransportCredentials {
	return leaving{l.TransportCredentials.Clone()}
}
