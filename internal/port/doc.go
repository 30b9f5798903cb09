// Package port keeps addresses for test programs that are started, ended, and started again where they were.
//
// Whoever listens on port 0 is given a port that nobody else has; once he is gone the kernel may give it to anybody, and to whoever merely
// connects somewhere. A Kept address is given to nobody until it is closed, though nobody need listen there: who connects meanwhile is refused.
package port
