package call

// Paced is a stream that may say when it can send. Only one whose Paced reports true does.
type Paced interface {
	Paced() bool
	// Ready reports whether a message could be sent without waiting, and Await waits for that until the stream ends.
	Ready() bool
	Await() error
	// Offer sends a message that many streams share, if that does not wait, once Flush is called. It reports whether it does. It is not called
	// together with SendMsg.
	Offer(m any) bool
	Flush()
}
