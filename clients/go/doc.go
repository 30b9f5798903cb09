// Package tenure is the Go client of Tenure, a coordination service.
//
//	client, err := tenure.Open("tenure://localhost:7400/shop")
//	session, err := client.OpenSession(ctx)
//	held, err := session.Lock("jobs/nightly").Acquire(ctx)
//	ctx, cancel := held.Context(ctx) // Ends when the lock may be lost.
//	...
//	err = held.Release(ctx)
//
// # Sessions
//
// A [Session] is a claim to be alive, replicated in the cluster. While it lives, its process holds locks, leads
// elections and owns ephemeral keys. The library renews it, reconnects, moves it between members, and never makes a new one
// behind your back: when the cluster has ended a session, what hung on it is gone, and it is for the program to say what now.
//
// # What a holder may believe
//
// [Held.Safe] is true only while no expiry can have given the lock to another, by a clock that runs also while the machine
// sleeps. A Held that ended stays ended, also when the session recovers. A break by an operator, a destroy by
// another or a failed check can take a lock earlier: there lock-delay and fencing tokens protect. Whoever writes to a
// resource while holding a lock passes [Held.Token] along, or guards the write: see [Guard].
//
// # Calls
//
// Calls under a session carry a request id: however often the library sends one, it is applied once, and returns its one
// true result. Changes without a session carry a key to the same end. Every call ends when its context does; without an answer until then
// the error's [Error.Applied] says what is known.
//
// Errors are tested with errors.Is against the sentinels of this package, or with errors.As as *[Error].
//
// # Goroutines
//
// All methods may be called by many goroutines at once; a [DoubleBarrier] is one member, who enters and then leaves. Close waits for everything that the library started.
package tenure
