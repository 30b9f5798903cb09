package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"google.golang.org/protobuf/proto"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	tests := map[string]struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		"nothing measured is zero":    {nil, 50, 0},
		"one is every percentile":     {[]time.Duration{7}, 99, 7},
		"half of a hundred":           {hundred, 50, 51},
		"the worst of a hundred":      {hundred, 99, 100},
		"a hundred per cent is worst": {hundred, 100, 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := percentile(test.sorted, test.p); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestMedianWithin(t *testing.T) {
	upTo := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i)
		}
		return values
	}
	// The ranks are those of tables of the sign test.
	tests := map[string]struct {
		values    []float64
		low, high float64
	}{
		"five values say nothing":                 {upTo(5), 0, 0},
		"six lie on both sides, but for a chance": {upTo(6), 1, 6},
		"of ten the second from each end":         {upTo(10), 2, 9},
		"of a hundred the fortieth":               {upTo(100), 40, 61},
		"of a thousand the 469th":                 {upTo(1000), 469, 532},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if low, high := medianWithin(test.values); low != test.low || high != test.high {
				t.Errorf("got %v to %v, want %v to %v", low, high, test.low, test.high)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	tests := map[string]struct {
		values []float64
		want   float64
	}{
		"nothing is zero":              {nil, 0},
		"odd takes the middle":         {[]float64{9, 1, 5}, 5},
		"even takes the mean of two":   {[]float64{4, 1, 2, 9}, 3},
		"the input needs no order":     {[]float64{3, 2, 1}, 2},
		"one outlier does not move it": {[]float64{1, 1, 100}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := median(test.values); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCPUOfAProcess(t *testing.T) {
	p := &process{cmd: &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}}
	before, err := p.cpu()
	if err != nil {
		t.Fatal(err)
	}
	var own syscall.Rusage
	for spent := time.Duration(0); spent < 20*time.Millisecond; { // Whoever asks long enough has used some.
		now, nowErr := p.cpu()
		if nowErr != nil {
			t.Fatal(nowErr)
		}
		spent = now - before
	}
	after, err := p.cpu()
	if err == nil {
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	}
	if total := time.Duration(own.Utime.Nano() + own.Stime.Nano()); err != nil || after > total+time.Second || after < total-time.Second {
		t.Errorf("got %v, %v; getrusage says %v", after, err, total)
	}
}

func TestParseStatusRSS(t *testing.T) {
	if got, err := parseStatusRSS([]byte("Name:\tx\nVmRSS:\t   1024 kB\nThreads:\t9\n")); got != 1<<20 || err != nil {
		t.Errorf("got %d, %v; want 1 MiB", got, err)
	}
	if got, err := parseStatusRSS([]byte("Name:\tx\n")); err == nil {
		t.Errorf("without VmRSS: got %d, want an error", got)
	}
}

func TestGoalsCompareRoundByRound(t *testing.T) {
	var r results
	second := func(ops int64, p50 time.Duration) sample { return sample{Ops: ops, P50: p50, Window: time.Second} }
	for _, slow := range []int64{1, 2, 4} { // The machine gets slower; the ratios stay.
		r.add(cellKey{workFsync, 1}, second(5000/slow, 200*time.Duration(slow)))
		r.add(cellKey{workEcho, 1}, second(9000/slow, 100*time.Duration(slow)))
		r.add(cellKey{workPut, 1}, second(1000/slow, 600*time.Duration(slow)))
		r.add(cellKey{workEcho, 64}, second(40_000/slow, 1))
		r.add(cellKey{workPut, 64}, second(16_000/slow, 1))
		r.add(cellKey{workGet, 64}, second(36_000/slow, 1))
		r.add(cellKey{"wear-handover", 0}, second(2000/slow, 1))
		r.add(cellKey{"wear-handover", 100_000}, second(1800/slow, 1))
		r.add(cellKey{"crowd-try-delayed", 10}, second(4000/slow, 1))
		r.add(cellKey{"crowd-try-delayed", 10_000}, second(2000/slow, 1))
	}
	r.memory = []memoryResult{{Workload: workSessions, BytesEach: 501}, {Workload: workWatchers, BytesEach: 16 << 10}}
	want := []goal{
		{Name: "put rate at 64 clients / echo rate", Relation: atLeast, Wanted: 0.5, Got: 0.4, Met: false},
		{Name: "put p50 at 1 client / (fdatasync p50 + echo p50)", Relation: atMost, Wanted: 3, Got: 2, Met: true},
		{Name: "get rate at 64 clients / echo rate", Relation: atLeast, Wanted: 0.8, Got: 0.9, Met: true},
		{Name: "bytes of a live session", Relation: atMost, Wanted: 500, Got: 501, Met: false},
		{Name: "bytes of an idle watcher", Relation: atMost, Wanted: 16 << 10, Got: 16 << 10, Met: true},
		{Name: "rate of wear-handover after 100 000 / in the first seconds", Relation: atLeast, Wanted: 0.8, Got: 0.9, Met: true},
		{Name: "rate of crowd-try-delayed beside 10 000 / beside 10", Relation: atLeast, Wanted: 0.8, Got: 0.5, Met: false},
	}
	got := r.goals(1)
	if len(got) != len(want) {
		t.Fatalf("got %d goals, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("goal %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestVerdicts(t *testing.T) {
	granted := func(number uint64) *tenurev1.RenewalVerdict {
		return &tenurev1.RenewalVerdict{SessionId: "5f0c9e3e-0000-4000-8000-000000000001", Number: number}
	}
	refused := granted(8)
	refused.Refused = tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED
	tests := map[string]struct {
		verdicts []*tenurev1.RenewalVerdict
		renewed  int
		fail     bool
	}{
		"granted renewals are counted":        {[]*tenurev1.RenewalVerdict{granted(7), granted(8), granted(9)}, 3, false},
		"an answer may have none":             {nil, 0, false},
		"a refusal is an error":               {[]*tenurev1.RenewalVerdict{granted(7), refused}, 1, true},
		"an answer to another message is one": {[]*tenurev1.RenewalVerdict{granted(6)}, 0, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			message, err := proto.Marshal(&tenurev1.KeepAliveResponse{
				Header: &tenurev1.ResponseHeader{ClusterId: "c", Revision: 1}, Verdicts: test.verdicts,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := verdicts{first: 7, last: 9}
			err = got.unmarshal(message)
			if got.renewed != test.renewed || (err != nil) != test.fail {
				t.Errorf("got %d renewed, %v; want %d", got.renewed, err, test.renewed)
			}
		})
	}
	t.Run("half a message is an error", func(t *testing.T) {
		if err := new(verdicts).unmarshal([]byte{0x12, 0x05, 0x01}); err == nil {
			t.Error("got no error")
		}
	})
}
