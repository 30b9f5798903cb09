package server_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http2"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
)

// heapInUse returns how many bytes are in use after what is of no use was freed.
func heapInUse() int {
	for range 2 { // Pools give back what they have in the second round.
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// TestStreamsThatAreNotReadKeepOnePart begins watches and backups of several parts, and lets the member send nothing of them.
func TestStreamsThatAreNotReadKeepOnePart(t *testing.T) {
	// A part has 256 KiB and what goes beyond with its last value; a backup reads a value of 300 kB besides.
	const streams, bytesMin, bytesMax = 128, 256 << 10, 768 << 10
	m := startMember(t)
	for range 2 {
		m.putLarge(t)
	}
	c := attackFrames(t, m.at.GRPC, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	before := heapInUse()
	for i := range uint32(streams) {
		var open bool
		if i%2 == 0 {
			open = c.request(t, 2*i+1, tenurev1.WatchService_Watch_FullMethodName, &tenurev1.WatchRequest{Prefixes: []string{"large/"}, Initial: true})
		} else {
			open = c.request(t, 2*i+1, tenurev1.ClusterService_Backup_FullMethodName, &tenurev1.BackupRequest{})
		}
		if !open {
			t.Fatal("the member hung up")
		}
	}
	grown := 0
	for wait := time.Now(); grown < streams*bytesMin && time.Since(wait) < patience; grown = heapInUse() - before {
		m.wantServed(t, "quiet")
	}
	for range 20 { // Those that hold a part already have time for more.
		m.wantServed(t, "quiet")
		grown = max(grown, heapInUse()-before)
	}
	t.Logf("%d streams take %d KiB each", streams, grown/streams>>10)
	if grown < streams*bytesMin || grown > streams*bytesMax {
		t.Errorf("%d streams take %d bytes each, want one part, and at most %d", streams, grown/streams, bytesMax)
	}
}

// TestStreamsThatHaveEndedCountUntilTheyAreRead takes locks, and lets the member send no answer.
func TestStreamsThatHaveEndedCountUntilTheyAreRead(t *testing.T) {
	const bound = 4 << 20
	registry := prometheus.NewRegistry()
	m := startMember(t, func(c *server.Config) { c.Registry, c.IntakeBytesMax = registry, bound })
	session, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{})
	if err != nil {
		t.Fatal(err)
	}
	used := func() float64 {
		return sharedValue(t, registry, "tenure_server_shared_used", "limit", "answer_bytes_max")
	}
	c := attackFrames(t, m.at.GRPC, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	acquire := &tenurev1.AcquireLockRequest{Key: "lock", SessionId: session.GetSessionId()}
	if !c.request(t, 1, tenurev1.LockService_AcquireLock_FullMethodName, acquire) {
		t.Fatal("the member hung up")
	}
	for wait := time.Now(); used() == 0 && time.Since(wait) < patience; {
		m.wantServed(t, "quiet")
	}
	if n := used(); n < 1 || n > 8<<10 {
		t.Errorf("one answer counts %v bytes, want some kilobytes", n)
	}
	for stream := uint32(3); stream < 4000 && c.request(t, stream, tenurev1.LockService_AcquireLock_FullMethodName, acquire); stream += 2 {
	}
	c.wantCut(t)
	for wait := time.Now(); used() > 0 && time.Since(wait) < patience; {
		m.wantServed(t, "quiet")
	}
	if n := used(); n > 0 {
		t.Errorf("%v bytes are still pinned, want none", n)
	}
}
