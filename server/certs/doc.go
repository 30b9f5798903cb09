// Package certs turns files into TLS: it is the only place where a configuration of TLS is made, for what listens and for
// what dials.
//
// It promises:
//
//   - TLS 1.3 or newer, without session tickets. Nothing skips the verification of the other side.
//   - A pair or CA that replaces an earlier one is used for the handshakes that begin after it was read. One that does not
//     parse, does not fit or has ended is not taken: the earlier one stays, and Problems says so.
//   - Handshakes have an end, and those under way are bounded and shared between callers. One that is silent holds up nobody.
//   - No text of a private key is in an error, a log line or a metric.
//
// It needs files that their owner keeps in place. It knows no service, no caller's rights and no raft.
package certs
