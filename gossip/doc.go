// Package gossip is the pool: members of a cluster and agents that watch each other by rumour (SWIM, by
// hashicorp/memberlist), so that each of them notices within seconds that another one is gone.
//
// A Pool promises what one process has seen, and nothing more: a node that it calls failed may be well, and only the
// network between them broken. Whoever acts on it asks others first; Judge is the answer that this process gives to them,
// and it says "failed" only for what it has seen itself in this run. A run begins with the process, and again after the
// process stood still for a second: until it has heard of a node again, it then vouches for nothing.
//
// Pools of different clusters never mix, because each message carries the cluster's id. With keys, every message is
// encrypted, and one that is not is dropped.
//
// The package is a leaf: it knows neither the catalog nor the cluster.
package gossip
