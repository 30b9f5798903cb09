// Package line serves LineService: many calls, and their answers, on one stream.
//
// It promises that each call passes the gate by itself and is made by the same service as the RPC of the same name; that a number gets exactly one
// answer; that a call beyond the bounds of its line is refused and not started; and that a member that stops says up to which number calls were
// started, and answers those. What queues while a message is being sent is the next message: there is no timer.
//
// Waits and watches are calls with parts, each under a bound of its own, with its own cancel, deadline and rights. A watch sends as much as its credit
// allows, and its answer without any, so one that nobody reads holds up none of the others. The same message for many of them is sent once, with their
// numbers, but never before what one of them is still to be sent. At most 256 KiB of parts wait to be sent; a watch with more waits itself.
//
// A client that does not read its answers is no longer read itself, and holds up only its own line. What it leaves unread counts for its caller.
//
// It needs the gate and the services, and knows neither rules nor storage.
package line
