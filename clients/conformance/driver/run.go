package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/test/rig"
)

// Patience of a run. It is generous: machines are loaded.
const (
	// withinDefault is how long a request or event may take, unless the scenario says otherwise.
	withinDefault = 2 * time.Minute
	greetPatience = 2 * time.Minute
)

// LackError says that a scenario needs what an agent cannot do, and did not run.
type LackError struct {
	// Feature is what it needs.
	Feature string
}

// Error names what is lacking.
func (e *LackError) Error() string { return "the agent cannot " + e.Feature }

// run is one run of a scenario.
type run struct {
	t         *testing.T
	language  *Language
	scenario  *Scenario
	cluster   *Cluster
	machine   *rig.Agent // Nil unless the scenario asks for it.
	agents    map[string]*Agent
	features  []string
	variables map[string]any
	pending   map[string]*pending
}

// pending is a request that was started.
type pending struct {
	agent *Agent
	step  *Step
	id    int
	reply <-chan message
}

// Run runs a scenario with a language's agents. An error tells what was not as expected.
func Run(ctx context.Context, t *testing.T, binary string, l *Language, s *Scenario) error {
	t.Helper()
	r := &run{
		t: t, language: l, scenario: s, agents: map[string]*Agent{}, variables: map[string]any{}, pending: map[string]*pending{},
	}
	defer func() {
		for _, a := range r.agents {
			a.Kill()
		}
	}()
	scheme, certs, token, err := r.secure()
	if err != nil {
		return err
	}
	if _, err := r.agent("a"); err != nil {
		return err
	}
	for _, feature := range s.Needs {
		if !slices.Contains(r.features, feature) {
			return &LackError{Feature: feature}
		}
	}
	r.cluster = StartCluster(ctx, t, binary, s.Members, certs)
	defer r.cluster.Close()
	if token != "" {
		if err := r.cluster.Rig.Enforce(ctx, token); err != nil {
			return fmt.Errorf("enforce rules: %w", err)
		}
	}
	namespace := "c-" + uuid.NewString()[:8]
	r.variables["hosts"] = strings.Join(r.cluster.Addresses(), ",")
	r.variables["ns"] = namespace
	r.variables["scheme"] = scheme
	r.variables["uri"] = fmt.Sprintf("%s://%s/%s?ttl=15s", scheme, r.variables["hosts"], namespace)
	r.nameHosts()
	if s.Machine != "" {
		var env []string
		if certs != "" {
			env = secured(certs, token)
		}
		r.machine = rig.StartAgent(ctx, t, binary, s.Machine, strings.Join(r.cluster.Addresses(), ","), env...)
		defer r.machine.Kill()
		r.variables["machine"] = r.machine.Address
	}
	if err := r.steps(s.Steps, "step"); err != nil {
		for name, a := range r.agents {
			err = fmt.Errorf("%w\nagent %s: %s", err, name, a.log)
		}
		return err
	}
	return nil
}

// secure makes certificates where the scenario is about TLS, or all are to run with it: then agents find them in their environment, with a token that
// has all rights. It returns the scheme of connection strings, the folder, and the token, without which members enforce no rules; empty is without TLS.
func (r *run) secure() (scheme, certs, token string, err error) {
	all := os.Getenv("TENURE_CONFORMANCE_TLS") == "1"
	if !r.scenario.TLS && !all {
		return "tenure", "", "", nil
	}
	if certs, err = makeCerts(r.t); err != nil {
		return "", "", "", err
	}
	r.variables["certs"] = certs
	if !r.scenario.TLS {
		token = identity.NewToken()
		language := *r.language
		language.Env = append(slices.Clone(language.Env), secured(certs, token)...)
		r.language = &language
	}
	return "tenures", certs, token, nil
}

// nameHosts names the addresses that clients are told.
func (r *run) nameHosts() {
	for i, address := range r.cluster.Addresses() {
		r.variables[fmt.Sprintf("host%d", i)] = address
	}
}

// agent returns the agent of a name, and starts it at its first use.
func (r *run) agent(name string) (*Agent, error) {
	if name == "" {
		name = "a"
	}
	if a, ok := r.agents[name]; ok {
		return a, nil
	}
	a, hello, err := StartAgent(r.language, greetPatience)
	if err != nil {
		return nil, fmt.Errorf("start agent %s: %w", name, err)
	}
	r.agents[name], r.features = a, hello.Features
	return a, nil
}

func (r *run) steps(steps []Step, where string) error {
	for i := range steps {
		at := fmt.Sprintf("%s %d", where, i+1)
		if err := r.step(&steps[i], at); err != nil {
			return fmt.Errorf("%s (%s): %w", at, title(&steps[i]), err)
		}
	}
	return nil
}

// title names a step.
func title(s *Step) string {
	for _, text := range []string{s.Op, s.Fault, s.Await, s.Never, s.Finish} {
		if text != "" {
			return strings.TrimSpace(text + " " + s.On + s.Of)
		}
	}
	return "cycle"
}

func (r *run) step(written *Step, where string) error {
	s, err := r.named(written)
	if err != nil {
		return err
	}
	switch {
	case s.Cycle != nil:
		for n := range s.Cycle.Times {
			r.variables["n"] = float64(n)
			if err := r.steps(s.Cycle.Steps, fmt.Sprintf("%s, cycle %d, step", where, n+1)); err != nil {
				return err
			}
		}
		return nil
	case s.Fault != "":
		return r.fault(s)
	case s.Await != "" || s.Never != "":
		return r.look(s)
	case s.Finish != "":
		p, ok := r.pending[s.Finish]
		if !ok {
			return fmt.Errorf("nothing was started as %q", s.Finish)
		}
		delete(r.pending, s.Finish)
		return r.finish(p, s)
	case s.Until:
		return r.until(s)
	case s.Op != "":
		p, err := r.start(s)
		if err != nil || s.Start != "" {
			return err
		}
		return r.finish(p, s)
	default:
		return errors.New("a step without anything to do")
	}
}

// named returns a step with variables in the names of objects, and of what is saved, put in their places.
func (r *run) named(written *Step) (*Step, error) {
	s := *written
	for _, name := range []*string{&s.On, &s.As, &s.Of, &s.Start, &s.Finish} {
		text, err := expandText(*name, r.variables)
		if err != nil {
			return nil, err
		}
		*name = plain(text)
	}
	s.Save = map[string]string{}
	for name, field := range written.Save {
		text, err := expandText(name, r.variables)
		if err != nil {
			return nil, err
		}
		s.Save[plain(text)] = field
	}
	return &s, nil
}

// start sends a request.
func (r *run) start(s *Step) (*pending, error) {
	a, err := r.agent(s.Agent)
	if err != nil {
		return nil, err
	}
	args, err := expand(s.Args, r.variables)
	if err != nil {
		return nil, err
	}
	expanded, _ := args.(map[string]any)
	p := &pending{agent: a, step: s}
	if p.id, p.reply, err = a.send(s.Op, s.On, s.As, expanded); err != nil {
		return nil, err
	}
	if s.Start != "" {
		r.pending[s.Start] = p
		r.variables[s.Start] = p.id
	}
	return p, nil
}

// until repeats a request until its answer is as expected.
func (r *run) until(s *Step) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(within(s)); ; <-tick.C {
		p, err := r.start(s)
		if err != nil {
			return err
		}
		err = r.finish(p, s)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if s.Unless == nil {
			continue
		}
		if excused, err := r.happened(s.Unless); excused || err != nil {
			return err
		}
	}
}

// happened tells whether there was an event.
func (r *run) happened(written *Step) (bool, error) {
	s, err := r.named(written)
	if err != nil {
		return false, err
	}
	a, err := r.agent(s.Agent)
	if err != nil {
		return false, err
	}
	want, err := expand(s.Expect, r.variables)
	if err != nil {
		return false, err
	}
	fits := func(value any) bool { return want == nil || match(want, value, "value") == "" }
	return a.never(s.Await, s.Of, fits, 0) != nil, nil
}

func within(s *Step) time.Duration {
	if s.Within == 0 {
		return withinDefault
	}
	return s.Within
}

// finish waits for the reply to a request, and compares it with what the step expects.
func (r *run) finish(p *pending, s *Step) error {
	timer := time.NewTimer(within(s))
	defer timer.Stop()
	begun := time.Now()
	var reply message
	select {
	case m, ok := <-p.reply:
		if !ok {
			return errAgentEnded
		}
		reply = m
	case <-timer.C:
		return fmt.Errorf("no reply within %v", within(s))
	}
	if took := time.Since(begun); took < s.Least {
		return fmt.Errorf("it took %v, want at least %v", took, s.Least)
	}
	if !reply.OK {
		return r.failed(reply.Error, s)
	}
	var value any
	if err := json.Unmarshal(reply.Value, &value); err != nil {
		return fmt.Errorf("value %s: %w", reply.Value, err)
	}
	if s.Error != "" {
		return fmt.Errorf("it succeeded with %s, want the error %s", reply.Value, s.Error)
	}
	return r.compare(s, value)
}

// failed compares an error with what the step expects.
func (r *run) failed(f *AnswerError, s *Step) error {
	if f == nil {
		return errors.New("neither value nor error")
	}
	if s.Error == "" || !slices.Contains(strings.Split(s.Error, "|"), f.Kind) {
		return fmt.Errorf("error %s (%s, applied %s), want %q", f.Kind, f.Message, f.Applied, s.Error)
	}
	if s.Applied != "" && s.Applied != f.Applied {
		return fmt.Errorf("error %s says applied %s, want %s", f.Kind, f.Applied, s.Applied)
	}
	if s.Message == nil {
		return nil
	}
	want, err := expand(s.Message, r.variables)
	if err != nil {
		return err
	}
	if difference := match(want, f.Message, "message"); difference != "" {
		return errors.New(difference)
	}
	return nil
}

// compare compares a value with what the step expects, and keeps what it saves.
func (r *run) compare(s *Step, value any) error {
	if s.Expect != nil {
		want, err := expand(s.Expect, r.variables)
		if err != nil {
			return err
		}
		if difference := match(want, value, "value"); difference != "" {
			return errors.New(difference)
		}
	}
	fields, _ := value.(map[string]any)
	for name, field := range s.Save {
		saved, ok := fields[field]
		if !ok {
			return fmt.Errorf("there is no %s to save in %s", field, show(value))
		}
		r.variables[name] = saved
	}
	return nil
}

// look waits for an event, or demands that there was none.
func (r *run) look(s *Step) error {
	a, err := r.agent(s.Agent)
	if err != nil {
		return err
	}
	want, err := expand(s.Expect, r.variables)
	if err != nil {
		return err
	}
	fits := func(value any) bool { return want == nil || match(want, value, "value") == "" }
	if s.Never != "" {
		return a.never(s.Never, s.Of, fits, s.Most)
	}
	e, err := a.await(s.Await, s.Of, fits, s.Next, within(s))
	if err != nil {
		return err
	}
	saved := *s
	saved.Expect = nil
	return r.compare(&saved, e.value)
}

// fault does something to members, proxies or agents.
func (r *run) fault(s *Step) error {
	switch s.Fault {
	case "wait":
		<-time.NewTimer(time.Duration(s.ForMs) * time.Millisecond).C
		return nil
	case "agent.pause", "agent.resume", "agent.kill", "agent.restart":
		return r.agentFault(s)
	case "member.join":
		err := r.cluster.join(r.t.Context(), r.t, s.Way == "refuse")
		r.nameHosts()
		return err
	case "session.destroy", "session.ended":
		id, err := expandText(s.Session, r.variables)
		if err != nil {
			return err
		}
		if s.Fault == "session.ended" {
			return r.cluster.awaitSessionEnd(r.t.Context(), plain(id))
		}
		return r.cluster.destroySession(r.t.Context(), plain(id))
	case "machine.kill", "machine.start":
		return r.machineFault(s)
	case "node.move":
		return r.cluster.moveNode(r.t.Context(), s.Node, s.Address)
	case "certs.replace":
		return r.cluster.replaceCerts(r.t.Context())
	case "proxy.used":
		return r.cluster.awaitUsed(r.t.Context(), s.Connections, s.All)
	}
	if s.All && s.Fault == "member.start" {
		r.cluster.startAll(r.t.Context())
		return nil
	}
	members := []int{s.Member}
	if s.At != "" {
		address, err := expandText(s.At, r.variables)
		if err != nil {
			return err
		}
		members[0] = slices.Index(r.cluster.Addresses(), plain(address))
	}
	if s.All {
		members = nil
		for i := range r.cluster.Proxies {
			members = append(members, i)
		}
	}
	for _, i := range members {
		if i < 0 || i >= len(r.cluster.Proxies) {
			return fmt.Errorf("there is no member %d", i)
		}
		if err := r.cluster.fault(r.t.Context(), s, i); err != nil {
			return err
		}
	}
	return nil
}

// machineFault kills or starts the agent of the machine.
func (r *run) machineFault(s *Step) error {
	switch {
	case r.machine == nil:
		return errors.New("the scenario has no machine")
	case s.Fault == "machine.kill":
		r.machine.Kill()
	default:
		r.machine.Restart(r.t.Context())
	}
	return nil
}

func (r *run) agentFault(s *Step) error {
	a, err := r.agent(s.Agent)
	if err != nil {
		return err
	}
	switch s.Fault {
	case "agent.pause":
		return a.Signal(syscall.SIGSTOP)
	case "agent.resume":
		return a.Signal(syscall.SIGCONT)
	}
	a.Kill()
	name := s.Agent
	if name == "" {
		name = "a"
	}
	delete(r.agents, name)
	return nil // A restart is the next use.
}
