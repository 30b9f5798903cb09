// Package hostile attacks real members as one hostile caller would, and looks at what others feel of it.
//
// An attack runs in a process of its own and calls from 127.0.0.2. A quiet client calls from 127.0.0.3 meanwhile: what it
// puts, reads, locks and renews must go on. Afterwards the member still runs, in the same process; nothing that was sent
// ended as a fault of the member (INTERNAL, UNKNOWN, a panic); and its memory stayed within what docs/operations.md allows
// for what the attack pins. Each attack is one file and one line of the table in attacks_test.go, and says itself what must
// hold beyond that.
//
// Some entries of the list have no caller, and are tested elsewhere: S6, flipped bytes of the log, in raftnode; S11 by
// TestAForeignDirectoryIsLeftAlone here; S13, addresses of members, with S2; and what S19 names of single odd requests in server,
// by TestBadRequestsAreRefused and TestBadInputIsRefusedWithItsReason.
//
// In the short form an attack sends little. In the long form (TENURE_SOAK=1) it sends all that it can on half a core at the lowest
// priority, against one member and three, and the quiet client's puts are compared with those beside well-behaved calls.
package hostile
