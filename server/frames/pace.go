package frames

import "time"

// What lets a client send window updates at any rate. A library sends one when a good part of a window was used, which are
// kilobytes, or beside each message of its own, for the stream and for the connection.
const (
	bytesPerUpdate    = 512
	updatesPerMessage = 2
)

// updates bound how often a client opens its windows. Each time gRPC looks for what it may write now: a client that opens them by
// a byte, many thousand times a second, keeps a member busy with frames of a byte each.
//
// Updates that follow from what the server or the client sent are never early. Those beyond that have a rate.
type updates struct {
	pace

	bytes int // sent to the client, not yet counted in left
}

// sent counts bytes that the client has been sent.
func (u *updates) sent(bytes, burst int) {
	u.bytes += bytes
	u.earn(u.bytes/bytesPerUpdate, burst)
	u.bytes %= bytesPerUpdate
}

// pace bounds how often a client sends something that costs the server more than the client: as many as burst at once, and one
// more in each time of some length.
type pace struct {
	left  int       // that may come; below 0 are those that came early
	since time.Time // since when the rate has not been counted in left
}

// earn lets more come.
func (p *pace) earn(n, burst int) { p.left = min(p.left+n, burst) }

// rest returns how long the client is not to be read, so that no more than one comes within each such time.
func (p *pace) rest(every time.Duration, burst int) time.Duration {
	if p.left >= 0 {
		return 0
	}
	now := time.Now()
	if passed := now.Sub(p.since); passed/every >= time.Duration(burst) {
		p.since = now
		p.earn(burst, burst)
	} else {
		p.since = p.since.Add(passed.Truncate(every))
		p.earn(int(passed/every), burst)
	}
	if p.left >= 0 {
		return 0
	}
	return time.Duration(-p.left) * every
}
