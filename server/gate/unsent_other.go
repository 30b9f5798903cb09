//go:build !linux

package gate

import "net"

// boundUnsent bounds what the system keeps of a connection, where that is known to be possible.
func boundUnsent(net.Conn) {}
