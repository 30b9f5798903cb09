// Package seed runs the leader election procedure that Tenure's users know from Consul's guide, step by step, against a
// real member with the programs people have at hand: curl, grpcurl and tenure.
//
// The procedure: create a session, acquire the lock on a key with a value that says who leads; a candidate that is refused
// is told who holds, watches the key and its lock, and tries again when something happens.
//
// With the same programs it binds sessions to nodes and checks, and shows which of them end, with their locks, keys and prepared
// queries.
package seed
