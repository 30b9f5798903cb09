// Package secure says how a client's connections are secured, and by what token its calls are known.
//
// Files is TLS from files: they are read for each new connection, so a program need not be restarted when they change. Nothing here skips
// verification, and TLS is 1.3 at least. A Token is read again when it is old, or when a member refuses it.
package secure
