package gone

// Redial is what became of a connection that ended, and of the attempt to make it again at once.
type Redial struct {
	// Cut says that the other end ended the connection without a word, as the kernel does for a process that has ended.
	Cut bool
	// Refused says that nothing listens at the address any more.
	Refused bool
	// Known is the start of the member that is known, Answered the one that answers at the address; 0 if none does.
	Known, Answered uint64
}

// Ended reports whether the process has ended. Silence is no reason, and neither is a connection that was closed in order.
func (r Redial) Ended() bool {
	return r.Cut && (r.Refused || r.Known > 0 && r.Answered > r.Known)
}
