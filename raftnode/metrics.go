package raftnode

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tenure-io/tenure/raftnode/membership"
)

// metrics are the member's. Gauges that others already know are read when they are collected.
type metrics struct {
	entries      prometheus.Counter
	batchEntries prometheus.Histogram
	batchBytes   prometheus.Histogram
	syncs        prometheus.Histogram
	applies      prometheus.Histogram
	applyEntries prometheus.Histogram
	reads        prometheus.Counter
	dropped      prometheus.Counter
	leaderships  prometheus.Counter
	leadersGone  prometheus.Counter
	episodes     prometheus.Counter
	checkpoints  prometheus.Counter
	truncations  prometheus.Counter
	confChanges  prometheus.Counter
	termJumps    prometheus.Counter
	// startsRefused counts callers that named a start of a member which that one does not confirm.
	startsRefused prometheus.Counter

	comparisons, checksumsDiffer prometheus.Counter

	snapshotsSent, snapshotsFailed, snapshotsReceived, snapshotsInstalled prometheus.Counter
	snapshotBytesSent, snapshotBytesReceived, snapshotBytesReused         prometheus.Counter
	snapshotSeconds                                                       prometheus.Histogram

	collectors []prometheus.Collector
}

func newMetrics() *metrics {
	m := &metrics{}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		m.collectors = append(m.collectors, c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		m.collectors = append(m.collectors, h)
		return h
	}
	seconds := prometheus.ExponentialBuckets(25e-6, 2, 18) // 25 µs to 3.3 s
	counts := prometheus.ExponentialBuckets(1, 2, 13)      // 1 to 4 096
	bytes := prometheus.ExponentialBuckets(64, 4, 9)       // 64 B to 4 MiB

	m.entries = counter("tenure_log_entries_appended_total", "Entries written to the raft log.")
	m.batchEntries = histogram("tenure_log_append_batch_entries", "Entries in one write of the raft log.", counts)
	m.batchBytes = histogram("tenure_log_append_batch_bytes", "Payload bytes in one write of the raft log.", bytes)
	m.syncs = histogram("tenure_log_sync_seconds", "Time of one synced write of the raft log.", seconds)
	m.truncations = counter("tenure_log_truncations_total", "How often the front of the raft log was cut.")
	m.applies = histogram("tenure_raft_apply_seconds", "Time to apply one batch of entries.", seconds)
	m.applyEntries = histogram("tenure_raft_apply_batch_entries", "Entries in one batch that was applied.", counts)
	m.reads = counter("tenure_raft_reads_total", "Reads that asked for proof.")
	m.dropped = counter("tenure_raft_proposals_dropped_total", "Log entries proposed but not taken into the log.")
	m.termJumps = counter("tenure_raft_term_jumps_refused_total",
		"Messages that were refused because their term is further ahead than any cluster gets.")
	m.startsRefused = counter("tenure_raft_starts_refused_total",
		"Callers that were refused because they named a start of a member that the member does not confirm.")
	m.leaderships = counter("tenure_raft_leader_changes_total", "Changes of leader or term that this member saw.")
	m.leadersGone = counter("tenure_raft_leaders_gone_total",
		"How often this member found that the leader's process had ended.")
	m.episodes = counter("tenure_raft_early_elections_total",
		"How often this member asked for votes because the leader's process had ended, without waiting for the election timeout.")
	m.checkpoints = counter("tenure_raft_checkpoints_total", "Checkpoints made.")
	m.comparisons = counter("tenure_health_comparisons_total", "Members that answered when their states were compared.")
	m.checksumsDiffer = counter("tenure_health_checksums_differ_total",
		"Comparisons in which members had different states.")
	m.confChanges = counter("tenure_raft_conf_changes_total", "Changes of members that were applied.")
	m.snapshotsSent = counter("tenure_snapshot_sent_total", "Snapshots that a member took whole.")
	m.snapshotsFailed = counter("tenure_snapshot_send_failures_total", "Attempts to send a snapshot that failed.")
	m.snapshotsReceived = counter("tenure_snapshot_received_total", "Snapshots received whole.")
	m.snapshotsInstalled = counter("tenure_snapshot_installed_total", "Snapshots that took the state machine's place.")
	m.snapshotBytesSent = counter("tenure_snapshot_sent_bytes_total", "Bytes of snapshots sent.")
	m.snapshotBytesReceived = counter("tenure_snapshot_received_bytes_total", "Bytes of snapshots received.")
	m.snapshotBytesReused = counter("tenure_snapshot_reused_bytes_total",
		"Bytes of snapshots that were not sent because the receiver had them from other snapshots or in its own state.")
	m.snapshotSeconds = histogram("tenure_snapshot_send_seconds", "Time of sending one snapshot.",
		prometheus.ExponentialBuckets(10e-3, 2, 18)) // 10 ms to 22 min
	return m
}

// gauges adds what is read from the node when somebody collects.
func (m *metrics) gauges(n *Node) {
	gauge := func(name, help string, value func() float64) {
		m.collectors = append(m.collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	storeGauges(gauge, n)
	m.stalls(n)
	gauge("tenure_raft_term", "Raft's term.", func() float64 { return float64(n.view.Lead().Term) })
	gauge("tenure_raft_is_leader", "1 while this member leads.", func() float64 {
		if l := n.view.Lead(); l.Leader != 0 && l.Leader == n.identity.MemberID {
			return 1
		}
		return 0
	})
	gauge("tenure_raft_has_leader", "1 while a leader is known.", func() float64 {
		if n.view.Lead().Leader != 0 {
			return 1
		}
		return 0
	})
	gauge("tenure_raft_commit_index", "Highest index known to be committed.",
		func() float64 { return float64(n.view.Commit()) })
	gauge("tenure_raft_applied_index", "Last applied index.",
		func() float64 { return float64(n.Store().Applied().Index) })
	gauge("tenure_raft_proposals_pending", "Commands that were proposed and have no result yet.",
		func() float64 { return float64(n.proposals.Pending()) })
	gauge("tenure_log_size_bytes", "Bytes of entries in the raft log.",
		func() float64 { return float64(n.rlog.SizeBytes()) })
	gauge("tenure_log_first_index", "First index in the raft log.", func() float64 {
		first, _ := n.rlog.FirstIndex() // from memory, without error
		return float64(first)
	})
	flag := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	gauge("tenure_health_disk_free_bytes", "Bytes that are free on the disk of the data directory.",
		func() float64 { return float64(n.health.Free()) })
	gauge("tenure_health_disk_low", "1 while this member's disk has too little room.",
		func() float64 { return flag(n.health.Low()) })
	gauge("tenure_health_disk_hangs", "1 while a write of this member's log, or of its state, does not come to an end.",
		func() float64 { return flag(n.health.Hangs()) })
	gauge("tenure_health_growth_refused", "1 while this member would refuse growth, for its own disk or that of another.",
		func() float64 { return flag(n.health.GrowthRefused()) })
	gauge("tenure_health_no_agreement", "1 while no quorum of members has the same state, so that nothing is written.",
		func() float64 { return flag(n.health.NoAgreement()) })
	gauge("tenure_raft_voters", "Members that vote.", func() float64 { return float64(len(n.Status().Voters)) })
	gauge("tenure_raft_learners", "Members that do not vote.", func() float64 { return float64(len(n.Status().Learners)) })
	away := func(counts func(membership.Peer) bool) func() float64 {
		return func() float64 {
			gone := 0
			for _, p := range n.peers.List() {
				if !p.Reachable && counts(p) {
					gone++
				}
			}
			return float64(gone)
		}
	}
	gauge("tenure_raft_members_unreachable", "On the leader, members that it has not heard of for an election time-out.",
		away(func(membership.Peer) bool { return true }))
	gauge("tenure_raft_voters_unreachable", "On the leader, those of them that vote.", away(func(p membership.Peer) bool { return !p.Learner }))
	gauge("tenure_raft_members_lag_entries", "On the leader, entries that the member furthest behind lacks.",
		func() float64 {
			lag, commit := uint64(0), n.view.Commit()
			for _, p := range n.peers.List() {
				lag = max(lag, commit-min(p.Match, commit))
			}
			return float64(lag)
		})
	gauge("tenure_snapshot_sending", "Snapshots being sent.", func() float64 { return float64(n.couriers.Sending()) })
	gauge("tenure_snapshot_missing_bytes", "Bytes that are still to come of the snapshot that is being received.",
		func() float64 { return float64(n.inbox.MissingBytes()) })
	gauge("tenure_raft_checkpoint_index", "Index of the newest checkpoint.", func() float64 {
		if c := n.snaps.Newest(); c != nil {
			return float64(c.Index)
		}
		return 0
	})
}

// register makes the metrics visible, and returns what hides them again.
func (m *metrics) register(r prometheus.Registerer) (func(), error) {
	if r == nil {
		return func() {}, nil
	}
	done := 0
	hide := func() {
		for _, c := range m.collectors[:done] {
			r.Unregister(c)
		}
	}
	for _, c := range m.collectors {
		if err := r.Register(c); err != nil {
			hide()
			return nil, err
		}
		done++
	}
	return hide, nil
}
