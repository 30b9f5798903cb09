// Package cluster is the commands that run the cluster itself: status, members, limits, compaction, backups, health. They reach exactly the
// members that --endpoints names.
package cluster
