package tenure_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// TestTheCodeForThoseWhoComeFromElsewhereRuns runs what docs/coming-from.md shows in Go; a test of clients/conformance checks that it shows just this.
func TestTheCodeForThoseWhoComeFromElsewhereRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	client := open(t, rig.Start(ctx, t, binary).Addresses.GRPC)
	for name, run := range map[string]func(context.Context, *tenure.Client) error{"etcd": fromEtcd, "Consul": fromConsul} {
		t.Run(name, func(t *testing.T) {
			if err := run(ctx, client); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhoComesFromConsulIsToldWhoLeads(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	client := open(t, rig.Start(ctx, t, binary).Addresses.GRPC)
	session, err := client.OpenSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = session.Lock("service/leader").Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	if err := fromConsul(ctx, client); err == nil || !strings.Contains(err.Error(), "SessionID:"+session.ID()) {
		t.Errorf("got %v, want an error that names session %s", err, session.ID())
	}
}

func fromEtcd(ctx context.Context, client *tenure.Client) error {
	session, err := client.OpenSession(ctx, tenure.WithTTL(15*time.Second))
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // As the page shows it.

	held, err := session.Lock("jobs/nightly").Acquire(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := held.Context(ctx) // Ends before another client can acquire the lock.
	defer cancel()
	if _, err = client.KV().Put(ctx, "report", []byte("done"), tenure.WithHeld(held)); err != nil {
		return err
	}
	return held.Release(ctx)
}

func fromConsul(ctx context.Context, client *tenure.Client) error {
	session, err := client.OpenSession(ctx, tenure.WithTTL(15*time.Second), tenure.WithLockDelay(5*time.Second))
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // As the page shows it.

	held, info, err := session.Lock("service/leader", tenure.WithValue([]byte("me"))).TryAcquire(ctx)
	if err != nil {
		return err
	}
	if held == nil {
		return fmt.Errorf("led by %+v, and %d wait", info.Holds, info.Waiters)
	}
	go func() {
		<-held.Lost()
		fmt.Println("stop:", held.Err())
	}()
	return held.Release(ctx)
}
