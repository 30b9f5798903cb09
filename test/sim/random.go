package sim

import (
	"crypto/rand"
	"io"
	"sync"
)

// raftDice stands in for crypto/rand.Reader, from which raft draws its election time-outs: there is no other way to
// choose them. It belongs to the process, as the variable that it replaces does; a world holds it while raft may draw,
// and then the numbers are that world's.
var raftDice = &sharedDice{}

type sharedDice struct {
	once   sync.Once
	turn   sync.Mutex // held by the world whose raft may draw
	source io.Reader  // of that world; guarded by turn
	system io.Reader  // what was there before
}

// Read gives the numbers of the world that draws. Everybody else in the process draws as ever.
func (d *sharedDice) Read(p []byte) (int, error) {
	if d.source != nil {
		return d.source.Read(p)
	}
	return d.system.Read(p)
}

func (d *sharedDice) install() {
	d.once.Do(func() {
		d.system = rand.Reader
		rand.Reader = d
	})
}

// draw runs what raft may draw in.
func (w *World) draw(do func()) {
	raftDice.turn.Lock()
	defer raftDice.turn.Unlock()
	raftDice.source = w.raftDice
	defer func() { raftDice.source = nil }()
	do()
}
