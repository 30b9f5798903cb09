// Package acting knows which sessions a command acts as, in whatever part of it they are named. Whoever lets a command pass
// asks for the secrets of these.
//
// A session that a command only names, as a guard or an operator's command does, is not among them. The package reads
// commands; it never changes one, and knows nothing of secrets.
package acting
