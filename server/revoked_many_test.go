package server_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestManyRevocationsAtOnce revokes 200 tokens at once while others write.
func TestManyRevocationsAtOnce(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", `key * rw`).GetText()
	var revocations []func() error
	for i := range 200 {
		made, err := m.auth().CreateToken(as(t.Context(), admin), &tenurev1.CreateTokenRequest{Name: fmt.Sprint("t", i), Policies: []string{"web"}})
		if err != nil {
			t.Fatal(err)
		}
		revocations = append(revocations, func() error {
			_, err := m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: made.GetToken().GetAccessor()})
			return err
		})
	}
	m.besideWriters(t, admin, web, revocations)
	all, err := m.auth().ListTokens(as(t.Context(), admin), &tenurev1.ListTokensRequest{})
	if err != nil || len(all.GetTokens()) != 2 {
		t.Errorf("got %d tokens, %v, want the administrator's and the writers'", len(all.GetTokens()), err)
	}
}

// TestManyEditsOfPoliciesAtOnce changes 16 policies at once while others write. Each takes something away from the callers of the others, perhaps,
// so they are made one after another.
func TestManyEditsOfPoliciesAtOnce(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", `key * rw`).GetText()
	var edits []func() error
	for i := range 16 {
		put := func(rules string) error {
			_, err := m.auth().PutPolicy(as(t.Context(), admin), &tenurev1.PutPolicyRequest{Name: fmt.Sprint("p", i), Rules: rules})
			return err
		}
		if err := put(`key "a"* ro`); err != nil {
			t.Fatal(err)
		}
		edits = append(edits, func() error { return put(`key "b"* ro`) })
	}
	m.besideWriters(t, admin, web, edits)
}

// besideWriters makes changes that take rights away at once, while clients with a token write: all calls succeed, and the deny revision, at which all
// members decide again about everything, is raised at most 10 times a second.
func (m *member) besideWriters(t *testing.T, admin, writer string, changes []func() error) {
	t.Helper()
	var writes, failedWrites, failed atomic.Int64
	stop := make(chan struct{})
	var writers, changers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := m.Put(as(t.Context(), writer), &tenurev1.PutRequest{Key: fmt.Sprint("k", i), Content: text("v")}); err != nil {
					failedWrites.Add(1)
				}
				writes.Add(1)
			}
		})
	}
	began, rises := time.Now(), 0
	writers.Go(func() {
		for last := m.denyRevision(t, admin); ; {
			select {
			case <-stop:
				return
			default:
			}
			if now := m.denyRevision(t, admin); now != last {
				last = now
				rises++
			}
		}
	})
	for _, change := range changes {
		changers.Go(func() {
			if err := change(); err != nil && failed.Add(1) == 1 {
				t.Logf("a change: %v", err)
			}
		})
	}
	changers.Wait()
	took := time.Since(began)
	close(stop)
	writers.Wait()
	t.Logf("%d changes in %v: %d failed, the deny revision rose %d times; %d writes, %d failed", len(changes), took, failed.Load(), rises,
		writes.Load(), failedWrites.Load())
	if failed.Load() > 0 || failedWrites.Load() > 0 {
		t.Error("calls failed")
	}
	if most := 2 + int(took/(100*time.Millisecond)); rises > most {
		t.Errorf("the deny revision rose %d times in %v, want at most %d", rises, took, most)
	}
}
