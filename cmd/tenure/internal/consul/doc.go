// Package consul is tenure consul: it reads keys and nodes of Consul, and writes them to Tenure.
package consul
