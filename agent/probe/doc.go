// Package probe looks once at what a check is about: it asks a URL, opens a connection, asks a gRPC health service, or
// runs a program. A probe never fails: whatever happens is a result. It ends when its context does, and with it all it
// started, the children of a program included. At most ProgramsMax programs run at the same time.
package probe
