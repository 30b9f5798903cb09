package check

import "sort"

// locks checks that fencing tokens rise over all locks, as clients saw them and as events tell, and that no two clients
// believe at one time that they hold the same lock.
func locks(h *History, o Options, c *checker) {
	tokensRise(h, c)
	beliefs(h, o, c)
}

// tokensRise compares each new hold with those that were answered before it was asked for.
func tokensRise(h *History, c *checker) {
	type answer struct {
		at    int64
		token uint64
		key   string
	}
	var answers []answer
	seen := map[Hold]bool{}
	for _, o := range h.Ops {
		if o.Kind == KindAcquire && o.Outcome == OK && o.Hold != nil {
			answers = append(answers, answer{o.Return, o.Hold.Token, o.Key})
		}
	}
	sort.Slice(answers, func(i, j int) bool { return answers[i].at < answers[j].at })
	next, highest := 0, answer{}
	for _, o := range h.Ops {
		if o.Kind != KindAcquire || o.Outcome != OK || o.Hold == nil || o.Attempts > 1 || seen[*o.Hold] {
			continue
		}
		c.count("grants", 1)
		for ; next < len(answers) && answers[next].at < o.Call; next++ {
			if answers[next].token > highest.token {
				highest = answers[next]
			}
		}
		// An attached hold is older than the call; its first answer is what counts.
		if !o.Changed {
			continue
		}
		seen[*o.Hold] = true
		if o.Hold.Token <= highest.token {
			c.fail("op %d by %s: %s was granted with token %d after %s had been answered with token %d",
				o.ID, o.Client, o.Key, o.Hold.Token, highest.key, highest.token)
		}
	}
	byToken := map[string]uint64{}
	for _, e := range h.Events {
		if e.Kind != "lock_granted" || e.Mode != "exclusive" {
			continue
		}
		if last := byToken[e.Key]; e.Token <= last {
			c.fail("revision %d: %s was granted with token %d after %d", e.Revision, e.Key, e.Token, last)
		}
		byToken[e.Key] = e.Token
	}
}

// beliefs looks for two clients that hold one lock at one time. Somebody else may take a lock away earlier than its
// holder can know (a break, a takeover): there the lock-delay and the token protect, not time.
func beliefs(h *History, o Options, c *checker) {
	taken := map[Hold]int64{}
	for _, e := range h.Events {
		if e.Cause == "broken" || e.Cause == "taken_over" || e.Cause == "session_forced" || e.Cause == "force_released" {
			taken[Hold{e.Key, e.LockIndex, e.Token, e.Session, e.Owner}] = e.At
		}
	}
	var all []*Belief
	for _, b := range h.Beliefs {
		if at, ok := taken[b.Hold]; ok && at < b.Until {
			b = &Belief{Client: b.Client, Hold: b.Hold, From: b.From, Until: at}
		}
		all = append(all, b)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].From < all[j].From })
	last := map[string]*Belief{}
	for _, b := range all {
		if b.Until <= b.From {
			continue
		}
		c.count("beliefs", 1)
		before := last[b.Hold.Key]
		if before != nil && before.Hold.Token != b.Hold.Token && before.Until > b.From+o.SlackMs*1e6 {
			c.fail("%s: %s believes to hold token %d until %d, %s token %d from %d",
				b.Hold.Key, before.Client, before.Hold.Token, before.Until, b.Client, b.Hold.Token, b.From)
		}
		if before == nil || b.Until > before.Until {
			last[b.Hold.Key] = b
		}
	}
}
