package call

// stackBytes is about as deep as a read of the store goes.
const stackBytes = 8 << 10

// growStack makes the calling goroutine's stack large enough to read the store. A call may run on a new goroutine with a
// small stack, which would otherwise double several times deep inside the store, and each time copy all the frames above.
// Grown at once, before, there is less to copy. The result means nothing; it keeps the compiler from removing the room.
//
//go:noinline
func growStack(index byte) byte {
	var room [stackBytes]byte
	room[index]++
	return room[stackBytes-1-int(index)]
}
