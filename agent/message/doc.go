// Package message turns what an agent holds into messages of tenure.v1 and back. What the catalog shows of a definition
// has the names of an HTTP request's headers but neither their values nor the body: they may hold secrets.
package message
