// Package thirdparty runs libraries and programs that others made for Consul against members that serve Consul's HTTP.
//
// Contenders are loops that take a lock, a place in a semaphore, or an office, again and again, each with the means of its library. A witness
// outside of Tenure, a folder, sees whether more of them believe to be in than may be. Leaders are killed meanwhile, and every loop has to go on.
//
// Patroni elects the primary of a PostgreSQL database: who takes writes is seen by a program that writes to all databases. consul-template renders what
// changes. OpenTofu keeps states, and locks them. Applications with Spring Cloud Consul get their configuration, and find each other.
//
// It is a module of its own, so that nothing else depends on what Consul's library needs. That library runs in `make test`; the programs of
// other languages run in `make thirdparty`, which fetches them. Each that could not be fetched is skipped by name.
package thirdparty
