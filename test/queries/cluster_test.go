package queries_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// roundsMin is how many scrapes there are at least: more than the longest interval of a query needs.
	roundsMin = 6
	// expiryWait bounds the wait for a session to expire, and all that is asked then.
	expiryWait = 5 * time.Minute
	// firingWait bounds the wait for an alert, and scrapeEvery is how often there is a scrape meanwhile.
	firingWait, scrapeEvery = 5 * time.Minute, 10 * time.Millisecond
)

// Every query of the dashboard has numbers to show on a running cluster, and every metric that an alert looks at is there.
func TestQueriesReturnDataOnARunningCluster(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	c.Leader(ctx)
	r, e := newRecorded(), newEngine(t)
	r.agents = []string{runningAgent(ctx, t, c).HTTP}
	r.scrape(ctx, t, c)
	ctx, cancel := context.WithTimeout(ctx, expiryWait)
	defer cancel()
	for round := 1; round < roundsMin; round++ {
		use(ctx, t, c, round)
		r.scrape(ctx, t, c)
	}
	// What is counted now and then, such as an expiry, has to have happened between two scrapes of the last minute. So it happens only now, and
	// each scrape from here on is looked at.
	abandonSession(ctx, t, c.Members[0])
	expired := "sum(increase(tenure_sessions_expired_total[" + rateInterval + "])) > 0"
	for round := roundsMin; len(r.ask(ctx, t, e, expired, r.last())) == 0; round++ {
		use(ctx, t, c, round)
		r.scrape(ctx, t, c)
	}

	dashboard := panels(t)
	for _, name := range slices.Sorted(maps.Keys(dashboard)) {
		if !hasNumber(r.ask(ctx, t, e, dashboard[name], r.last())) {
			t.Errorf("dashboard, %s: nothing to show", name)
		}
	}
	rules := alerts(t)
	selectors := 0
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		r.ask(ctx, t, e, rules[name].expr, r.last())
		expr, err := language().ParseExpr(rules[name].expr)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if s, isSelector := n.(*parser.VectorSelector); isSelector {
				selectors++
				if !hasNumber(r.ask(ctx, t, e, s.String(), r.last())) {
					t.Errorf("alert %s: no data for %s", name, s)
				}
			}
			return nil
		})
		if slices.Contains(serious, name) && r.firing(ctx, t, e, rules[name]) {
			t.Errorf("alert %s fires on a cluster that is well", name)
		}
	}
	t.Logf("%d queries of the dashboard, %d alerts with %d selectors, %d series, %d scrapes",
		len(dashboard), len(rules), selectors, len(r.series), r.scrapes)
	if len(dashboard) < 45 || len(rules) < 13 || selectors < 20 {
		t.Errorf("floors: %d queries, %d alerts, %d selectors", len(dashboard), len(rules), selectors)
	}
}

// runningAgent starts an agent that has run a check.
func runningAgent(ctx context.Context, t *testing.T, c *rig.Cluster) *rig.Agent {
	t.Helper()
	a := rig.StartAgent(ctx, t, binary, "machine", strings.Join(c.Endpoints(), ","))
	register := exec.CommandContext(ctx, binary, "service", "register", "web", "--check-tcp", c.Members[0].Addresses.GRPC, "--agent", a.Address)
	if out, err := register.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return a
}

// serious are alerts that no slow machine makes fire.
var serious = []string{"TenureChecksumMismatch", "TenureDiskFull", "TenureMassExpiry", "TenureMemberBehind", "TenureStoreFull", "TenureStoreNearlyFull"}

// When members die, the alerts fire that say so.
func TestAlertsOfMembersThatDied(t *testing.T) {
	ctx := t.Context()
	c := rig.StartCluster(ctx, t, binary, 3)
	r, e := newRecorded(), newEngine(t)
	lead := c.Leader(ctx)
	var others []*rig.Member
	for _, m := range c.Members {
		if m != lead {
			others = append(others, m)
		}
	}
	r.scrape(ctx, t, c)
	others[0].Kill()
	r.awaitFiring(ctx, t, c, e, "TenureMemberUnreachable", "TenureQuorumAtRisk")
	others[1].Kill()
	r.awaitFiring(ctx, t, c, e, "TenureNoLeader")
	for _, m := range c.Running() {
		m.Kill()
	}
	r.awaitFiring(ctx, t, c, e, "TenureNoLeader")
	rules := alerts(t)
	for _, name := range serious {
		if r.firing(ctx, t, e, rules[name]) {
			t.Errorf("%s fires although nothing but members died", name)
		}
	}
}

// awaitFiring scrapes until alerts fire that are due.
func (r *recorded) awaitFiring(ctx context.Context, t *testing.T, c *rig.Cluster, e *promql.Engine, due ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, firingWait)
	defer cancel()
	rules, tick := alerts(t), time.NewTicker(scrapeEvery)
	defer tick.Stop()
	r.scrape(ctx, t, c) // What was before the test's last step counts no more.
	for {
		missing := slices.DeleteFunc(slices.Clone(due), func(name string) bool { return r.firing(ctx, t, e, rules[name]) })
		if len(missing) == 0 {
			return
		}
		select {
		case <-tick.C:
			r.scrape(ctx, t, c)
		case <-ctx.Done():
			t.Fatalf("%v do not fire", missing)
		}
	}
}

// firing tells whether an alert fires at the last scrape: its expression had data at every one for long enough.
func (r *recorded) firing(ctx context.Context, t *testing.T, e *promql.Engine, a alert) bool {
	t.Helper()
	since := r.last().Add(-a.after)
	for at := r.last(); !at.Before(since); at = at.Add(-interval) {
		if at.Before(begin) || len(r.ask(ctx, t, e, a.expr, at)) == 0 {
			return false
		}
	}
	return true
}

// hasNumber tells whether there is a value to show.
func hasNumber(v promql.Vector) bool {
	return slices.ContainsFunc(v, func(s promql.Sample) bool { return !math.IsNaN(s.F) })
}

// abandonSession opens a session that expires soon.
func abandonSession(ctx context.Context, t *testing.T, m *rig.Member) {
	t.Helper()
	conn := m.Dial()
	defer func() { _ = conn.Close() }()
	err := untilLed(ctx, func() error {
		_, err := tenurev1.NewSessionServiceClient(conn).CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(time.Second)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// use does a little of everything on each member.
func use(ctx context.Context, t *testing.T, c *rig.Cluster, round int) {
	t.Helper()
	for i, m := range c.Members {
		if err := useMember(ctx, m, fmt.Sprint("k", i, round)); err != nil {
			t.Fatal(err)
		}
	}
}

// useMember does a little of everything on a member. One that is busy may know of no leader for a while.
func useMember(ctx context.Context, m *rig.Member, key string) error {
	conn := m.Dial()
	kv, sessions := tenurev1.NewKVServiceClient(conn), tenurev1.NewSessionServiceClient(conn)
	err := untilLed(ctx, func() error {
		s, failed := sessions.CreateSession(ctx, &tenurev1.CreateSessionRequest{Ttl: durationpb.New(time.Hour)})
		if failed == nil {
			_, failed = sessions.RenewSession(ctx, &tenurev1.RenewSessionRequest{SessionId: s.GetSessionId()})
		}
		return failed
	})
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	var revision uint64 // Behind that of the session: a watch after revision 0 would wait for what comes.
	err = untilLed(ctx, func() error {
		put, failed := kv.Put(ctx, &tenurev1.PutRequest{Key: key})
		revision = put.GetHeader().GetRevision()
		return failed
	})
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	watch, err := tenurev1.NewWatchServiceClient(conn).Watch(ctx, &tenurev1.WatchRequest{
		Prefixes: []string{""}, AfterRevision: revision - 1, Limit: 1,
	})
	for err == nil {
		_, err = watch.Recv()
	}
	return conn.Close()
}

// untilLed calls again while there is no leader.
func untilLed(ctx context.Context, call func() error) error {
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	for {
		err := call()
		if status.Code(err) != codes.Unavailable {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
