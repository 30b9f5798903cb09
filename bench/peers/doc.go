// Command peers measures Tenure beside etcd and ZooKeeper: the same generator, the same machine, in one run.
//
// Each system runs as processes of its own with its defaults, synced writes included, and only one system runs at a time. A round starts
// every system once and measures all its cells, so that a machine that becomes slower does so for all. CPU per operation is read from
// /proc, and so is what others took of the machine meanwhile: a cell in which they took too much is measured again.
package main
