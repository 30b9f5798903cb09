package server_test

import (
	"fmt"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// scannedMax is how many records a page looks at.
const scannedMax = 10_000

// TestAPageOfLocksLooksAtFewHolds lists locks by their holder, of which the first ones have many others.
func TestAPageOfLocksLooksAtFewHolds(t *testing.T) {
	const locks, perTxn = 500, 100
	m := start(t)
	for range scannedMax / locks {
		session := m.openSession(t, "web")
		for first := 0; first < locks; first += perTxn {
			r := &tenurev1.TxnRequest{}
			for i := range perTxn {
				r.Then = append(r.Then, &tenurev1.Op{Kind: &tenurev1.Op_AcquireLock{AcquireLock: &tenurev1.TryAcquireLockRequest{
					Key: fmt.Sprint("a", first+i), SessionId: session, Mode: tenurev1.LockMode_LOCK_MODE_SHARED,
				}}})
			}
			if _, err := m.Txn(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := m.AcquireNow(t.Context(), "b", m.openSession(t, "db")); err != nil || !got.GetAcquired() {
		t.Fatal(got, err)
	}
	page, err := m.ListLocks(t.Context(), &tenurev1.ListLocksRequest{HeldBy: "db"})
	if err != nil || len(page.GetLocks()) != 0 || page.GetNextPageToken() == "" {
		t.Fatalf("got %v, %v; want a page that ends behind the many holds", page, err)
	}
	page, err = m.ListLocks(t.Context(), &tenurev1.ListLocksRequest{HeldBy: "db", PageToken: page.GetNextPageToken()})
	if err != nil || len(page.GetLocks()) != 1 || page.GetLocks()[0].GetKey() != "b" || page.GetNextPageToken() != "" {
		t.Errorf("got %v, %v; want the lock behind them, and the end", page, err)
	}
}

// TestAPageOfServicesLooksAtFewInstances lists services of which the first has many instances, each of which counts, and once more if its tags are read.
func TestAPageOfServicesLooksAtFewInstances(t *testing.T) {
	const nodes, services = 50, 120
	m := start(t)
	for n := range nodes {
		r := &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: fmt.Sprint("n", n)}}
		for i := range services {
			r.Services = append(r.Services, &tenurev1.Service{Name: "a", ServiceId: fmt.Sprint("a", i)})
		}
		if _, err := m.catalog().RegisterNode(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	m.register(t, "n0", "b")
	token := ""
	for _, want := range []string{"a", "b"} {
		page, err := m.catalog().ListServices(t.Context(), &tenurev1.ListServicesRequest{PageToken: token})
		if err != nil || len(page.GetServices()) != 1 || page.GetServices()[0].GetName() != want {
			t.Fatalf("got %v, %v; want a page with %s", page, err, want)
		}
		token = page.GetNextPageToken()
	}
	if token != "" {
		t.Error("there is one more page, want none")
	}
}
