// Package share divides what a member or an agent has between those who call it: connections, calls, waits, bytes.
//
// A caller is an address: an IPv4 address, or the first 64 bits of an IPv6 one. A caller may take as long as it has no more
// than is free. So one caller alone gets half of a pool, two get a third each, and there is always something left for one
// more; nobody is held to a share while nobody else asks. Callers that stand for many, such as load balancers, can be exempt:
// they get whatever is free.
//
// The package keeps counts, and knows nothing of what is counted. Nobody waits in it, but for Turns.
package share
