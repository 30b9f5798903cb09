// Package auth keeps what decides who may do what: the first token, the mode, tokens, policies, bindings and providers. It writes and
// reads them, and counts what takes rights away; what a rule means it does not know.
//
// A token is kept as the hash of its text. Nothing here compares an instant with a clock.
package auth
