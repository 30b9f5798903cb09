package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/tenure-io/tenure/agent"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Many agents, in the process of the benchmark.
const (
	fleetServices  = 10 // of each agent
	fleetChecks    = 2  // of each service
	fleetGossip    = 64 // agents that take part in gossip
	fleetFlapping  = 10 // one check of so many changes in a storm
	fleetConns     = 16
	fleetStopGrace = time.Second
	// fleetStep is how often a storm reports.
	fleetStep = 20 * time.Millisecond
	// fleetGust is how long a storm lasts until nothing changes for as long, again and again, and fleetLull how long after such a turn puts do not count.
	fleetGust, fleetLull = 2 * time.Second, 300 * time.Millisecond
	// fleetWindows is how many windows of a cell one phase lasts.
	fleetWindows = 5
	// fleetDir is a directory in memory. Agents have their own there, because the disk of the members is not theirs.
	fleetDir = "/dev/shm"
)

// Phases of a fleet. A storm is named by how often each check that flaps changes.
const (
	fleetAlone = "without agents"
	fleetSync  = "full sync"
	fleetIdle  = "synced"
)

var fleetStorms = []time.Duration{10 * time.Second, time.Second}

func fleetStorm(every time.Duration) string { return fmt.Sprintf("storm, each %v", every) }

// fleetPuts is beside as many puts as a storm reports checks.
func fleetPuts(every time.Duration) string { return fmt.Sprintf("puts, each %v", every) }

// fleetPhase is what happened for a while.
type fleetPhase struct {
	Name     string  `json:"name"`
	Agents   int     `json:"agents"`
	Seconds  float64 `json:"seconds"`
	Reports  int64   `json:"reports"`  // of checks, to their agents
	Commands int64   `json:"commands"` // that agents sent to the cluster
	// MemberCPU and AgentCPU are the processors that all members, and all agents, used on average.
	MemberCPU float64 `json:"member_cpu"`
	AgentCPU  float64 `json:"agent_cpu"`
	RSSBytes  int64   `json:"rss_bytes"` // of the largest member, at the end
	PutP50Us  float64 `json:"put_p50_us"`
	PutP99Us  float64 `json:"put_p99_us"`
	// StillP50Us is that of the puts between the gusts of a storm, in which nothing changed.
	StillP50Us float64 `json:"still_p50_us,omitempty"`
}

// fleet is agents and the members that they register at.
type fleet struct {
	*bench
	agentsDir string
	members   []*server
	leader    *server
	conns     connections
	commands  atomic.Int64
	agents    []*agent.Agent
	running   errgroup.Group
	began     time.Time // when the storm of the present phase began; zero: it is none
}

// turn returns whether a storm blows at a time, and for how long it or the lull does. Without a storm everything counts as one.
func (f *fleet) turn(at time.Time) (blows bool, since time.Duration) {
	if f.began.IsZero() {
		return true, fleetLull
	}
	elapsed := at.Sub(f.began)
	return elapsed/fleetGust%2 == 0, elapsed % fleetGust
}

// measureFleet measures what many agents cost, and what a quiet client notices of them.
func (b *bench) measureFleet(ctx context.Context) (err error) {
	if !b.has(workFleet) {
		return nil
	}
	f := &fleet{bench: b}
	if f.agentsDir, err = os.MkdirTemp(fleetDir, "tenure-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.agentsDir)) }()
	if f.members, err = startCluster(ctx, b.dir, b.options); err != nil {
		return err
	}
	defer func() {
		for _, m := range f.members {
			err = errors.Join(err, m.stop())
		}
	}()
	if f.leader, err = leaderOf(ctx, f.members); err != nil {
		return err
	}
	if f.conns, err = dialAll(f.leader.addresses.GRPC, fleetConns, grpc.WithChainUnaryInterceptor(f.count)); err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		stop()
		err = errors.Join(err, f.running.Wait(), f.conns.close())
	}()
	window := fleetWindows * b.duration
	if err = f.phase(ctx, fleetAlone, func(ctx context.Context) (int64, error) { return 0, pause(ctx, window) }); err != nil {
		return err
	}
	if err = f.phase(ctx, fleetSync, func(ctx context.Context) (int64, error) { return 0, f.start(ctx, running) }); err != nil {
		return err
	}
	if err = f.phase(ctx, fleetIdle, func(ctx context.Context) (int64, error) { return 0, pause(ctx, window) }); err != nil {
		return err
	}
	for _, every := range fleetStorms {
		err = f.phase(ctx, fleetPuts(every), func(ctx context.Context) (int64, error) { return 0, f.putAsOften(ctx, every, window) })
		if err != nil {
			return err
		}
		if err = f.phase(ctx, fleetStorm(every), func(ctx context.Context) (int64, error) { return f.flap(ctx, every, window) }); err != nil {
			return err
		}
	}
	return nil
}

// count counts what agents send to the cluster.
func (f *fleet) count(
	ctx context.Context, method string, request, response any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if method == tenurev1.CatalogService_SyncNode_FullMethodName || method == tenurev1.CatalogService_RegisterNode_FullMethodName {
		f.commands.Add(1)
	}
	return invoke(ctx, method, request, response, conn, options...)
}

// start starts all agents, and waits until the catalog is as they have it.
func (f *fleet) start(ctx, running context.Context) error {
	var text strings.Builder
	text.WriteString("services:\n")
	for s := range fleetServices {
		fmt.Fprintf(&text, "  - name: s%d\n    checks:\n", s)
		for c := range fleetChecks {
			fmt.Fprintf(&text, "      - {id: %s, ttl: 24h, status: passing}\n", fleetCheck(s*fleetChecks+c))
		}
	}
	services := filepath.Join(f.agentsDir, "services.yaml")
	if err := os.WriteFile(services, []byte(text.String()), 0o600); err != nil {
		return err
	}
	f.agents = make([]*agent.Agent, f.options.agents)
	return inParallel(ctx, f.options.agents, func(ctx context.Context, i int) (err error) {
		o := agent.Options{
			Node:    &tenurev1.Node{Name: fmt.Sprintf("machine-%04d", i), Address: "127.0.0.1"},
			DataDir: filepath.Join(f.agentsDir, fmt.Sprintf("agent-%04d", i)), Services: services, Listen: "127.0.0.1:0",
			Catalog: tenurev1.NewCatalogServiceClient(f.conns.of(i)), Pool: tenurev1.NewPoolServiceClient(f.conns.of(i)),
			Version: "bench", Logger: zap.NewNop(), Registry: prometheus.NewRegistry(), StopGrace: fleetStopGrace,
		}
		if i < fleetGossip {
			o.Gossip.Addr = "127.0.0.1:0"
		}
		if f.agents[i], err = agent.New(o); err != nil {
			return err
		}
		f.running.Go(func() error { return f.agents[i].Run(running) })
		f.agents[i].Local().Settled(ctx)
		return ctx.Err()
	})
}

// fleetCheck returns the id of a check of each agent.
func fleetCheck(i int) string { return fmt.Sprintf("check-%02d", i) }

// flap lets each tenth check change again and again, and returns how many changes there were.
func (f *fleet) flap(ctx context.Context, every, window time.Duration) (reports int64, err error) {
	const each = fleetServices * fleetChecks / fleetFlapping
	flapping := int64(each * len(f.agents))
	locals := make([]*agent.Local, len(f.agents))
	for i, a := range f.agents {
		locals[i] = a.Local()
	}
	f.began = time.Now()
	for blown, last := time.Duration(0), f.began; time.Since(f.began) < 2*window; {
		now := time.Now()
		if blows, _ := f.turn(now); blows {
			blown += now.Sub(last)
		}
		last = now
		due := int64(float64(flapping) * blown.Seconds() / every.Seconds())
		for ; reports < due; reports++ {
			i := reports % flapping
			status := tenurev1.CheckStatus_CHECK_STATUS_CRITICAL
			if reports/flapping%2 == 1 {
				status = tenurev1.CheckStatus_CHECK_STATUS_PASSING
			}
			_, err = locals[i%int64(len(locals))].ReportCheck(ctx, &tenurev1.ReportCheckRequest{
				CheckId: fleetCheck(int(i) / len(locals)), Status: status,
			})
			if err != nil {
				return reports, err
			}
		}
		if err = pause(ctx, fleetStep); err != nil {
			return reports, err
		}
	}
	return reports, nil
}

// putAsOften puts as often as a storm reports checks.
func (f *fleet) putAsOften(ctx context.Context, every, window time.Duration) error {
	flapping := fleetServices * fleetChecks / fleetFlapping * len(f.agents)
	value := randomValue(f.valueBytes)
	var putting errgroup.Group
	putting.SetLimit(fillers)
	puts := 0
	for began := time.Now(); time.Since(began) < window; {
		for due := int(float64(flapping) * time.Since(began).Seconds() / every.Seconds()); puts < due; puts++ {
			i := puts
			putting.Go(func() error {
				_, err := tenurev1.NewKVServiceClient(f.conns.of(i)).Put(ctx, &tenurev1.PutRequest{
					Key: keyName(i % f.keys), Content: &tenurev1.PutRequest_Value{Value: value},
				})
				return err
			})
		}
		if err := pause(ctx, fleetStep); err != nil {
			return errors.Join(err, putting.Wait())
		}
	}
	return putting.Wait()
}

// phase measures work, beside a quiet client that puts.
func (f *fleet) phase(ctx context.Context, name string, work func(context.Context) (reports int64, err error)) error {
	memberCPU, err := f.memberCPU()
	if err != nil {
		return err
	}
	agentCPU, commands, began := ownCPU(), f.commands.Load(), time.Now()
	quiet, err := f.startQuiet(ctx)
	if err != nil {
		return err
	}
	reports, err := work(ctx)
	took := time.Since(began)
	puts, quietErr := quiet.end()
	if err = errors.Join(err, quietErr); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	in := func(blowing bool) func(quietPut) bool {
		return func(p quietPut) bool {
			blows, since := f.turn(p.Began)
			return blows == blowing && since >= fleetLull
		}
	}
	usedCPU, err := f.memberCPU()
	if err != nil {
		return err
	}
	p := fleetPhase{
		Name: name, Agents: len(f.agents), Seconds: took.Seconds(), Reports: reports, Commands: f.commands.Load() - commands,
		MemberCPU: (usedCPU - memberCPU).Seconds() / took.Seconds(), AgentCPU: (ownCPU() - agentCPU).Seconds() / took.Seconds(),
		PutP50Us: percentileOf(puts, 50, in(true)), PutP99Us: percentileOf(puts, 99, in(true)), StillP50Us: percentileOf(puts, 50, in(false)),
	}
	for _, m := range f.members {
		rss, err := m.rssBytes()
		if err != nil {
			return err
		}
		p.RSSBytes = max(p.RSSBytes, rss)
	}
	f.began = time.Time{}
	f.results.fleet = append(f.results.fleet, p)
	f.say("%s  %-16s %6.1f s  %7.0f commands/s  put p50 %5.0f µs  still %5.0f µs\n", workFleet, name, p.Seconds, float64(p.Commands)/p.Seconds, p.PutP50Us, p.StillP50Us)
	return nil
}

// memberCPU returns the CPU time that all members have used.
func (f *fleet) memberCPU() (sum time.Duration, err error) {
	for _, m := range f.members {
		used, err := m.cpu()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// ownCPU returns the CPU time that this process has used.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
