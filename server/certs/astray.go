package certs

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

// useHTTPS answers a request of HTTP that came without TLS.
const useHTTPS = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks HTTPS: use https://\n"

// useTLS answers everybody else who came without TLS: an alert of TLS that says that the message was unexpected.
const useTLS = "\x15\x03\x01\x00\x02\x02\x0a"

const (
	// strayMax is how much is read from who came without TLS.
	strayMax = 64 << 10
	// refusedMax is how much is read from those whose handshake was refused: what a client sends before it has heard of that.
	refusedMax = 16 << 10
)

// speaksHTTP reports whether a request of HTTP/1 begins so.
func speaksHTTP(first [5]byte) bool {
	return slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"}, string(first[:]))
}

// turnAway lets someone who was refused hear why: who came without TLS is told that it is needed, and the others were sent an alert. What
// they still send is read and dropped, until they close the connection or its time is over: the kernel answers what is left unread with a
// reset, and who is reset while it writes reads no answer. In TLS 1.3 a client writes before it can know whether its certificate is accepted.
func (h *Handshaker) turnAway(begun *opening, cause error) {
	record, ok := errors.AsType[tls.RecordHeaderError](cause)
	if ok && record.Conn != nil {
		answer := useTLS
		if speaksHTTP(record.RecordHeader) {
			answer = useHTTPS
		}
		if _, err := io.WriteString(begun.Conn, answer); err == nil {
			drop(begun.Conn, strayMax)
		}
		return
	}
	switch causeOf(cause) {
	case causeNotTLS, causeCertificate, causeOther:
		ends := time.Now().Add(h.o.Linger)
		if begun.ends.Before(ends) {
			ends = begun.ends
		}
		if begun.Conn.SetDeadline(ends) == nil {
			drop(begun.Conn, refusedMax)
		}
	case causeTime, causeRoom, causeRefused, causeClosed, causeCut, causes: // Nobody is there to listen, or there was no time or room for it.
	}
}

// drop tells someone nothing more, and reads what they still send, up to a length.
func drop(conn net.Conn, most int64) {
	if closeWrite(conn) == nil {
		_, _ = io.CopyN(io.Discard, conn, most) // Nothing depends on what it is.
	}
}

// closeWrite ends what a connection sends, and leaves open what it receives.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
