package queries_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// Each alert fires on series that show its trouble, and not on some that come close.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	tests := map[string]struct {
		alert  string
		series []string
		fires  bool
	}{
		"a member without leader": {"TenureNoLeader", []string{
			`tenure_raft_has_leader{instance="a"} 1x10 0x5`, `tenure_raft_has_leader{instance="b"} 1x15`,
		}, true},
		"no member that answers": {"TenureNoLeader", []string{`up 0x10`}, true},
		"an election of a few seconds": {"TenureNoLeader", []string{
			`tenure_raft_has_leader{instance="a"} 1x10 0x0 1x5`, `tenure_raft_has_leader{instance="b"} 1x15`,
		}, false},

		"one of three away": {"TenureQuorumAtRisk", []string{`tenure_raft_voters 3x30`, `tenure_raft_voters_unreachable 1x30`}, true},
		"two of five away":  {"TenureQuorumAtRisk", []string{`tenure_raft_voters 5x30`, `tenure_raft_voters_unreachable 2x30`}, true},
		"one of five away":  {"TenureQuorumAtRisk", []string{`tenure_raft_voters 5x30`, `tenure_raft_voters_unreachable 1x30`}, false},
		"a cluster of one":  {"TenureQuorumAtRisk", []string{`tenure_raft_voters 1x30`, `tenure_raft_voters_unreachable 0x30`}, false},
		"away for a minute": {"TenureQuorumAtRisk", []string{`tenure_raft_voters 3x30`, `tenure_raft_voters_unreachable 0x26 1x3`}, false},
		"a peer not reached": {"TenureMemberUnreachable", []string{
			`tenure_peer_connected{instance="a",peer="b"} 1x10 0x10`, `tenure_peer_connected{instance="a",peer="c"} 1x20`,
		}, true},
		"a peer that restarts": {"TenureMemberUnreachable", []string{`tenure_peer_connected{instance="a",peer="b"} 1x10 0x4 1x6`}, false},

		"a member far behind":           {"TenureMemberBehind", []string{`tenure_raft_members_lag_entries 20000x25`}, true},
		"a member that catches up":      {"TenureMemberBehind", []string{`tenure_raft_members_lag_entries 20000x15 100x10`}, false},
		"leaders that change each half": {"TenureLeaderChanges", []string{`tenure_raft_leader_changes_total{instance="a"} 0+1x60`}, true},
		"two changes in a quarter":      {"TenureLeaderChanges", []string{`tenure_raft_leader_changes_total{instance="a"} 1x30 2x15 3x15`}, false},

		"every hundredth sync takes a second": {"TenureSlowDisk", syncs(`0+97x80`, `0+100x80`), true},
		"every sync takes a millisecond":      {"TenureSlowDisk", syncs(`0+100x80`, `0+100x80`), false},

		"the disk of one of two hangs": {"TenureDiskHangs", []string{`tenure_health_disk_hangs{instance="a"} 0x5`, `tenure_health_disk_hangs{instance="b"} 0x4 1`}, true},
		"a disk that hung works again": {"TenureDiskHangs", []string{`tenure_health_disk_hangs{instance="a"} 1x4 0`}, false},

		"a sync that does not end":    {"TenureSlowWrites", []string{`tenure_health_oldest_write_seconds{instance="a"} 0x4 12`, `tenure_health_slow_writes_total{instance="a"} 0x5`}, true},
		"a sync that took long":       {"TenureSlowWrites", []string{`tenure_health_oldest_write_seconds{instance="a"} 0x30`, `tenure_health_slow_writes_total{instance="a"} 0x20 1x10`}, true},
		"no sync takes long":          {"TenureSlowWrites", []string{`tenure_health_oldest_write_seconds{instance="a"} 1x30`, `tenure_health_slow_writes_total{instance="a"} 2x30`}, false},
		"writes are held back":        {"TenureWriteStall", []string{`tenure_storage_write_stall_seconds_total{instance="a"} 0x20 12x10`}, true},
		"writes were held back a day": {"TenureWriteStall", []string{`tenure_storage_write_stall_seconds_total{instance="a"} 90x30`}, false},

		"growth is refused":           {"TenureDiskFull", []string{`tenure_health_growth_refused{instance="a"} 1`, `tenure_health_growth_refused{instance="b"} 1`}, true},
		"room on all disks":           {"TenureDiskFull", []string{`tenure_health_growth_refused{instance="a"} 0`}, false},
		"nine tenths of the limit":    {"TenureStoreNearlyFull", []string{`tenure_storage_state_bytes 90x45`, `tenure_storage_state_bytes_max 100x45`}, true},
		"half of the limit":           {"TenureStoreNearlyFull", []string{`tenure_storage_state_bytes 50x45`, `tenure_storage_state_bytes_max 100x45`}, false},
		"the limit is reached":        {"TenureStoreFull", []string{`tenure_storage_full{instance="a"} 0`, `tenure_storage_full{instance="b"} 1`}, true},
		"the limit is not reached":    {"TenureStoreFull", []string{`tenure_storage_full{instance="a"} 0`}, false},
		"a member differed":           {"TenureChecksumMismatch", []string{`tenure_health_no_agreement 0x30`, `tenure_health_checksums_differ_total 0x20 1x10`}, true},
		"no quorum agrees":            {"TenureChecksumMismatch", []string{`tenure_health_no_agreement 1x2`, `tenure_health_checksums_differ_total 0x2`}, true},
		"one differed an hour ago":    {"TenureChecksumMismatch", []string{`tenure_health_no_agreement 0x90`, `tenure_health_checksums_differ_total 0x20 1x70`}, false},
		"a term was refused":          {"TenureTermJump", []string{`tenure_raft_term_jumps_refused_total{instance="a"} 0x20 1x10`}, true},
		"no term was refused":         {"TenureTermJump", []string{`tenure_raft_term_jumps_refused_total{instance="a"} 1x30`}, false},
		"a start was refused":         {"TenureStartRefused", []string{`tenure_raft_starts_refused_total{instance="a"} 0x20 1x10`}, true},
		"no start was refused":        {"TenureStartRefused", []string{`tenure_raft_starts_refused_total{instance="a"} 1x30`}, false},
		"a certificate ends soon":     {"TenureCertificateExpires", []string{`tenure_certs_expiring{instance="a",purpose="clients"} 1x250`}, true},
		"it was replaced in time":     {"TenureCertificateExpires", []string{`tenure_certs_expiring{instance="a",purpose="clients"} 1x230 0x20`}, false},
		"a key that does not fit":     {"TenureCertificateNotLoaded", []string{`tenure_certs_not_loaded{instance="a",purpose="clients"} 1x30`}, true},
		"a pair in two steps":         {"TenureCertificateNotLoaded", []string{`tenure_certs_not_loaded{instance="a",purpose="clients"} 0x20 1x2 0x10`}, false},
		"cleartext for half a day":    {"TenureCleartextAccepted", []string{`tenure_certs_cleartext_accepted{instance="a",listener="grpc"} 1x500`}, true},
		"cleartext for half an hour":  {"TenureCleartextAccepted", []string{`tenure_certs_cleartext_accepted{instance="a",listener="grpc"} 0x470 1x30`}, false},
		"tokens come in clear":        {"TenureListenerWithoutTLS", []string{`tenure_certs_listener_without_tls{instance="a"} 0x10 1x10`, `tenure_certs_listener_without_tls{instance="b"} 0x20`}, true},
		"none does any more":          {"TenureListenerWithoutTLS", []string{`tenure_certs_listener_without_tls{instance="a"} 1x10 0x10`}, false},
		"a token ends soon":           {"TenureTokenExpires", []string{`tenure_auth_tokens_expiring{instance="a"} 1x250`, `tenure_auth_tokens_expiring{instance="b"} 0x250`}, true},
		"it was replaced soon":        {"TenureTokenExpires", []string{`tenure_auth_tokens_expiring{instance="a"} 1x230 0x20`}, false},
		"administrators end in days":  {"TenureLastAdminExpires", []string{`tenure_auth_last_admin_end_seconds{instance="a"} 1800600000`}, true},
		"they end in three months":    {"TenureLastAdminExpires", []string{`tenure_auth_last_admin_end_seconds{instance="a"} 1807776000`}, false},
		"they never end":              {"TenureLastAdminExpires", []string{`tenure_auth_last_admin_end_seconds{instance="a"} 0`}, false},
		"keys cannot be fetched":      {"TenureKeysStale", []string{`tenure_provider_keys_stale{instance="a"} 1x80`, `tenure_provider_keys_stale{instance="b"} 0x80`}, true},
		"their server was restarted":  {"TenureKeysStale", []string{`tenure_provider_keys_stale{instance="a"} 0x60 1x10 0x10`}, false},
		"a line is lost":              {"TenureAuditDropped", []string{`tenure_audit_dropped_total{instance="a"} 0x20 1x10`, `tenure_audit_failing{instance="a"} 0x30`}, true},
		"a full disk":                 {"TenureAuditDropped", []string{`tenure_audit_dropped_total{instance="a"} 0x10`, `tenure_audit_failing{instance="a"} 0x9 1`}, true},
		"lines were lost an hour ago": {"TenureAuditDropped", []string{`tenure_audit_dropped_total{instance="a"} 0x20 9x240`, `tenure_audit_failing{instance="a"} 0x260`}, false},
		"many denials a second":       {"TenureAccessDenied", []string{`tenure_access_denied_total{instance="a"} 0+120x30`, `tenure_access_denied_total{instance="b"} 0x30`}, true},
		"a few denials a minute":      {"TenureAccessDenied", []string{`tenure_access_denied_total{instance="a"} 0+1x30`}, false},
		"half of 1 000 expire":        {"TenureMassExpiry", []string{`tenure_sessions_live 1000x5 500x5`, `tenure_sessions_expired_total 0x5 500x5`}, true},
		"ten of 1 000 expire":         {"TenureMassExpiry", []string{`tenure_sessions_live 1000x10`, `tenure_sessions_expired_total 0x5 10x5`}, false},
		"a leader stood still":        {"TenureStalls", []string{`tenure_sessions_stall_seconds_total{instance="a"} 0x20 10x10`}, true},
		"a leader never stood still":  {"TenureStalls", []string{`tenure_sessions_stall_seconds_total{instance="a"} 3x30`}, false},

		"an agent whose syncs fail": {"TenureAgentCutOff", synced(`0x60`, `0+1x60`), true},
		"an agent that was stopped": {"TenureAgentCutOff", synced(`0+1x30 30x30`, `0x60`), false},
		"a sync now and then fails": {"TenureAgentCutOff", synced(`0+1x60`, `0+1x60`), false},
		"a leader changed":          {"TenureAgentCutOff", synced(`0+1x20 20x8 20+1x32`, `0x20 0+1x8 8x32`), false},
		"entries that are refused":  {"TenureAgentOutOfSync", []string{`tenure_agent_out_of_sync{instance="a"} 2x50`, `tenure_agent_out_of_sync{instance="b"} 0x50`}, true},
		"entries that are written":  {"TenureAgentOutOfSync", []string{`tenure_agent_out_of_sync{instance="a"} 2x20 0x5 2x25`}, false},
		"each check flips each minute": {"TenureChecksFlap", []string{
			`tenure_catalog_check_changes_total{instance="a"} 0+25x100`, `tenure_catalog_checks{instance="a"} 100x100`,
		}, true},
		"one of 100 checks flips": {"TenureChecksFlap", []string{
			`tenure_catalog_check_changes_total{instance="a"} 0+1x100`, `tenure_catalog_checks{instance="a"} 100x100`,
		}, false},
		"all are registered at once": {"TenureChecksFlap", []string{
			`tenure_catalog_check_changes_total{instance="a"} 0x40 1000x60`, `tenure_catalog_checks{instance="a"} 0x40 500x60`,
		}, false},
		"a fifth is not in gossip": {"TenurePoolSmallerThanCatalog", []string{
			`tenure_pool_nodes{instance="a",state="alive"} 8x80`, `tenure_catalog_nodes{instance="a"} 10x80`,
		}, true},
		"all but one are in gossip": {"TenurePoolSmallerThanCatalog", []string{
			`tenure_pool_nodes{instance="a",state="alive"} 9x80`, `tenure_catalog_nodes{instance="a"} 10x80`,
		}, false},
		"gossip is off": {"TenurePoolSmallerThanCatalog", []string{
			`tenure_pool_nodes{instance="a",state="alive"} 0x80`, `tenure_catalog_nodes{instance="a"} 10x80`,
		}, false},
		"a member sees itself only":     {"TenurePoolUnseen", []string{`tenure_pool_nodes{instance="a",state="alive"} 5x30`, `tenure_pool_nodes{instance="b",state="alive"} 1x30`}, true},
		"members hear of one by one":    {"TenurePoolUnseen", []string{`tenure_pool_nodes{instance="a",state="alive"} 5x30`, `tenure_pool_nodes{instance="b",state="alive"} 4x10 5x20`}, false},
		"ends do not come to their end": {"TenureEndList", []string{`tenure_catalog_end_list{instance="a"} 1x30`}, true},
		"ends take a minute":            {"TenureEndList", []string{`tenure_catalog_end_list{instance="a"} 0x20 1x4 0x6`}, false},

		"a tenth of the calls fails":      {"TenureErrors", calls(`0+90x50`, `Unavailable`, `0+10x50`), true},
		"all calls fail":                  {"TenureErrors", calls(`0x50`, `Internal`, `0+10x50`), true},
		"no call ever ended well":         {"TenureErrors", []string{`tenure_server_requests_total{code="Unavailable"} 0+10x50`}, true},
		"a tenth of the calls is refused": {"TenureErrors", calls(`0+90x50`, `FailedPrecondition`, `0+10x50`), false},
		"nobody calls":                    {"TenureErrors", calls(`5x50`, `Unavailable`, `1x50`), false},
	}
	rules, e := alerts(t), newEngine(t)
	seen := map[string]map[bool]bool{}
	for name, tc := range tests {
		if seen[tc.alert] == nil {
			seen[tc.alert] = map[bool]bool{}
		}
		seen[tc.alert][tc.fires] = true
		t.Run(name, func(t *testing.T) {
			rule, exists := rules[tc.alert]
			if !exists {
				t.Fatalf("there is no alert %s", tc.alert)
			}
			r := newRecorded()
			r.load(t, tc.series)
			if got := r.firing(t.Context(), t, e, rule); got != tc.fires {
				t.Errorf("%s fires: %v, want %v", tc.alert, got, tc.fires)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if !seen[name][true] || !seen[name][false] {
			t.Errorf("alert %s has no case in which it fires, or none in which it does not", name)
		}
	}
}

// syncs are syncs of the log of which so many took at most a millisecond, and the others at most a second.
func syncs(fast, all string) []string {
	return []string{
		`tenure_log_sync_seconds_bucket{instance="a",le="0.001"} ` + fast,
		`tenure_log_sync_seconds_bucket{instance="a",le="1"} ` + all,
		`tenure_log_sync_seconds_bucket{instance="a",le="+Inf"} ` + all,
	}
}

// synced are rounds of an agent, of which so many ended well and so many failed.
func synced(ok, failed string) []string {
	return []string{
		`tenure_agent_syncs_total{instance="a",result="ok"} ` + ok,
		`tenure_agent_syncs_total{instance="a",result="failed"} ` + failed,
	}
}

// calls are so many that ended well, and so many that ended with a code.
func calls(ended, code, otherwise string) []string {
	return []string{
		`tenure_server_requests_total{instance="a",code="OK"} ` + ended,
		`tenure_server_requests_total{instance="a",code="` + code + `"} ` + otherwise,
	}
}

// Every alert leads to a runbook that there is.
func TestAlertsLeadToRunbooks(t *testing.T) {
	page, err := os.ReadFile(runbooksFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, rule := range alerts(t) {
		heading, found := strings.CutPrefix(rule.runbook, runbooksURL)
		if !found || !strings.Contains(string(page), "\n### "+heading+"\n") {
			t.Errorf("alert %s: no runbook at %q", name, rule.runbook)
		}
	}
}
