package frames

import "encoding/binary"

// Lengths of what HTTP/2 and gRPC put before things.
const (
	prefaceBytes = 24 // before a client's first frame
	headerBytes  = 9  // before a frame's payload
	prefixBytes  = 5  // before a message
)

// Types and flags of frames that matter here.
const (
	typeData    = 0
	typeHeaders = 1
	typeReset   = 3
	typeGoAway  = 7
	typeUpdate  = 8

	typeContinuation = 9

	flagEndStream  = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
)

// goodbye is a frame GOAWAY without an error: the client begins no more calls, and those that have begun are served.
var goodbye = []byte{
	0, 0, 8, typeGoAway, 0, 0, 0, 0, 0, // 8 bytes of payload, for the whole connection
	0x7f, 0xff, 0xff, 0xff, // the last call that is served: any
	0, 0, 0, 0, // no error
}

// frame is the header of a frame.
type frame struct {
	length      int
	kind, flags byte
	stream      uint32
}

// ends reports whether its sender sends no more on the stream.
func (f frame) ends() bool {
	return f.kind == typeReset || f.flags&flagEndStream != 0 && (f.kind == typeData || f.kind == typeHeaders)
}

// follower is told what a scanner finds. Data of a frame may come in several parts, without padding.
type follower interface {
	begin(f frame)
	data(f frame, part []byte)
	end(f frame)
}

// scanner finds the frames in one direction of a connection. One goroutine uses it.
type scanner struct {
	skip    int // bytes left of the preface
	header  [headerBytes]byte
	got     int  // bytes of the header
	any     bool // whether a frame has passed
	frame   frame
	left    int // bytes of the payload
	padding int // bytes at the end of the payload; -1 while their number is still to come
}

// scan follows the next bytes.
func (s *scanner) scan(p []byte, to follower) {
	n := min(s.skip, len(p))
	s.skip -= n
	p = p[n:]
	for len(p) > 0 {
		if s.got < headerBytes {
			n := copy(s.header[s.got:], p)
			s.got += n
			p = p[n:]
			if s.got < headerBytes {
				return
			}
			s.begin(to)
		} else {
			n := min(s.left, len(p))
			s.payload(p[:n], to)
			p = p[n:]
		}
		if s.left == 0 {
			to.end(s.frame)
			s.got, s.any = 0, true
		}
	}
}

// between reports whether another frame may follow what has passed: whole frames, at least one, and no headers that are continued.
func (s *scanner) between() bool {
	headers := s.frame.kind == typeHeaders || s.frame.kind == typeContinuation
	return s.any && s.got == 0 && (!headers || s.frame.flags&flagEndHeaders != 0)
}

// begin reads the header of a frame.
func (s *scanner) begin(to follower) {
	h := s.header
	s.frame = frame{
		length: int(h[0])<<16 | int(h[1])<<8 | int(h[2]),
		kind:   h[3], flags: h[4],
		stream: binary.BigEndian.Uint32(h[5:]) &^ (1 << 31),
	}
	s.left, s.padding = s.frame.length, 0
	if s.frame.kind == typeData && s.frame.flags&flagPadded != 0 {
		s.padding = -1
	}
	to.begin(s.frame)
}

// payload takes a part of a frame's payload.
func (s *scanner) payload(part []byte, to follower) {
	s.left -= len(part)
	if s.frame.kind != typeData || len(part) == 0 {
		return
	}
	if s.padding < 0 {
		s.padding = int(part[0])
		part = part[1:]
	}
	// What is left of the payload ends with the padding.
	part = part[:max(0, min(len(part), len(part)+s.left-s.padding))]
	if len(part) > 0 {
		to.data(s.frame, part)
	}
}
