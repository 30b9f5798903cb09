package tenure_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// BenchmarkPut puts 256 bytes with so many callers of one client, over a line and one by one, in turns at one member. It reports the CPU that the
// member and the client each took for a put.
func BenchmarkPut(b *testing.B) {
	member := rig.Start(b.Context(), b, binary)
	value := []byte(strings.Repeat("v", 256))
	for _, callers := range []int{1, 16, 64, 256} {
		for round := range 3 {
			for name, options := range map[string][]tenure.Option{"line": nil, "one-by-one": {tenure.WithoutLine()}} {
				b.Run(fmt.Sprintf("callers=%d/%s/round=%d", callers, name, round), func(b *testing.B) {
					c, err := tenure.Open(member.Addresses.GRPC, options...)
					if err != nil {
						b.Fatal(err)
					}
					put := func(key string) {
						if _, err := c.KV().Put(context.Background(), key, value); err != nil {
							b.Error(err)
						}
					}
					put("first")
					theirs, ours := cpuOf(b, member.PID()), ownCPU(b)
					var done atomic.Int64
					var all sync.WaitGroup
					b.ResetTimer()
					for caller := range callers {
						all.Go(func() {
							for key := fmt.Sprint("key/", caller); done.Add(1) <= int64(b.N); {
								put(key)
							}
						})
					}
					all.Wait()
					b.StopTimer()
					puts := float64(b.N)
					b.ReportMetric(puts/b.Elapsed().Seconds(), "puts/s")
					b.ReportMetric(float64((cpuOf(b, member.PID())-theirs).Microseconds())/puts, "member-µs/put")
					b.ReportMetric(float64((ownCPU(b)-ours).Microseconds())/puts, "client-µs/put")
					if err := c.Close(); err != nil {
						b.Error(err)
					}
				})
			}
		}
	}
}

// cpuOf returns the CPU time of a process, in steps of 10 ms.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("there is no /proc")
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int64
	if _, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// ownCPU returns the CPU time of this process.
func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
