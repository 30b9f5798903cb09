package authz

import (
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// filled returns the pointers to so many empty messages.
func filled[M any](n int) []*M {
	all := make([]*M, n)
	for i := range all {
		all[i] = new(M)
	}
	return all
}

// TestTheNeedsOfOneMessageHaveABound has messages of many parts, of each kind that has parts.
func TestTheNeedsOfOneMessageHaveABound(t *testing.T) {
	const most, allocatedMax = 100_000, 2 << 20
	table := NewTable()
	ids := make([]string, most)
	for i := range ids {
		ids[i] = "i"
	}
	puts := make([]*tenurev1.Op, most)
	for i := range puts {
		puts[i] = &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: &tenurev1.PutRequest{}}}
	}
	renewals := make([]*tenurev1.SessionRenewal, most)
	for i := range renewals {
		renewals[i] = &tenurev1.SessionRenewal{SessionId: "s"}
	}
	for name, m := range map[string]proto.Message{
		"compares":        &tenurev1.TxnRequest{Compares: filled[tenurev1.Compare](most)},
		"operations":      &tenurev1.TxnRequest{Then: puts},
		"others":          &tenurev1.TxnRequest{Otherwise: puts},
		"guards":          &tenurev1.PutRequest{Options: &tenurev1.CallOptions{Guards: []*tenurev1.Guard{}}},
		"renewals":        &tenurev1.KeepAliveRequest{Renewals: renewals},
		"keys":            &tenurev1.WatchRequest{Keys: ids},
		"prefixes":        &tenurev1.WatchRequest{Prefixes: ids},
		"sessions":        &tenurev1.WatchRequest{SessionIds: ids},
		"nodes":           &tenurev1.WatchRequest{Nodes: ids},
		"services":        &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "n"}, Services: filled[tenurev1.Service](most)},
		"checks":          &tenurev1.SyncNodeRequest{Checks: filled[tenurev1.Check](most)},
		"what is deleted": &tenurev1.SyncNodeRequest{DeleteServices: ids, DeleteChecks: ids},
	} {
		if put, ok := m.(*tenurev1.PutRequest); ok {
			for range most {
				put.Options.Guards = append(put.Options.Guards, &tenurev1.Guard{Condition: &tenurev1.Guard_SessionAlive{SessionAlive: "s"}})
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		needs, err := table.Needs(m)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooMany) || len(needs) != NeedsMax {
			t.Errorf("%s: got %d needs, %v; want %d, and that there are more", name, len(needs), err, NeedsMax)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > allocatedMax {
			t.Errorf("%s: %d bytes were allocated, want at most %d", name, n, allocatedMax)
		}
	}
}

func TestAsManyNeedsAsThereMayBe(t *testing.T) {
	m := &tenurev1.TxnRequest{Compares: filled[tenurev1.Compare](NeedsMax)}
	if needs, err := NewTable().Needs(m); err != nil || len(needs) != NeedsMax {
		t.Errorf("got %d needs, %v; want %d", len(needs), err, NeedsMax)
	}
}
