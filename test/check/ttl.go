package check

// ttl checks that no session ended before its time, and that none was renewed after its end.
func ttl(h *History, o Options, c *checker) {
	type end struct {
		at    int64
		cause string
		rev   uint64
	}
	ends := map[string]end{}
	for _, e := range h.Events {
		if e.Kind == "session_ended" && e.At != 0 {
			ends[e.Session] = end{e.At, e.Cause, e.Revision}
		}
	}
	ttls := map[string]int64{}
	for _, e := range h.Events {
		if e.Kind == "session_begun" {
			ttls[e.Session] = e.TTLMs
		}
	}
	for _, op := range h.Ops {
		if op.Outcome != OK || op.Kind != KindRenew && op.Kind != KindCreate {
			continue
		}
		c.count("renewals", 1)
		e, ended := ends[op.Session]
		if !ended {
			continue
		}
		if op.Kind == KindRenew && op.Call > e.at {
			c.fail("op %d by %s: session %s ended at %d (revision %d), and was renewed by a call at %d",
				op.ID, op.Client, op.Session, e.at, e.rev, op.Call)
		}
		ttlNs := float64(max(ttls[op.Session], op.TTLMs)) * 1e6
		if ttlNs == 0 || e.cause != "expired" {
			continue
		}
		c.count("renewals of sessions that expired", 1)
		earliest := op.Call + int64(ttlNs*(1-o.DriftPercent/100)) - o.SlackMs*1e6
		if e.at < earliest {
			c.fail("op %d by %s: session %s expired at %d (revision %d), %d ms after a %s that was acknowledged; its TTL is %d ms",
				op.ID, op.Client, op.Session, e.at, e.rev, (e.at-op.Call)/1e6, op.Kind, int64(ttlNs/1e6))
		}
	}
	c.count("expired sessions", countExpired(h))
}

func countExpired(h *History) int {
	n := 0
	for _, e := range h.Events {
		if e.Kind == "session_ended" && e.Cause == "expired" {
			n++
		}
	}
	return n
}
