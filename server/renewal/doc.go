// Package renewal renews sessions: those of this member's clients, over streams and single calls and wherever the leader is, and
// those of other members' clients where the leader is here.
//
// It promises that no renewal is acknowledged without a proof of leadership that began after it came, that a session whose
// end is under way is renewed only if that end did not happen, that a session with a secret is renewed only by who showed
// it, and that what it keeps of a stream is bounded, however fast its client sends and however slowly it reads. Renewals
// write nothing.
//
// Streams hear early what happens to the locks of their sessions (hints.go); hints are best effort.
package renewal
