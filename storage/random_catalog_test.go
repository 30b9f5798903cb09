package storage_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

const (
	isCritical = storev1.CheckStatus_CHECK_STATUS_CRITICAL
	byAgent    = storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	byPool     = storev1.CatalogOrigin_CATALOG_ORIGIN_POOL
	direct     = storev1.CatalogOrigin_CATALOG_ORIGIN_DIRECT
)

// queryCommand returns a command on few prepared queries with few names, so that they meet.
func (g *generator) queryCommand() *storev1.Command {
	id := numberedID(uint64(200 + g.rng.IntN(8)))
	if g.oneIn(5) {
		return &storev1.Command{Kind: &storev1.Command_DeleteQuery{DeleteQuery: &storev1.DeleteQuery{QueryId: id}}}
	}
	p := &storev1.PutQuery{QueryId: id, Create: !g.oneIn(3)}
	p.Query = &storev1.Query{
		Name:    []string{"", "db", "db-", "db-north-1", "web"}[g.rng.IntN(5)],
		Match:   storev1.QueryMatch(1 + g.rng.IntN(2)),
		Service: []string{"web", "db"}[g.rng.IntN(2)],
	}
	if g.oneIn(2) {
		p.Session = &storev1.SessionRef{SessionId: numberedID(max(g.next, 4) - uint64(1+g.rng.IntN(4)))} // One of the last.
		p.Query.SessionId = p.GetSession().GetSessionId()
	}
	return &storev1.Command{Kind: &storev1.Command_PutQuery{PutQuery: p}}
}

// catalogCommand returns a command on few nodes, services and checks, so that they meet.
func (g *generator) catalogCommand() *storev1.Command {
	if g.oneIn(5) {
		return g.queryCommand()
	}
	cmd := &storev1.Command{}
	switch n := g.rng.IntN(100); {
	case n < 25:
		r := &storev1.RegisterNode{Node: g.node(), SkipNodeUpdate: g.oneIn(2), DrawnNodeId: numberedID(uint64(100 + g.rng.IntN(1000)))}
		r.Services, r.Checks = g.entries()
		if g.oneIn(6) {
			r.Origin, r.Term, r.Services = byPool, g.term, nil
			r.Checks = []*storev1.Check{{CheckId: "liveness", Name: "liveness", Status: g.status()}}
		}
		cmd.Kind = &storev1.Command_RegisterNode{RegisterNode: r}
	case n < 40:
		s := &storev1.SyncNode{NodeId: g.nodeID(), Sync: &storev1.SyncNumber{Boot: uint64(1 + g.rng.IntN(40)), Number: 1}}
		if g.oneIn(2) {
			s.Node = g.node()
			s.Node.NodeId = nil
		}
		s.Services, s.Checks = g.entries()
		if g.oneIn(2) {
			s.DeleteServices = []string{g.serviceID()}
			if g.oneIn(2) { // A check may move from it to another one.
				s.DeleteChecks, s.Services, s.Checks = []string{g.checkID()}, nil, nil
			}
		}
		cmd.Kind = &storev1.Command_SyncNode{SyncNode: s}
	case n < 52:
		cmd.Kind = &storev1.Command_UpdateCheck{UpdateCheck: &storev1.UpdateCheck{
			Node: g.nodeName(), CheckId: g.checkID(), Status: g.status(), Output: g.key(),
		}}
	case n < 58:
		cmd.Kind = &storev1.Command_SetLiveness{SetLiveness: &storev1.SetLiveness{NodeId: g.nodeID(), Term: 1, Status: g.status()}}
	case n < 64:
		cmd.Kind = &storev1.Command_Deregister{Deregister: &storev1.Deregister{Name: g.entryName()}}
	case n < 70:
		cmd.Kind = &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{
			{Kind: &storev1.Op_Catalog{Catalog: &storev1.CatalogOp{Kind: &storev1.CatalogOp_Delete{Delete: g.entryName()}}}},
			{Kind: &storev1.Op_Catalog{Catalog: &storev1.CatalogOp{Kind: &storev1.CatalogOp_PutCheck{PutCheck: &storev1.PutCheckOp{
				Node: g.nodeName(), Check: &storev1.Check{CheckId: "extra", Name: "extra", Status: g.status()},
			}}}}},
		}}}
	case n < 73:
		cmd.Kind = &storev1.Command_EndMarked{EndMarked: &storev1.EndMarked{Term: g.term}}
	case n < 76:
		cmd.Kind = &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: g.ref()}}
	case n < 82:
		cmd.Kind = &storev1.Command_AcquireLock{AcquireLock: g.acquire()}
	default:
		s := &storev1.CreateSession{
			SessionId: numberedID(g.next), Node: g.nodeName(), Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}
		switch g.rng.IntN(4) {
		case 0:
			s.Checks = &storev1.SessionChecks{}
		case 1, 2:
			s.Checks = &storev1.SessionChecks{CheckIds: []string{g.checkID()}}
		}
		g.alive = append(g.alive, g.next)
		g.next++
		cmd.Kind = &storev1.Command_CreateSession{CreateSession: s}
	}
	return cmd
}

func (g *generator) nodeName() string  { return []string{"A", "a", "b", "C", "d.e"}[g.rng.IntN(5)] }
func (g *generator) serviceID() string { return []string{"s", "s/2", "t"}[g.rng.IntN(3)] }
func (g *generator) checkID() string {
	return []string{"c", "c\u00e9", "k", "liveness", "extra"}[g.rng.IntN(5)]
}
func (g *generator) nodeID() []byte { return numberedID(uint64(50 + g.rng.IntN(4))) }
func (g *generator) status() storev1.CheckStatus {
	return []storev1.CheckStatus{1, 1, 1, 1, 2, 3}[g.rng.IntN(6)]
}

func (g *generator) node() *storev1.Node {
	n := &storev1.Node{Name: g.nodeName(), Zone: []string{"", "eu"}[g.rng.IntN(2)]}
	if g.oneIn(4) {
		n.NodeId = g.nodeID()
	}
	return n
}

func (g *generator) entries() (services []*storev1.Service, checks []*storev1.Check) {
	if !g.oneIn(3) {
		services = append(services, &storev1.Service{ServiceId: g.serviceID(), Name: []string{"web", "db"}[g.rng.IntN(2)]})
	}
	k := &storev1.Check{CheckId: g.checkID(), Name: "check", Notes: g.key()}
	if k.GetCheckId() == "liveness" {
		k.CheckId = "c"
	}
	if g.oneIn(2) {
		k.ServiceId = g.serviceID()
	}
	if !g.oneIn(3) {
		k.Status = g.status()
	}
	return services, append(checks, k)
}

func (g *generator) entryName() *storev1.CatalogName {
	n := &storev1.CatalogName{Node: g.nodeName()}
	switch g.rng.IntN(5) {
	case 0, 1:
		n.ServiceId = g.serviceID()
	case 2, 3:
		n.CheckId = g.checkID()
	}
	return n
}

// TestRandomCatalog applies random commands on the catalog, and compares what it holds and which sessions live with a model after
// each. Replicas that crash agree, and so do restores of a backup.
func TestRandomCatalog(t *testing.T) {
	needsNoRaceDetector(t)
	ends, refusals, marks, withSession := 0, 0, uint64(0), 0
	for seed := range uint64(4) {
		store := oldStore(t, vfs.NewMem(), "live")
		g := newGenerator(t, seed, store)
		_, newest := storage.ClusterVersions()
		log := []storage.Entry{g.entry(2, []*storev1.Command{{
			Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}},
		}})}
		if _, err := store.Apply(log); err != nil || store.Applied().ClusterVersion != newest {
			t.Fatalf("raise the version: %v, %+v", err, store.Applied())
		}
		m := &catalogModel{
			nodes: map[string]*modelNode{}, bound: map[uint64][]string{}, dead: map[uint64]bool{},
			made: map[uint64]bool{}, queries: map[string]*storev1.Query{},
		}
		for i := range uint64(600) {
			cmd := g.catalogCommand()
			refusal := m.refusal(cmd.GetPutQuery())
			log = append(log, g.entry(i+3, []*storev1.Command{cmd}))
			out, err := store.Apply(log[len(log)-1:])
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, cmd, err)
			}
			result := out.Entries[0].Results[0]
			if cmd.GetPutQuery() != nil && result.GetFailure().GetReason() != refusal {
				t.Fatalf("seed %d, %d: %v: got %v, want %v", seed, i, cmd, result, refusal)
			}
			for _, e := range out.Events {
				if len(e.GetQueryDeleted().GetEndedSessionId()) > 0 {
					withSession++
				}
			}
			if result.GetFailure() != nil || result.GetTxn() != nil && !result.GetTxn().GetSucceeded() {
				refusals++
			} else {
				m.apply(cmd, result)
			}
			ends += int(result.GetCatalog().GetSessionsEnded())
			marks = max(marks, out.Applied.EndMarks)
			if err := m.check(store, g.next); err != nil {
				t.Fatalf("seed %d, after %d, %v, which answered %v: %v", seed, i, cmd, result, err)
			}
		}
		again, _ := replay(t, seed, log)
		if got, want := dumpOf(t, again), dumpOf(t, store); got != want {
			t.Fatalf("seed %d: got dump\n%s\nwant\n%s", seed, got, want)
		}
		restoredTwice(t, store)
		checkBytesOf(t, store)
	}
	if ends < 50 || refusals < 50 || marks == 0 || withSession < 10 {
		t.Errorf("%d sessions ended, %d commands refused, %d marks, %d queries deleted with their session: too few to show anything",
			ends, refusals, marks, withSession)
	}
}

// restoredTwice restores a store twice, with its sessions: both are the same, and what the pool saw is in doubt.
func restoredTwice(t *testing.T, store *storage.Store) {
	t.Helper()
	o := restoreOptions(1)
	o.KeepSessions = true
	backup := backupOf(t, store)
	first := restored(t, backup, o)
	if got, want := dumpOf(t, restored(t, backup, o)), dumpOf(t, first); got != want {
		t.Fatalf("two members differ: got\n%s\nwant\n%s", got, want)
	}
	r := first.NewReader()
	defer func() { _ = r.Close() }()
	if err := r.Checks("", storage.EntryAt{}, func(at storage.EntryAt, k *storev1.CheckRecord) (bool, error) {
		if k.GetOrigin() == byPool && k.GetCheck().GetStatus() != storev1.CheckStatus_CHECK_STATUS_WARNING {
			t.Errorf("%s of %s is %v after a restore, want it in doubt", at.ID, at.Node, k)
		}
		return true, nil
	}); err != nil {
		t.Error(err)
	}
}
