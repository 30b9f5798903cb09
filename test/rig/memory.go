package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ResidentKiB returns how much memory a member has; 0 where the system does not tell.
func ResidentKiB(m *Member) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.PID()))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				m.t.Fatal(err)
			}
			return n
		}
	}
	return 0
}
