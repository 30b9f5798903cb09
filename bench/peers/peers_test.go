package main

import (
	"strings"
	"testing"
	"time"
)

func TestTimesOfAProcessAreRead(t *testing.T) {
	got, err := parseProcessCPU([]byte("4711 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 9 0 1 2 3"))
	if err != nil || got != 2*time.Second {
		t.Errorf("got %v, %v; want 2 s", got, err)
	}
	if _, err := parseProcessCPU([]byte("4711 (a) S 1 2")); err == nil {
		t.Error("got no error for a line that is cut off")
	}
}

func TestWhatOthersTookOfAMachineIsCounted(t *testing.T) {
	before, err := parseMachineTime("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1\n")
	if err != nil {
		t.Fatal(err)
	}
	after, err := parseMachineTime("cpu  200 0 150 1000 50 0 0 100 0 0\n") // 5 s: 2.5 s busy, 1 s of it stolen
	if err != nil {
		t.Fatal(err)
	}
	used := use{members: time.Second, own: time.Second, machine: after}.since(use{machine: before})
	if got := used.foreign(); got < 0.099 || got > 0.101 {
		t.Errorf("got %v of the machine, want 0.5 s of 5 s", got)
	}
	if _, err := parseMachineTime("cpu 1 2\n"); err == nil {
		t.Error("got no error for a line that is cut off")
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for args, want := range map[string]string{
		"-work gets":      `"gets" is none of put`,
		"-callers 0":      `"0" must be a whole number above zero`,
		"-rounds 0":       "must be above zero",
		"left":            `unexpected argument "left"`,
		"-members 1,many": `"many" must be a whole number`,
	} {
		if err := run(t.Context(), strings.Fields(args), &strings.Builder{}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
	if err := run(t.Context(), nil, &strings.Builder{}, &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "no system to measure") {
		t.Errorf("got %v, want that there is no system", err)
	}
}

func TestATableComparesWithTheBestOther(t *testing.T) {
	b := &bench{
		options: options{work: []string{workPut}, life: true, members: []int{1}, callers: []int{64}, rounds: 2},
		systems: []system{&tenureSystem{version: "Tenure 1"}, &etcdSystem{version: "etcd 2"}, &zookeeperSystem{}},
		samples: map[key][]sample{
			{work: workPut, members: 1, callers: 64, system: "Tenure 1"}: {{rate: 300}, {rate: 150}, {rate: 200}},
			{work: workPut, members: 1, callers: 64, system: "etcd 2"}:   {{rate: 100}},
		},
		lives: map[key][]life{
			{members: 1, system: "etcd 2"}: {{start: time.Second, restart: 2 * time.Second, idle: 0.005, memory: 30 << 20}, {start: 3 * time.Second}},
		},
	}
	var out strings.Builder
	if err := b.report(&out, time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 64 | 200 (150–300) | 0.00 | 0 | 0 % | 100 (100–100) | 0.00 | 0 | 0 % | - | - | - | - | 2.00 |",
		"| Tenure 1 | - | - | - | - | - | - |",
		"| etcd 2 | 1000 (1000–3000) | 0 (0–2000) | 0.00 (0.00–0.50) | 0 | - | 0 % |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant a line %s", out.String(), want)
		}
	}
}
