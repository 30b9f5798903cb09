package hostile_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/test/rig"
)

// long reports whether the attacks are made in their long form.
func long() bool { return os.Getenv("TENURE_SOAK") == "1" }

// scene is a cluster that is attacked.
type scene struct {
	t       *testing.T
	cluster *rig.Cluster
	quiet   *quiet
	given   map[string]string
	// agent is attacked instead of the member, and consul is a quiet client of Consul, where the attack is one against its HTTP.
	agent  *rig.Agent
	consul *quietConsul
}

// member returns the member that is attacked.
func (s *scene) member() *rig.Member { return s.cluster.Members[0] }

// setScene starts a cluster for an attack, with a quiet client that is served.
func setScene(t *testing.T, a attack, members int) *scene {
	t.Helper()
	conn, err := dialHostile(t.Context(), listen(t))
	if err != nil {
		t.Skipf("this machine has one loopback address: %v", err)
	}
	_ = conn.Close()
	program := binary
	if a.files > 0 && !long() {
		program = withFiles(t, a.files)
	}
	s := &scene{t: t, cluster: rig.StartCluster(t.Context(), t, program, members, a.flags...), given: map[string]string{}}
	s.cluster.AwaitRaised(t.Context())
	s.quiet = startQuiet(t, s.member())
	s.given["session"] = s.quiet.session
	if a.prepare != nil {
		a.prepare(s)
	}
	s.quiet.await(t, 3)
	return s
}

// listen returns an address that somebody listens on while the test runs.
func listen(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// withFiles returns a program that runs the member with so many descriptors.
func withFiles(t *testing.T, files int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenure")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec %q \"$@\"\n", files, binary)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// attack makes an attack in a process of its own, and returns when it has stood while the quiet client made its rounds, and until the metric
// that shows it is above 0; "" for none.
func (s *scene) attack(name, shows string) report {
	s.t.Helper()
	o := orders{Attack: name, Long: long(), Short: testing.Short(), Given: s.given}
	for _, m := range s.cluster.Members {
		o.Members = append(o.Members, m.Addresses)
	}
	text, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), limit())
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	if long() {
		cmd = exec.CommandContext(ctx, "nice", "-n", "19", os.Args[0])
	}
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = append(os.Environ(), ordersVariable+"="+string(text)), &said
	tell, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	heard, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err = cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	free := func() {}
	if long() {
		free = throttle(cmd.Process)
	}
	out := bufio.NewReader(heard)
	line, _ := out.ReadString('\n') // How it ended says why there is none.
	if strings.TrimSpace(line) == stands {
		rounds := 5
		if long() {
			rounds = 300
		}
		s.quiet.await(s.t, rounds)
		if s.consul != nil {
			s.consul.await(s.t, rounds)
		}
		s.awaitCount(shows)
	}
	free()
	_ = tell.Close()
	rest, _ := io.ReadAll(out)
	if err = cmd.Wait(); err != nil || strings.TrimSpace(line) != stands {
		s.t.Fatalf("the attacker failed: %v\n%s%s%s", err, line, rest, said.String())
	}
	var r report
	if err = json.Unmarshal(rest, &r); err != nil {
		s.t.Fatalf("the attacker reports %q: %v", rest, err)
	}
	return r
}

// limit bounds an attack.
func limit() time.Duration {
	if long() {
		return time.Hour
	}
	return 2 * patience
}

// findings are what an attack did to the members.
type findings struct {
	faults  int // answers that no member may give, INTERNAL before all, as the attacker and the members count them
	panics  int // members that logged one, or a call that failed
	stopped int // members that have ended
	peak    int // the most memory that a member took, in MiB
}

// judge checks what must hold after every attack. The bound is of the memory of each member, in MiB.
func (s *scene) judge(r report, bound int) findings {
	s.t.Helper()
	found := findings{faults: len(r.Faults)}
	for _, fault := range r.Faults {
		s.t.Errorf("the attacker was answered %s", fault)
	}
	if err := s.quiet.failed(); err != nil {
		s.t.Errorf("the quiet client failed: %v", err)
	}
	if s.consul != nil {
		s.judgeConsul(&found, bound)
	}
	for _, m := range s.cluster.Members {
		if m.Exited() {
			found.stopped++
			s.t.Errorf("member %s has ended", m.Name())
			continue
		}
		if _, err := m.Status(s.t.Context()); err != nil && status.Convert(err) == nil {
			s.t.Errorf("member %s: %v", m.Name(), err)
		}
		for _, text := range faultsLogged {
			if line := m.Logged(text); line != "" {
				found.panics++
				s.t.Errorf("member %s logged %.2000s", m.Name(), line)
			}
		}
		for _, line := range faultsCounted(s.t, m) {
			found.faults++
			s.t.Errorf("member %s counted %s", m.Name(), line)
		}
		peak := peakMemory(s.t, m.PID())
		found.peak = max(found.peak, peak)
		if peak > bound {
			s.t.Errorf("member %s took %d MiB, at most %d are allowed", m.Name(), peak, bound)
		} else {
			s.t.Logf("member %s took at most %d MiB of %d; answers %v; the quiet client sent %d calls again",
				m.Name(), peak, bound, r.Answers, s.quiet.retried)
		}
	}
	return found
}

// faultsLogged are what lines of the log have that tell of a fault.
var faultsLogged = []string{"panic", "call failed", "fatal error", "request failed"}

// judgeConsul is judge for the quiet client of Consul, and for the agent, if one was attacked.
func (s *scene) judgeConsul(found *findings, bound int) {
	s.t.Helper()
	if err := s.consul.failed(); err != nil {
		s.t.Errorf("the quiet client of Consul failed: %v", err)
	}
	if s.agent == nil {
		return
	}
	if s.agent.Exited() {
		found.stopped++
		s.t.Error("the agent has ended")
		return
	}
	for _, text := range faultsLogged {
		if line := s.agent.Logged(text); line != "" {
			found.panics++
			s.t.Errorf("the agent logged %.2000s", line)
		}
	}
	peak := peakMemory(s.t, s.agent.PID())
	found.peak = max(found.peak, peak)
	s.t.Logf("the agent took at most %d MiB of %d", peak, bound)
	if peak > bound {
		s.t.Errorf("the agent took %d MiB, at most %d are allowed", peak, bound)
	}
}

// consulBlocked returns how many requests of Consul's HTTP wait where it is attacked.
func (s *scene) consulBlocked() float64 {
	s.t.Helper()
	fetch := s.member().Fetch
	if s.agent != nil {
		fetch = s.agent.Fetch
	}
	return s.countedBy(fetch, "tenure_consul_blocked")
}

// faultsCounted returns the lines of a member's metrics that count its own faults.
func faultsCounted(t *testing.T, m *rig.Member) []string {
	t.Helper()
	_, body, err := m.Fetch(t.Context(), "/metrics")
	if err != nil {
		t.Errorf("member %s: metrics: %v", m.Name(), err)
		return nil
	}
	var found []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "tenure_server_requests_total{") &&
			(strings.Contains(line, `code="Internal"`) || strings.Contains(line, `code="Unknown"`)) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// counted returns the value of a metric of the attacked member, named with its labels.
func (s *scene) counted(metric string) float64 {
	s.t.Helper()
	return s.countedBy(s.member().Fetch, metric)
}

// awaitCount waits until a metric of the attacked member is above 0: an attack takes effect when its calls have their turn. It gives up in time.
func (s *scene) awaitCount(metric string) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(patience); metric != "" && s.counted(metric) == 0 && time.Now().Before(limit) && !s.t.Failed(); {
		<-tick.C
	}
}

// countedBy is counted for what answers to fetch.
func (s *scene) countedBy(fetch func(ctx context.Context, path string) (http.Header, []byte, error), metric string) float64 {
	s.t.Helper()
	_, body, err := fetch(s.t.Context(), "/metrics")
	if err != nil {
		s.t.Errorf("metrics: %v", err)
	}
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, metric+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				s.t.Error(err)
			}
			return value
		}
	}
	return 0
}

// peakMemory returns how much memory a process has had at most, in MiB; 0 where the system does not tell.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kib >> 10
		}
	}
	return 0
}
