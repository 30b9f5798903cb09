package main

import (
	"fmt"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// What one command may write in the catalog, and what one node may have there.
const (
	catalogRows  = 128
	nodeServices = 1_024
	nodeChecks   = 2_048
	// checkBytes is how long the definitions of checks are, so that a node with as many rows as one command writes has nearly all
	// the bytes that a node may have.
	checkBytes  = 14 << 10
	outputBytes = 4_096
	// boundSessions is how many sessions are bound to a node, each with a hold: more than one command ends.
	boundSessions = 1_024
)

// machine is the node that the cases are about, and up a check on it.
const (
	machine = "machine"
	up      = "up"
)

var machineID = make([]byte, 16)

// catalogCases are commands about nodes, services and checks.
func catalogCases() []cost {
	critical := storev1.CheckStatus_CHECK_STATUS_CRITICAL
	return []cost{
		{kind: "register_node", name: "127 services and checks, nearly 2 MiB", build: func(*builder) *storev1.Command { return register(longRows(0)) }},
		{kind: "sync_node", name: "127 services and checks, nearly 2 MiB, all of them changed", build: func(b *builder) *storev1.Command {
			b.apply(register(longRows(0)))
			services, checks := longRows(1)
			return &storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{
				NodeId: machineID, Sync: &storev1.SyncNumber{Boot: 1, Number: 1}, Services: services, Checks: checks,
			}}}
		}},
		{kind: "update_check", name: "a check of 1 024 sessions with a hold each", bound: endBound, build: func(b *builder) *storev1.Command {
			b.bind()
			return &storev1.Command{Kind: &storev1.Command_UpdateCheck{UpdateCheck: &storev1.UpdateCheck{
				Node: machine, CheckId: up, Status: critical, Output: strings.Repeat("o", outputBytes),
			}}}
		}},
		{kind: "deregister", name: "a node with 1 024 services, 2 048 checks and 1 024 sessions with a hold each", bound: endBound, build: deregisters},
		{kind: "set_liveness", name: "a check of 1 024 sessions with a hold each", bound: endBound, build: func(b *builder) *storev1.Command {
			b.bind()
			return &storev1.Command{Kind: &storev1.Command_SetLiveness{SetLiveness: &storev1.SetLiveness{
				Term: 1, NodeId: machineID, Status: critical, Output: strings.Repeat("o", outputBytes),
			}}}
		}},
		{kind: "end_marked", name: "sessions with a hold each of a node that is gone", bound: endBound, build: func(b *builder) *storev1.Command {
			b.apply(deregisters(b))
			return &storev1.Command{Kind: &storev1.Command_EndMarked{EndMarked: &storev1.EndMarked{Term: 1}}}
		}},
	}
}

// register registers the machine with services and checks.
func register(services []*storev1.Service, checks []*storev1.Check) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
		Node: &storev1.Node{Name: machine}, DrawnNodeId: machineID, Services: services, Checks: checks,
	}}}
}

// longRows returns as many services and checks as one command writes beside the node, other ones each time.
func longRows(time int) (services []*storev1.Service, checks []*storev1.Check) {
	for i := range catalogRows - 1 {
		if i%16 == 0 {
			services = append(services, service(i, time))
			continue
		}
		c := check(i)
		c.Definition = []byte(strings.Repeat(fmt.Sprint(time), checkBytes))
		checks = append(checks, c)
	}
	return services, checks
}

func service(i, time int) *storev1.Service {
	return &storev1.Service{ServiceId: fmt.Sprint("service-", i), Name: strings.Repeat("s", 200), Port: uint32(80 + time)}
}

func check(i int) *storev1.Check {
	id := fmt.Sprint("check-", i)
	return &storev1.Check{CheckId: id, Name: id, Status: storev1.CheckStatus_CHECK_STATUS_PASSING, Output: strings.Repeat("o", outputBytes)}
}

// bind registers the machine with a check, and binds sessions to both.
func (b *builder) bind() {
	passing := storev1.CheckStatus_CHECK_STATUS_PASSING
	b.apply(register(nil, []*storev1.Check{{CheckId: up, Name: up, Status: passing}}),
		&storev1.Command{Kind: &storev1.Command_SetLiveness{SetLiveness: &storev1.SetLiveness{Term: 1, NodeId: machineID, Status: passing}}})
	for i := range b.n(boundSessions) {
		s := b.session(func(c *storev1.CreateSession) {
			c.Node, c.Checks = machine, &storev1.SessionChecks{CheckIds: []string{"liveness", up}}
		})
		b.apply(acquire(&storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(i)}))
	}
}

// deregisters deregisters the machine, which has as much as a node may have.
func deregisters(b *builder) *storev1.Command {
	b.bind()
	for done := 0; done < b.n(nodeServices); done += catalogRows / 2 {
		var services []*storev1.Service
		for i := done; i < min(b.n(nodeServices), done+catalogRows/2); i++ {
			services = append(services, service(i, 0))
		}
		b.apply(register(services, nil))
	}
	for done := 0; done < b.n(nodeChecks)-2; done += catalogRows / 2 {
		var checks []*storev1.Check
		for i := done; i < min(b.n(nodeChecks)-2, done+catalogRows/2); i++ {
			checks = append(checks, check(i))
		}
		b.apply(register(nil, checks))
	}
	return &storev1.Command{Kind: &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: &storev1.CatalogName{Node: machine}}}}
}
