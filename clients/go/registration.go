package tenure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Times of registrations.
const (
	serviceTTLDefault = 15 * time.Second
	serviceTTLMin     = time.Second
	// repeatEvery is how often a registration in the catalog is repeated, in case somebody removed it.
	repeatEvery = time.Minute
	// reportPatience bounds one report, and the wait for the catalog to have what an agent was told.
	reportPatience = 5 * time.Second
	// settleEvery is how often an agent is asked whether the catalog has it.
	settleEvery = 20 * time.Millisecond
)

const portMax = 65_535

// registrar is where a registration is kept: an agent or the catalog.
type registrar interface {
	// register writes instance and check.
	register(ctx context.Context, s *Service, h Health) error
	// report writes how the check is, and whatever else is missing.
	report(ctx context.Context, s *Service, h Health) error
	// repeat is how often a report is due that says nothing new.
	repeat() time.Duration
	// deregister deletes instance and check.
	deregister(ctx context.Context, s *Service) error
	// takeBack deletes what a register that failed may have written, or may still write.
	takeBack(ctx context.Context, s *Service, h Health) error
}

// Registration is an instance of a service that stays registered until it is closed, with a check that the library keeps:
// see Agent.Register and Client.Register. Its methods can be called concurrently.
type Registration struct {
	client  *Client
	service Service
	at      registrar
	work    group
	turn    chan struct{} // Full while something is reported.

	closing     sync.Once
	closeResult error

	mu       sync.Mutex // Guards what follows.
	health   Health
	reported Health        // What was reported last.
	last     time.Duration // When that was.
	closed   bool
	err      error
}

// Register registers an instance of a service in the catalog, without an agent, on a node that need not exist yet. It is
// deregistered when the registration or the client is closed; the node remains. The library repeats the registration
// every minute, and reports what Service.Health or Registration.Set say at once. If the process dies, nothing turns the
// check critical: members time no checks. Where that matters, use Agent.Register. If Register fails although the instance may be in
// the catalog, the library takes it back in the background, for a few seconds at most.
func (c *Client) Register(ctx context.Context, service Service) (*Registration, error) {
	if service.Node == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, invalid("the service has no node, and the host no name: %v", err)
		}
		service.Node = host
	}
	return register(ctx, c, service, catalogRegistrar{client: c, key: randomBytes(16)})
}

// register registers an instance, and keeps it registered.
func register(ctx context.Context, c *Client, service Service, at registrar) (*Registration, error) {
	service, err := service.full()
	if err != nil {
		return nil, err
	}
	r := &Registration{client: c, service: service, at: at, health: Health{Status: CheckPassing}, turn: make(chan struct{}, 1)}
	if service.Health != nil {
		select {
		case r.health = <-r.ask(ctx):
		case <-ctx.Done():
			return nil, interrupted(ctx, false, nil)
		}
	}
	if err = r.health.check(); err != nil {
		return nil, err
	}
	end, err := c.takebacks.begin(ctx, r.service.name())
	if err != nil {
		return nil, err
	}
	if err = at.register(ctx, &r.service, r.health); err != nil {
		if AppliedOf(err) == AppliedNo || c.care.registered(r.service.name()) { // Another registration that is open has the instance.
			end()
		} else {
			r.takeBack(end)
		}
		return nil, err
	}
	defer end()
	r.reported, r.last = r.health, c.clock()
	if !c.care.keep(r) {
		_ = r.deregister() // The client was closed meanwhile. If nobody can be told, the check tells.
		return nil, errClientClosed()
	}
	r.work.start(r.run)
	return r, nil
}

// check refuses what no check can be.
func (h Health) check() error {
	if !h.Status.valid() {
		return invalid("the status %d is none of a check", h.Status)
	}
	return nil
}

// run reports until the registration is closed.
func (r *Registration) run(ctx context.Context) {
	var asking <-chan Health
	asked := r.client.clock()
	tick := time.NewTicker(r.service.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case h := <-asking:
			asking = nil
			r.note(h)
		case <-tick.C:
			switch {
			case r.service.Health == nil:
			case asking == nil:
				asking, asked = r.ask(ctx), r.client.clock()
				continue // The answer is reported.
			case r.client.clock()-asked < r.service.TTL:
				continue
			default:
				r.note(Health{Status: CheckCritical, Output: fmt.Sprintf("the program did not say for %v how it is", r.service.TTL)})
			}
		}
		if r.due() {
			reporting, cancel := context.WithTimeout(ctx, reportPatience)
			_ = r.tell(reporting) // Err has it, and the next tick tries again.
			cancel()
		}
	}
}

// ask asks the program how it is.
func (r *Registration) ask(ctx context.Context) <-chan Health {
	answer := make(chan Health, 1)
	go func() { answer <- r.service.Health(ctx) }()
	return answer
}

// due reports whether there is something to report.
func (r *Registration) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil || r.health != r.reported || r.client.clock()-r.last >= r.at.repeat()
}

// tell reports once. Reports follow each other, so that the last one stays.
func (r *Registration) tell(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return interrupted(ctx, false, nil)
	}
	r.mu.Lock()
	h, closed := r.health, r.closed
	r.mu.Unlock()
	if closed {
		return &Error{Kind: ErrRegistrationClosed, Applied: AppliedNo}
	}
	err := r.at.report(ctx, &r.service, h)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return err
	}
	if r.err = err; err == nil {
		r.reported, r.last = h, r.client.clock()
	}
	return err
}

// note takes what the program says.
func (r *Registration) note(h Health) {
	if err := h.check(); err != nil {
		h = Health{Status: CheckCritical, Output: err.Error()}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health = h
}

// Set says how the instance is from now on, and reports it. If that fails, the library continues to try. It is refused where
// Service.Health says it.
func (r *Registration) Set(ctx context.Context, status CheckStatus, output string) error {
	h := Health{Status: status, Output: output}
	if err := h.check(); err != nil {
		return err
	}
	if err := sendable(r.service.check(h)); err != nil {
		return err
	}
	if r.service.Health != nil {
		return invalid("Service.Health says how the instance is")
	}
	r.note(h)
	return r.tell(ctx)
}

// Node returns the name of the node on which the instance is registered.
func (r *Registration) Node() string { return r.service.Node }

// ID returns the id of the instance.
func (r *Registration) ID() string { return r.service.ID }

// CheckID returns the id of the check, to which a session can be bound: see WithChecks.
func (r *Registration) CheckID() string { return r.service.CheckID }

// Err returns why the last report failed; nil if it succeeded.
func (r *Registration) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close stops reporting and deregisters the instance with its check, which ends the sessions that are bound to the check. It waits a few seconds at
// most for the agent or the cluster. Closing again does nothing.
func (r *Registration) Close() error {
	r.closing.Do(func() {
		r.mu.Lock()
		r.closed, r.err = true, &Error{Kind: ErrRegistrationClosed, Applied: AppliedNo}
		r.mu.Unlock()
		r.work.stop()
		r.client.care.drop(r)
		r.closeResult = r.deregister()
	})
	return r.closeResult
}

// deregister takes the instance out, for a few seconds at most.
func (r *Registration) deregister() error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	select {
	case r.turn <- struct{}{}: // Nothing that Set still reports may register it again.
		defer func() { <-r.turn }()
	case <-ctx.Done():
	}
	return r.at.deregister(ctx, &r.service)
}

// catalogRegistrar registers in the catalog itself.
type catalogRegistrar struct {
	client *Client
	key    []byte // Of the first request.
}

func (a catalogRegistrar) register(ctx context.Context, s *Service, h Health) error {
	return a.write(ctx, s, h, a.key)
}

// write registers; a request with the same key is applied once.
func (a catalogRegistrar) write(ctx context.Context, s *Service, h Health, key []byte) error {
	request := &tenurev1.RegisterNodeRequest{
		Node: &tenurev1.Node{Name: s.Node}, SkipNodeUpdate: true,
		Services: []*tenurev1.Service{s.message()}, Checks: []*tenurev1.Check{s.check(h)},
	}
	if err := sendable(request); err != nil {
		return err
	}
	request.Options = &tenurev1.CallOptions{IdempotencyKey: key}
	return a.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		_, err := tenurev1.NewCatalogServiceClient(l).RegisterNode(ctx, request)
		return err
	}, kindChange)
}

func (a catalogRegistrar) report(ctx context.Context, s *Service, h Health) error {
	return a.write(ctx, s, h, randomBytes(16))
}

// takeBack asks the same again first: then the cluster has written it for certain, and does not do so later.
func (a catalogRegistrar) takeBack(ctx context.Context, s *Service, h Health) error {
	if err := a.register(ctx, s, h); err != nil {
		return err
	}
	return a.deregister(ctx, s)
}

func (catalogRegistrar) repeat() time.Duration { return repeatEvery }

func (a catalogRegistrar) deregister(ctx context.Context, s *Service) error {
	return a.client.change(ctx, func(ctx context.Context, l *conn.Link, o *tenurev1.CallOptions) error {
		_, err := tenurev1.NewCatalogServiceClient(l).DeregisterService(ctx, &tenurev1.DeregisterServiceRequest{
			Node: s.Node, ServiceId: s.ID, Options: o,
		})
		return err
	})
}

// agentRegistrar registers at an agent. Calls of an agent can all be made again.
type agentRegistrar struct{ client *Client }

func (a agentRegistrar) register(ctx context.Context, s *Service, h Health) error {
	request := &tenurev1.AddAgentServiceRequest{Service: s.message(), Checks: []*tenurev1.Check{s.check(h)}}
	if err := sendable(request); err != nil {
		return err
	}
	err := a.client.retry(ctx, func(ctx context.Context, l *conn.Link) error {
		_, err := tenurev1.NewAgentServiceClient(l).AddAgentService(ctx, request)
		return err
	}, kindOwn)
	if err != nil {
		return err
	}
	if err = a.reportOnce(ctx, s, h); err == nil { // An agent keeps the status of a check that it had before.
		err = a.settle(ctx, s)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.with(AppliedUnknown) // The agent has the instance.
	}
	return err
}

func (a agentRegistrar) takeBack(ctx context.Context, s *Service, _ Health) error {
	return a.deregister(ctx, s)
}

// reportOnce reports how the check is.
func (a agentRegistrar) reportOnce(ctx context.Context, s *Service, h Health) error {
	return a.client.read(ctx, func(ctx context.Context, l *conn.Link) error {
		_, err := tenurev1.NewAgentServiceClient(l).ReportCheck(ctx, &tenurev1.ReportCheckRequest{
			CheckId: s.CheckID, Status: tenurev1.CheckStatus(h.Status), Output: h.Output,
		})
		return err
	})
}

// settle waits a moment until the catalog has what the agent has. An agent that is cut off from the cluster writes it later.
func (a agentRegistrar) settle(ctx context.Context, s *Service) error {
	waiting, cancel := context.WithTimeout(ctx, reportPatience)
	defer cancel()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		in, err := a.inSync(waiting, s)
		switch {
		case ctx.Err() != nil:
			return interrupted(ctx, true, nil)
		case waiting.Err() != nil || in:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
		}
	}
}

// inSync reports whether the catalog has the check.
func (a agentRegistrar) inSync(ctx context.Context, s *Service) (in bool, err error) {
	err = a.client.read(ctx, func(ctx context.Context, l *conn.Link) error {
		answer, asked := tenurev1.NewAgentServiceClient(l).ListAgentChecks(ctx, &tenurev1.ListAgentChecksRequest{ServiceId: s.ID})
		for _, check := range answer.GetChecks() {
			in = in || check.GetCheck().GetCheckId() == s.CheckID && check.GetInSync()
		}
		return asked
	})
	return in, err
}

func (a agentRegistrar) report(ctx context.Context, s *Service, h Health) error {
	err := a.reportOnce(ctx, s, h)
	if errors.Is(err, ErrCheckNotFound) { // The agent lost its directory, or somebody removed it.
		return a.register(ctx, s, h)
	}
	return err
}

func (agentRegistrar) repeat() time.Duration { return 0 }

func (a agentRegistrar) deregister(ctx context.Context, s *Service) error {
	return a.client.read(ctx, func(ctx context.Context, l *conn.Link) error {
		_, err := tenurev1.NewAgentServiceClient(l).RemoveAgentService(ctx, &tenurev1.RemoveAgentServiceRequest{ServiceId: s.ID})
		return err
	})
}
