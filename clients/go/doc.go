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
// A [Session] is a claim to be alive, replicated in the cluster. While it lives, its process holds locks, leads elections
// and owns ephemeral keys. The library renews it, reconnects, moves it between members, and never opens a new one for
// you. When the cluster has ended a session, its locks, places and ephemeral keys are gone, and the program decides what
// to do.
//
// # What a holder can rely on
//
// [Held.Safe] is true only while no expiry can have given the lock to another client. It uses a clock that keeps running
// while the machine sleeps. A Held that has ended never becomes valid again, even if the session recovers. An operator's
// break, a destroy by another client or a failed check can take a lock earlier; lock-delay and fencing tokens protect
// against that. When you write to a resource while holding a lock, send [Held.Token] with the write, or guard the write:
// see [Guard].
//
// # Calls
//
// Calls under a session carry a request id: however often the library sends one, it is applied once, and always returns
// the same result. Changes without a session carry an idempotency key for the same purpose. Every call ends when its
// context does. If no member has answered by then, [Error.Applied] says what is known.
//
// Test errors with errors.Is and the sentinels of this package, or with errors.As and *[Error].
//
// # Goroutines
//
// All methods can be called by several goroutines concurrently. A [DoubleBarrier], however, is one member, which enters
// and then leaves. Close waits for everything that the library started.
package tenure
