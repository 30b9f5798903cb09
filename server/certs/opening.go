package certs

import (
	"encoding/binary"
	"net"
	"slices"
	"time"
)

const (
	// recordHandshake is the first byte of who speaks TLS.
	recordHandshake = 0x16
	// recordHeader is how long the beginning of a record is, whose last two bytes say how many follow (RFC 8446, section 5.1).
	recordHeader = 5
	// recordMax is how many may follow in a record that is not encrypted.
	recordMax = 1 << 14
	// recordStep is for how much of a record there is room before anything of it came.
	recordStep = 2 << 10
)

// opening is a connection at its beginning: what came first can be looked at before it is read, and it is known whether anything came.
// One goroutine at a time reads it.
type opening struct {
	net.Conn
	ends  time.Time // when its handshake must have ended
	first []byte
	heard bool
}

// begin waits until something came, and leaves it to be read.
func (o *opening) begin() error {
	if len(o.first) > 0 {
		return nil
	}
	o.first = make([]byte, 0, recordHeader)
	return o.more(recordHeader)
}

// speaksTLS reports whether what came first is a part of a handshake.
func (o *opening) speaksTLS() bool { return len(o.first) > 0 && o.first[0] == recordHandshake }

// record waits for the first record of who speaks TLS, and leaves it to be read. Whoever begins a handshake and falls silent costs little
// here, and much more of the stack in the middle of crypto/tls. It does not wait for the rest of what cannot be a record.
func (o *opening) record() error {
	err := o.begin()
	for err == nil && o.speaksTLS() && len(o.first) < recordHeader {
		err = o.more(recordHeader)
	}
	if err != nil || !o.speaksTLS() {
		return err
	}
	length := int(binary.BigEndian.Uint16(o.first[recordHeader-2:]))
	for err == nil && length <= recordMax && len(o.first) < recordHeader+length {
		if len(o.first) == cap(o.first) {
			o.first = slices.Grow(o.first, max(recordStep, len(o.first)))
		}
		err = o.more(recordHeader + length)
	}
	return err
}

// more reads into what is left of the room, at most up to a length in all.
func (o *opening) more(length int) error {
	n, err := o.Conn.Read(o.first[len(o.first):min(length, cap(o.first))])
	o.first, o.heard = o.first[:len(o.first)+n], o.heard || n > 0
	if n > 0 {
		return nil
	}
	return err
}

// Read reads what came.
func (o *opening) Read(into []byte) (int, error) {
	if len(o.first) > 0 && len(into) > 0 {
		n := copy(into, o.first)
		if o.first = o.first[n:]; len(o.first) == 0 {
			o.first = nil
		}
		return n, nil
	}
	n, err := o.Conn.Read(into)
	o.heard = o.heard || n > 0
	return n, err
}

// CloseWrite ends what is sent, and leaves open what is received.
func (o *opening) CloseWrite() error { return closeWrite(o.Conn) }
