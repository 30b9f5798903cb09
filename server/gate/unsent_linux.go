package gate

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// unsentBytesMax is how much of what was written to a connection the system may keep that it could not send yet. Without it
// the system takes megabytes for a client that reads nothing, and a member makes answers that nobody may ever ask for.
const unsentBytesMax = 128 << 10

// boundUnsent bounds what the system keeps of a connection. Where it cannot, it keeps as much as it likes.
func boundUnsent(conn net.Conn) {
	of, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := of.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytesMax)
		})
	}
}
