package turn

import (
	"time"

	"github.com/tenure-io/tenure/raftnode/core"
)

const (
	readRetry = 500 * time.Millisecond
	// hangElections is for how many election time-outs, and hangMin for how long at least, a write of the log may take before
	// the disk counts as hanging. A sync of half a second is no reason to change leaders; one of three seconds keeps every
	// client waiting for longer than that takes.
	hangElections = 3
	hangMin       = 3 * time.Second
)

// HangAfter is how long a write of the log may take before the disk counts as hanging. The tick is raft's unit of time.
func HangAfter(tick time.Duration, electionTicks int) time.Duration {
	return max(hangMin, hangElections*time.Duration(electionTicks)*tick)
}

// Timed returns a core's configuration with the fields that count ticks.
func Timed(tick time.Duration, electionTicks int) core.Config {
	return core.Config{
		ElectionTicks:   electionTicks,
		ElectionTimeout: time.Duration(electionTicks) * tick,
		ReadRetryTicks:  int(max(1, readRetry/tick)),
		WriteTicksMax:   int(max(1, HangAfter(tick, electionTicks)/tick)),
	}
}
