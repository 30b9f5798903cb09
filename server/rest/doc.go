// Package rest serves HTTP: REST for the same services as gRPC, over a connection inside the process, and health, metrics
// and the API's description beside it.
//
// It looks at a whole request first: the path as it was sent, the query, the headers and the body are checked against the
// RPC, and what is unknown is refused, never ignored. An error of REST has the reasons of package reason, as JSON, on every
// path. A stop ends streams with a last line that says why.
//
// It needs a connection to the services, and never calls them past the gate.
package rest
