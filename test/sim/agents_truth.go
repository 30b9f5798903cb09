package sim

import (
	"maps"
	"slices"

	raftpb "go.etcd.io/raft/v3/raftpb"

	"github.com/tenure-io/tenure/agent/message"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

// syncTruth is what an observer of all members at once knows of what agents write, from the commands in the log and from events.
type syncTruth struct {
	w       *World
	index   uint64                                      // newest entry that was looked at
	made    []syncAt                                    // that are not judged yet
	last    map[string]syncAt                           // newest sync, by the id of the node
	gone    map[string][]uint64                         // when a node went that is counted anew since, by its id
	ids     map[string]string                           // of registered nodes, by name
	origins map[string]map[string]storev1.CatalogOrigin // of checks, by node
	deleted map[uint64][]string                         // checks of nobody's agent, by the revision in which they were deleted
}

// syncAt is a sync that was made.
type syncAt struct {
	index, boot, number, revision uint64
	node                          string // its id
	deletes                       bool   // checks by name
}

func newSyncTruth(w *World) *syncTruth {
	return &syncTruth{
		w: w, last: map[string]syncAt{}, gone: map[string][]uint64{}, ids: map[string]string{},
		origins: map[string]map[string]storev1.CatalogOrigin{}, deleted: map[uint64][]string{},
	}
}

// see takes an event, once.
func (t *syncTruth) see(e *storev1.Event) {
	switch k := e.GetKind().(type) {
	case *storev1.Event_NodePut:
		name, id := catalog.NodeKey(k.NodePut.GetNode().GetName()), string(k.NodePut.GetNode().GetNodeId())
		if before, there := t.ids[name]; there && before != id {
			t.gone[before] = append(t.gone[before], e.GetRevision())
		}
		t.ids[name] = id
	case *storev1.Event_NodeDeleted:
		name := catalog.NodeKey(k.NodeDeleted.GetNode())
		t.gone[t.ids[name]] = append(t.gone[t.ids[name]], e.GetRevision())
		delete(t.ids, name)
		delete(t.origins, name)
	case *storev1.Event_CheckPut:
		name := catalog.NodeKey(k.CheckPut.GetNode())
		if t.origins[name] == nil {
			t.origins[name] = map[string]storev1.CatalogOrigin{}
		}
		t.origins[name][k.CheckPut.GetCheck().GetCheckId()] = k.CheckPut.GetOrigin()
	case *storev1.Event_CheckDeleted:
		name, id := catalog.NodeKey(k.CheckDeleted.GetNode()), k.CheckDeleted.GetCheckId()
		if t.origins[name][id] != storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT && k.CheckDeleted.GetServiceId() == "" {
			t.deleted[e.GetRevision()] = append(t.deleted[e.GetRevision()], name+"/"+id)
		}
		delete(t.origins[name], id)
	}
}

// applied looks at entries that a member has applied, if it is the first.
func (t *syncTruth) applied(work []*raftpb.Message, outcomes []storage.EntryOutcome) {
	if len(t.w.machines) == 0 || t.w.machines[0].agent == nil {
		return
	}
	t.index = t.w.eachCommand(t.index, work, outcomes, func(index uint64, cmd *storev1.Command, result *storev1.Result) {
		if sync := cmd.GetSyncNode(); sync != nil {
			t.synced(index, sync, result)
		}
	})
}

// synced takes a sync that was carried out, or refused. What it did is judged when its events have come.
func (t *syncTruth) synced(index uint64, sync *storev1.SyncNode, result *storev1.Result) {
	if f := result.GetFailure(); f != nil {
		t.w.floors.SyncsOutdated += int(boolNumber(f.GetReason() == storev1.FailureReason_FAILURE_REASON_SYNC_OUTDATED))
		return
	}
	t.w.floors.Syncs++
	t.made = append(t.made, syncAt{
		index: index, node: string(sync.GetNodeId()), boot: sync.GetSync().GetBoot(), number: sync.GetSync().GetNumber(),
		revision: result.GetRevision(), deletes: len(sync.GetDeleteChecks()) > 0,
	})
}

// judge demands of each sync that it came behind none that is later, and that it deleted only what is an agent's.
func (t *syncTruth) judge(through uint64) {
	for len(t.made) > 0 && t.made[0].revision <= through {
		now := t.made[0]
		t.made = t.made[1:]
		last := t.last[now.node]
		// One entry may have many syncs, between which a node goes and comes again more than once.
		anew := slices.ContainsFunc(t.gone[now.node], func(at uint64) bool { return at > last.revision && at <= now.revision })
		t.gone[now.node] = slices.DeleteFunc(t.gone[now.node], func(at uint64) bool { return at <= now.revision })
		if !anew && (now.boot < last.boot || now.boot == last.boot && now.number <= last.number) {
			t.w.violated("agent", "entry %d is the sync %d/%d of a node, behind %d/%d", now.index, now.boot, now.number, last.boot, last.number)
		}
		t.last[now.node] = now
		if lost := t.deleted[now.revision]; len(lost) > 0 && now.deletes {
			t.w.violated("agent", "the sync in entry %d deleted %v, which no agent registered", now.index, lost)
		}
	}
	maps.DeleteFunc(t.deleted, func(revision uint64, _ []string) bool { return len(t.made) == 0 || revision < t.made[0].revision })
}

// settled demands that the catalog is like the agents of machines that are up, when all is quiet.
func (t *syncTruth) settled() {
	l := t.w.leader()
	if len(t.w.broken) > 0 || l == nil {
		return
	}
	s := l.life.store.NewReader()
	defer func() { _ = s.Close() }()
	for _, mc := range t.w.machines {
		if mc.agent == nil || !mc.up {
			continue
		}
		is, err := readNode(s, mc.name)
		if err != nil {
			t.w.violated("read", "%v", err)
			return
		}
		t.like(mc, is)
	}
}

// like demands that the catalog has what an agent has, and nothing more that is an agent's.
func (t *syncTruth) like(mc *machine, is *tenurev1.GetNodeResponse) {
	const agent = tenurev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	services, checks := mc.agent.registry.Rows()
	want := map[string]tenurev1.CheckStatus{}
	for _, c := range checks {
		want[c.Definition.ID] = message.Status(c.State.Status)
	}
	found := 0
	for _, c := range is.GetChecks() {
		status, there := want[c.GetCheckId()]
		found += int(boolNumber(there))
		if c.GetOrigin() == agent != there || there && c.GetStatus() != status {
			t.w.violated("agent", "%s: check %s is %v of origin %v; the agent has %v", mc.name, c.GetCheckId(), c.GetStatus(), c.GetOrigin(), status)
		}
	}
	for _, of := range is.GetServices() {
		if of.GetOrigin() != agent || len(services) == 0 {
			t.w.violated("agent", "%s has the service %s; the agent has %d", mc.name, of.GetServiceId(), len(services))
		}
	}
	if found != len(want) || len(is.GetServices()) != len(services) {
		t.w.violated("agent", "%s has %d checks and %d services of its agent, which has %d and %d",
			mc.name, found, len(is.GetServices()), len(want), len(services))
	}
}
