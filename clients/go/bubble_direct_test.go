package tenure_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestADirectChangeIsAppliedOnce loses answers to a change that is made with the generated client.
func TestADirectChangeIsAppliedOnce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.mu.Lock()
		b.loseNext = 3
		b.mu.Unlock()
		request := &tenurev1.PutRequest{Key: "other/a"}
		var answer *tenurev1.PutResponse
		err := b.client.Change(t.Context(), func(
			ctx context.Context, member grpc.ClientConnInterface, options *tenurev1.CallOptions,
		) (err error) {
			request.Options = options
			answer, err = tenurev1.NewKVServiceClient(member).Put(ctx, request)
			return err
		})
		if err != nil || answer.GetKv().GetKey() != "other/a" {
			t.Errorf("got %v, %v; want the key as it was written", answer, err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.puts) != 4 || len(b.results) != 1 || len(b.puts[0].GetOptions().GetIdempotencyKey()) == 0 {
			t.Errorf("%d attempts of %d requests, want 4 of 1 with a key", len(b.puts), len(b.results))
		}
	})
}

// TestFixedMembersAreTriedInOrderAndNoOthers has a client that knows two members of three.
func TestFixedMembersAreTriedInOrderAndNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeCluster(3)
		named := []string{f.members[2].address, f.members[0].address}
		c, err := tenure.Open("tenure://"+named[0]+","+named[1], tenure.OverMemory(f.net), tenure.WithFixedMembers())
		if err != nil {
			t.Fatal(err)
		}
		at := func(want string) {
			t.Helper()
			if _, err := c.KV().Put(t.Context(), "a", nil); err != nil {
				t.Fatal(err)
			}
			all, got := c.Members()
			if slices.Sort(all); !slices.Equal(all, []string{named[1], named[0]}) || got != want {
				t.Errorf("members %v, connected to %s; want %v and %s", all, got, named, want)
			}
		}
		at(named[0])
		pass(time.Minute) // Time enough to learn of others.
		at(named[0])
		f.members[2].Refuse(true)
		at(named[1])
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
