package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// newClock returns the time since boot, suspend included.
func newClock() clock {
	var probe unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &probe); err != nil {
		return portableClock()
	}
	return func() time.Duration {
		var now unix.Timespec
		// It cannot fail where it did not before: the clock is there, and the pointer is good.
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
		return time.Duration(now.Nano())
	}
}
