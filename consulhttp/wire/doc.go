// Package wire has the catalog as Consul's HTTP API writes it: nodes, services and checks as JSON, to and from the messages of
// tenure.v1.
//
// It promises names, types and null values as clients of Consul expect them, and that the check liveness is called serfHealth.
// What Consul knows and Tenure does not is left out. It calls nothing and keeps nothing.
package wire
