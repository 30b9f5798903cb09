// Package ask is what every request over Consul's HTTP may say: its path, its parameters, its body, how fresh a read must be.
//
// It decides what is refused whatever the endpoint is: other datacenters, namespaces, filters, bodies that are too large.
package ask
