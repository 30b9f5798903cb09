package hostile_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// throttle lets a process have half a core and no more: it is stopped whenever it had more. It goes on for good when free
// is called.
func throttle(p *os.Process) (free func()) {
	began, done := time.Now(), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			used := cpuTime(p.Pid)
			next := syscall.SIGCONT
			if used > time.Since(began)/2 {
				next = syscall.SIGSTOP
			}
			_ = p.Signal(next) // It fails only if the process has ended.
			select {
			case <-tick.C:
			case <-done:
				_ = p.Signal(syscall.SIGCONT) // The same.
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		ended.Wait()
	})
}

// cpuTime returns how long a process has run; zero where the system does not tell.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program is in brackets and may have spaces. Behind it come the state, and as 12th and 13th the times.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const userTime, systemTime, perSecond = 11, 12, 100
	if len(fields) <= systemTime {
		return 0
	}
	user, _ := strconv.Atoi(fields[userTime])
	system, _ := strconv.Atoi(fields[systemTime])
	return time.Duration(user+system) * time.Second / perSecond
}
