// Package call has what all services share: a Caller, which reads, proposes and acts as a session for a call, the limits of
// requests and their checks, the conversion between the API's messages and the state's, and page tokens.
//
// It promises that what passes its checks is within the limits that docs/operations.md names, that whatever it refuses is
// refused with a reason and the name of the field, that a read is linearizable unless it asks not to be, and that nobody
// acts as a session with a secret who does not show it. A snapshot is closed by whoever got it.
//
// An Undoer proposes what must not outlive its call: what comes of it after its caller has gone is undone.
//
// It needs the way to the leader, and knows no service.
package call
