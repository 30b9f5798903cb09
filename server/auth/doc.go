// Package auth serves AuthService: the first token, the mode, tokens, policies, bindings and providers of JSON Web Tokens. Whether a caller may call it is decided
// before; here is what the calls do.
//
// The text of a token is drawn here, leaves in one answer, and is kept nowhere: the state has its hash.
package auth
