package frames

import "time"

// What lets a client send window updates at any rate. A library sends one when a good part of a window was used, which are
// kilobytes, or beside each message of its own, for the stream and for the connection.
const (
	bytesPerUpdate    = 512
	updatesPerMessage = 2
)

// pace bounds how often a client opens its windows. Each time gRPC looks for what it may write now: a client that opens them by
// a byte, many thousand times a second, keeps a member busy with frames of a byte each.
//
// Updates that follow from what the server or the client sent are never early. Those beyond that have a rate.
type pace struct {
	left  int       // updates that may come; below 0 are those that came early
	bytes int       // sent to the client, not yet counted in left
	since time.Time // since when the rate has not been counted in left
}

// sent counts bytes that the client has been sent.
func (p *pace) sent(bytes, burst int) {
	p.bytes += bytes
	p.earn(p.bytes/bytesPerUpdate, burst)
	p.bytes %= bytesPerUpdate
}

// earn lets more updates come.
func (p *pace) earn(updates, burst int) { p.left = min(p.left+updates, burst) }

// rest returns how long the client is not to be read, so that no more than one update comes within each such time.
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
