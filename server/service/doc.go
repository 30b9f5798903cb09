// Package service has the services that clients call, one type each: KV, Locks, Sessions, Elections, Watches. Peer does for other
// members what only the leader can do.
//
// A method validates, asks the session's secret where it acts as one, proposes a command or reads a snapshot, and converts the
// outcome. It promises that every answer carries the revision it shows, that what this version does not serve is refused and
// never ignored, and that its errors have a reason. A wait or a watch ends with its call or with the server, and gives its
// place up when nobody waits any more.
//
// All embed a call.Caller; what one needs of another is a field that says so. Peer relays nothing again.
package service
