// Package gate is what every call passes before a service sees it, whatever it came over: gRPC, or REST inside the process.
//
// It promises that a call is refused with a reason when the member stops, when its caller has its share of what callers
// share (limits.go), or when its message is damaged or too large; that a panic ends one call and not the member; that every
// error that leaves is a status with a reason; and that calls are counted. It never logs a value or a secret.
//
// It needs a codec of its own in the server that it guards (codec.go), and knows no service.
package gate
