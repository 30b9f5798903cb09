// Package hosts chooses the member to connect to: a list in random order walked round robin, which follows the cluster.
// When members are added or removed, clients move so that each member keeps an even share, and no more of them than needed:
// ZooKeeper's rule (ZOOKEEPER-1355). With S members before, S' after and M in both, a client connected to c
//
//   - moves with probability 1 − S/S' to a new member, if S' > S and c stays,
//   - stays, if S' ≤ S and c stays,
//   - moves, if c is gone: if S' < S to an old member with probability M·(S−S') / (S'·(S−M)), else to a new one.
//
// A List is for one goroutine. It knows no clock and no network.
package hosts
