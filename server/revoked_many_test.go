package server_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestManyRevocationsAtOnce revokes 200 tokens at once while others write: all calls succeed, and the deny revision, at which all members decide
// again about everything, is raised at most 10 times a second.
func TestManyRevocationsAtOnce(t *testing.T) {
	m := start(t, alone)
	admin := m.bootstrap(t, modeEnforce)
	web := m.token(t, admin, "web", `key * rw`).GetText()
	var accessors []string
	for i := range 200 {
		made, err := m.auth().CreateToken(as(t.Context(), admin), &tenurev1.CreateTokenRequest{Name: fmt.Sprint("t", i), Policies: []string{"web"}})
		if err != nil {
			t.Fatal(err)
		}
		accessors = append(accessors, made.GetToken().GetAccessor())
	}
	var writes, failedWrites, failed atomic.Int64
	stop := make(chan struct{})
	var writers, revokers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := m.Put(as(t.Context(), web), &tenurev1.PutRequest{Key: fmt.Sprint("k", i), Content: text("v")}); err != nil {
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
	for _, accessor := range accessors {
		revokers.Go(func() {
			if _, err := m.auth().RevokeToken(as(t.Context(), admin), &tenurev1.RevokeTokenRequest{Accessor: accessor}); err != nil {
				if failed.Add(1) == 1 {
					t.Logf("a revocation: %v", err)
				}
			}
		})
	}
	revokers.Wait()
	took := time.Since(began)
	close(stop)
	writers.Wait()
	t.Logf("200 revocations in %v: %d failed, the deny revision rose %d times; %d writes, %d failed", took, failed.Load(), rises,
		writes.Load(), failedWrites.Load())
	if failed.Load() > 0 || failedWrites.Load() > 0 {
		t.Error("calls failed")
	}
	if most := 2 + int(took/(100*time.Millisecond)); rises > most {
		t.Errorf("the deny revision rose %d times in %v, want at most %d", rises, took, most)
	}
	all, err := m.auth().ListTokens(as(t.Context(), admin), &tenurev1.ListTokensRequest{})
	if err != nil || len(all.GetTokens()) != 2 {
		t.Errorf("got %d tokens, %v, want the administrator's and the writers'", len(all.GetTokens()), err)
	}
}
