package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/test/rig"
)

// serviceTTL is that of checks whose running out no test waits for.
const serviceTTL = time.Minute

func TestTheCatalogAgainstARealMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	t.Cleanup(cancel)
	member := rig.Start(ctx, t, binary)
	awaitCatalog(t, member)
	for name, test := range map[string]func(t *testing.T, c *tenure.Client){
		"a session ends when its check turns critical":             sessionEndsWithCheck,
		"a session is bound only to what there is":                 boundToWhatThereIs,
		"a service list sees instances come, fail and go":          serviceListFollows,
		"a service list knows the checks of a node that comes":     serviceListKnowsNodes,
		"a service list that is closed can be read":                serviceListCloses,
		"a service list misses nothing between two pages":          serviceListReadsPages,
		"a closed client deregisters its services":                 closedClientDeregisters,
		"the program says how its instance is":                     healthSays,
		"what cannot be registered is refused before it is called": registrationRefused,
		"a prepared query finds what is healthy":                   queryFinds,
		"a prepared query dies with its session, and a watch says": queryDiesWithSession,
		"a prepared query that is wrong is refused":                queryRefused,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t, member.Addresses.GRPC)) })
	}
}

// awaitCatalog waits until a new cluster uses its catalog.
func awaitCatalog(t *testing.T, member *rig.Member) {
	t.Helper()
	c := open(t, member.Addresses.GRPC)
	settle(t, func() string {
		r, err := c.Register(t.Context(), tenure.Service{Name: "first", Node: "first"})
		if err != nil {
			return err.Error()
		}
		if err = r.Close(); err != nil {
			t.Error(err)
		}
		return ""
	})
}

// register registers an instance in the catalog.
func register(t *testing.T, c *tenure.Client, s tenure.Service) *tenure.Registration {
	t.Helper()
	r, err := c.Register(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sessionEndsWithCheck(t *testing.T, c *tenure.Client) {
	r := register(t, c, tenure.Service{Name: "bound", Node: "bound1"})
	s := session(t, c, tenure.WithNode(r.Node()), tenure.WithChecks(r.CheckID()))
	free := session(t, c, tenure.WithNode(r.Node()))
	if err := r.Set(t.Context(), tenure.CheckWarning, "slow"); err != nil {
		t.Fatal(err)
	}
	if err := s.Err(); err != nil {
		t.Errorf("after a warning: %v", err)
	}
	if err := r.Set(t.Context(), tenure.CheckCritical, "down"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if err := s.Err(); !errors.Is(err, tenure.ErrSessionExpired) {
		t.Errorf("the session ended with %v", err)
	}
	info, err := c.LookUpSession(t.Context(), s.ID())
	if err != nil || info.EndCause != "CHECK_CRITICAL" {
		t.Errorf("looked up: %+v, %v", info, err)
	}
	if info, err = c.LookUpSession(t.Context(), free.ID()); err != nil || !info.Live {
		t.Errorf("the session without checks: %+v, %v", info, err)
	}
	if _, err = c.OpenSession(t.Context(), tenure.WithNode(r.Node()), tenure.WithChecks(r.CheckID())); !errors.Is(err, tenure.ErrCheckCritical) {
		t.Errorf("a session bound to a critical check: %v", err)
	}
}

func boundToWhatThereIs(t *testing.T, c *tenure.Client) {
	r := register(t, c, tenure.Service{Name: "there", Node: "there1"})
	for name, test := range map[string]struct {
		options []tenure.SessionOption
		want    error
	}{
		"a node that is not":    {[]tenure.SessionOption{tenure.WithNode("nowhere"), tenure.WithChecks("x")}, tenure.ErrNodeNotFound},
		"a check that is not":   {[]tenure.SessionOption{tenure.WithNode(r.Node()), tenure.WithChecks("x")}, tenure.ErrCheckNotFound},
		"both kinds":            {[]tenure.SessionOption{tenure.WithChecks("x"), tenure.WithDefaultCheck()}, tenure.ErrInvalidArgument},
		"a node without gossip": {[]tenure.SessionOption{tenure.WithNode(r.Node()), tenure.WithDefaultCheck()}, nil},
	} {
		if _, err := c.OpenSession(t.Context(), test.options...); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// awaitInstances waits until a list shows instances, given as service/node/id.
func awaitInstances(t *testing.T, l *tenure.ServiceList, service string, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := ""
	for all, err := range l.Changes(ctx) {
		if err != nil {
			t.Fatalf("%s shows %s, want %v: %v", service, got, want, err)
		}
		ids := []string{}
		for _, i := range all[service] {
			ids = append(ids, i.Node+"/"+i.ID)
		}
		if got = fmt.Sprint(ids); got == fmt.Sprint(append([]string{}, want...)) {
			return
		}
	}
}

// nodeCheck registers a check of a node itself.
func nodeCheck(t *testing.T, c *tenure.Client, node string, status tenure.CheckStatus) {
	t.Helper()
	registerNode(t, c, &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: node}, Checks: []*tenurev1.Check{{CheckId: "disk", Status: tenurev1.CheckStatus(status)}},
	})
}

// moveNode gives a node another address.
func moveNode(t *testing.T, c *tenure.Client, node, address string) {
	t.Helper()
	registerNode(t, c, &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: node, Address: address}})
}

// registerNode registers a node as an operator does.
func registerNode(t *testing.T, c *tenure.Client, r *tenurev1.RegisterNodeRequest) {
	t.Helper()
	_, address := c.Members()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err = tenurev1.NewCatalogServiceClient(conn).RegisterNode(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// serviceList opens a service list, and closes it with the test.
func serviceList(t *testing.T, c *tenure.Client, services ...string) *tenure.ServiceList {
	t.Helper()
	l, err := c.OpenServiceList(t.Context(), services...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func serviceListFollows(t *testing.T, c *tenure.Client) {
	l := serviceList(t, c, "follows", "other")
	awaitInstances(t, l, "follows")
	one := register(t, c, tenure.Service{Name: "follows", ID: "f1", Node: "f-n1", Address: "10.0.0.1", Port: 80, Tags: []string{"b", "a"}})
	two := register(t, c, tenure.Service{Name: "follows", ID: "f2", Node: "F-n2"})
	awaitInstances(t, l, "follows", "f-n1/f1", "F-n2/f2")
	if got := l.Instances("follows")[0]; got.Address != "10.0.0.1" || got.Port != 80 || fmt.Sprint(got.Tags) != "[a b]" || got.Weight != 1 {
		t.Errorf("the instance is %+v", got)
	}
	moveNode(t, c, "f-n2", "10.0.0.2")
	for all, err := range l.Changes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if all["follows"][1].Address == "10.0.0.2" {
			break
		}
	}
	if err := two.Set(t.Context(), tenure.CheckCritical, ""); err != nil {
		t.Fatal(err)
	}
	awaitInstances(t, l, "follows", "f-n1/f1")
	if err := two.Set(t.Context(), tenure.CheckPassing, ""); err != nil {
		t.Fatal(err)
	}
	awaitInstances(t, l, "follows", "f-n1/f1", "F-n2/f2")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	awaitInstances(t, l, "follows", "F-n2/f2")
	if all := l.All(); len(all) != 2 || len(all["other"]) != 0 {
		t.Errorf("all are %v", all)
	}
	if err := one.Set(t.Context(), tenure.CheckPassing, ""); !errors.Is(err, tenure.ErrRegistrationClosed) {
		t.Errorf("set after close: %v", err)
	}
}

// The watch does not say how the checks of a node are on which an instance begins.
func serviceListKnowsNodes(t *testing.T, c *tenure.Client) {
	l := serviceList(t, c, "newcomer")
	elsewhere := register(t, c, tenure.Service{Name: "elsewhere", Node: "new-n1"})
	nodeCheck(t, c, "new-n1", tenure.CheckCritical)
	register(t, c, tenure.Service{Name: "newcomer", ID: "n1", Node: "new-n1"})
	register(t, c, tenure.Service{Name: "newcomer", ID: "n2", Node: "new-n2"})
	awaitInstances(t, l, "newcomer", "new-n2/n2")
	nodeCheck(t, c, "new-n1", tenure.CheckPassing)
	awaitInstances(t, l, "newcomer", "new-n1/n1", "new-n2/n2")
	nodeCheck(t, c, "new-n1", tenure.CheckCritical)
	awaitInstances(t, l, "newcomer", "new-n2/n2")
	if err := elsewhere.Close(); err != nil {
		t.Error(err)
	}
}

// serviceListReadsPages has an instance fail after the first page, which shows it, and before the second one.
func serviceListReadsPages(t *testing.T, c *tenure.Client) {
	one := register(t, c, tenure.Service{Name: "pages", Node: "p1"})
	register(t, c, tenure.Service{Name: "pages", Node: "p2"})
	var failed sync.Once
	between := func(
		ctx context.Context, method string, request, answer any, to *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		if r, ok := request.(*tenurev1.ListInstancesRequest); ok {
			r.PageSize = 1
			if r.GetPageToken() != "" {
				failed.Do(func() {
					if err := one.Set(ctx, tenure.CheckCritical, ""); err != nil {
						t.Error(err)
					}
				})
			}
		}
		return call(ctx, method, request, answer, to, options...)
	}
	members, _ := c.Members()
	paged, err := tenure.Open("tenure://"+members[0], tenure.WithDialOptions(grpc.WithUnaryInterceptor(between)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = paged.Close() })
	awaitInstances(t, serviceList(t, paged, "pages"), "pages", "p2/pages")
}

func serviceListCloses(t *testing.T, c *tenure.Client) {
	if _, err := c.OpenServiceList(t.Context()); !errors.Is(err, tenure.ErrInvalidArgument) {
		t.Errorf("a list of nothing: %v", err)
	}
	register(t, c, tenure.Service{Name: "closes", Node: "closes1"})
	l := serviceList(t, c, "closes")
	l.Close()
	if err := l.Err(); !errors.Is(err, tenure.ErrServiceListClosed) || len(l.Instances("closes")) != 1 {
		t.Errorf("after close: %v, %v", l.Instances("closes"), err)
	}
	last := error(nil)
	for _, err := range l.Changes(t.Context()) {
		last = err
	}
	if !errors.Is(last, tenure.ErrServiceListClosed) {
		t.Errorf("changes ended with %v", last)
	}
}

func closedClientDeregisters(t *testing.T, c *tenure.Client) {
	l := serviceList(t, c, "deregisters")
	member, _ := c.Members()
	other, err := tenure.Open("tenure://" + member[0])
	if err != nil {
		t.Fatal(err)
	}
	register(t, other, tenure.Service{Name: "deregisters", Node: "d1"})
	mine := serviceList(t, other, "deregisters")
	awaitInstances(t, l, "deregisters", "d1/deregisters")
	if err = other.Close(); err != nil {
		t.Error(err)
	}
	awaitInstances(t, l, "deregisters")
	if !errors.Is(mine.Err(), tenure.ErrClientClosed) {
		t.Errorf("the list of the closed client: %v", mine.Err())
	}
	if _, err = other.Register(t.Context(), tenure.Service{Name: "late"}); !errors.Is(err, tenure.ErrClientClosed) {
		t.Errorf("register with a closed client: %v", err)
	}
}

func healthSays(t *testing.T, c *tenure.Client) {
	l := serviceList(t, c, "health")
	said := make(chan tenure.Health)
	hangs := make(chan struct{})
	r := register(t, c, tenure.Service{Name: "health", Node: "h1", TTL: time.Second, Health: func(ctx context.Context) tenure.Health {
		select {
		case h := <-said:
			return h
		case <-hangs:
			<-ctx.Done()
			return tenure.Health{}
		default:
			return tenure.Health{Status: tenure.CheckPassing}
		}
	}})
	awaitInstances(t, l, "health", "h1/health")
	said <- tenure.Health{Status: tenure.CheckWarning, Output: "slow"}
	awaitInstances(t, l, "health")
	awaitInstances(t, l, "health", "h1/health")
	close(hangs)
	awaitInstances(t, l, "health")
	if err := r.Set(t.Context(), tenure.CheckPassing, ""); !errors.Is(err, tenure.ErrInvalidArgument) {
		t.Errorf("set against Health: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func registrationRefused(t *testing.T, c *tenure.Client) {
	for name, s := range map[string]tenure.Service{
		"no name":                  {},
		"a TTL below the bound":    {Name: "a", TTL: time.Millisecond},
		"a port that there is not": {Name: "a", Port: 65_536},
		"text that is no UTF-8":    {Name: "a\xff"},
		"a node of no name":        {Name: "a", Node: "a b"},
		"health that there is not": {Name: "a", Health: func(context.Context) tenure.Health { return tenure.Health{} }},
	} {
		if _, err := c.Register(t.Context(), s); !errors.Is(err, tenure.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, address := range []string{"a,b", "a/b", "a?ttl=1s", "a:b"} {
		if _, err := tenure.OpenAgent(address); !errors.Is(err, tenure.ErrInvalidArgument) {
			t.Errorf("agent %s: %v", address, err)
		}
	}
	if _, err := tenure.OpenAgent("", tenure.WithToken("secret")); !errors.Is(err, tenure.ErrInvalidArgument) {
		t.Errorf("agent with a token: %v", err)
	}
}

func TestAnAgentKeepsTheCheckOfARegistration(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	t.Cleanup(cancel)
	member := rig.StartCluster(ctx, t, binary, 1).Members[0] // It has the same address after a restart.
	awaitCatalog(t, member)
	process := rig.StartAgent(ctx, t, binary, "m1", member.Addresses.GRPC)
	t.Setenv("TENURE_CA_FILE", "not/there") // It is of the members.
	t.Setenv("TENURE_AGENT", process.Address)
	agent, err := tenure.OpenAgent("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	t.Setenv("TENURE_CA_FILE", "")
	c := open(t, member.Addresses.GRPC)
	l := serviceList(t, c, "kept", "hangs")
	if _, err = agent.Register(ctx, tenure.Service{Name: "kept", Node: "another"}); !errors.Is(err, tenure.ErrInvalidArgument) {
		t.Errorf("a node that is not the agent's: %v", err)
	}
	kept, err := agent.Register(ctx, tenure.Service{Name: "kept", ID: "k1", Port: 80, TTL: serviceTTL})
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, c, tenure.WithNode(kept.Node()), tenure.WithChecks(kept.CheckID())) // The catalog has it by now.
	awaitInstances(t, l, "kept", "m1/k1")

	process.Kill()
	process.Restart(ctx)
	if err = kept.Set(ctx, tenure.CheckPassing, "again"); err != nil {
		t.Error(err)
	}
	member.Kill()
	member.Restart(ctx)
	c2 := open(t, member.Addresses.GRPC)
	awaitInstances(t, serviceList(t, c2, "kept"), "kept", "m1/k1")
	if info, looked := c2.LookUpSession(ctx, s.ID()); looked != nil || !info.Live {
		t.Errorf("the session after both restarts: %+v, %v", info, looked)
	}

	// Its agent notices that a program hangs, or that it does not report.
	hung := make(chan struct{})
	if _, err = agent.Register(ctx, tenure.Service{Name: "hangs", TTL: 2 * time.Second, Health: func(ctx context.Context) tenure.Health {
		select {
		case <-hung:
			<-ctx.Done()
		default:
		}
		return tenure.Health{Status: tenure.CheckPassing}
	}}); err != nil {
		t.Fatal(err)
	}
	l2 := serviceList(t, c2, "hangs", "kept")
	awaitInstances(t, l2, "hangs", "m1/hangs")
	close(hung)
	awaitInstances(t, l2, "hangs")

	if err = agent.Close(); err != nil {
		t.Error(err)
	}
	awaitInstances(t, l2, "kept")
	if err = kept.Err(); !errors.Is(err, tenure.ErrRegistrationClosed) {
		t.Errorf("after close: %v", err)
	}
}
