package certs

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
)

// useHTTPS answers a request of HTTP that came without TLS.
const useHTTPS = "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks HTTPS: use https://\n"

// useTLS answers everybody else who came without TLS: an alert of TLS that says that the message was unexpected.
const useTLS = "\x15\x03\x01\x00\x02\x02\x0a"

// strayMax is how much is read from who came without TLS.
const strayMax = 64 << 10

// speaksHTTP reports whether a request of HTTP/1 begins so.
func speaksHTTP(first [5]byte) bool {
	return slices.Contains([]string{"GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO"}, string(first[:]))
}

// turnAway tells someone who came without TLS that it is needed. What they still send is read, until they close the connection or its
// deadline passes: the kernel answers what is left unread with a reset, and who is reset while it writes reads no answer.
func turnAway(raw net.Conn, cause error) {
	record, ok := errors.AsType[tls.RecordHeaderError](cause)
	if !ok || record.Conn == nil { // They speak something like TLS, and were told.
		return
	}
	answer := useTLS
	if speaksHTTP(record.RecordHeader) {
		answer = useHTTPS
	}
	if _, err := io.WriteString(raw, answer); err != nil {
		return
	}
	if closeWrite(raw) == nil {
		_, _ = io.CopyN(io.Discard, raw, strayMax) // Nothing depends on what it is.
	}
}

// closeWrite ends what a connection sends, and leaves open what it receives.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
