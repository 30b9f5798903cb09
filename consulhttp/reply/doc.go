// Package reply is what requests over Consul's HTTP get: answers and their headers, lists that are written while they are read, and failures with the
// statuses and texts that Consul's clients look for.
//
// It knows no request and no endpoint. An error of a service becomes a failure here and nowhere else.
package reply
