package tenure_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// watchedMember sends to watches what a test says.
type watchedMember struct {
	tenurev1.UnimplementedWatchServiceServer
	requests chan *tenurev1.WatchRequest
	messages chan *tenurev1.WatchResponse
	refusals chan error // Ends of watches; nil is none.
}

func (m *watchedMember) Watch(r *tenurev1.WatchRequest, stream grpc.ServerStreamingServer[tenurev1.WatchResponse]) error {
	m.requests <- r
	for {
		select {
		case message := <-m.messages:
			if err := stream.Send(message); err != nil {
				return err
			}
		case err := <-m.refusals:
			return err
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (m *watchedMember) send(revision uint64, message *tenurev1.WatchResponse) {
	message.Header, message.ResumeToken = &tenurev1.ResponseHeader{Revision: revision}, "token"
	m.messages <- message
}

func (m *watchedMember) started(revision uint64) {
	m.send(revision, &tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Started{Started: &tenurev1.WatchStarted{AfterRevision: revision}}})
}

func (m *watchedMember) event(revision uint64) {
	m.send(revision, &tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Events{Events: &tenurev1.WatchEvents{Events: []*tenurev1.Event{{
		Type: tenurev1.EventType_EVENT_TYPE_PUT, Revision: revision, Key: "app/k", Kv: &tenurev1.KeyValue{Key: "app/k", ModRevision: revision},
	}}}}})
}

func (m *watchedMember) progress(revision uint64, after time.Duration) {
	m.send(revision, &tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Progress{
		Progress: &tenurev1.WatchProgress{ProvedAfter: durationpb.New(after)},
	}})
}

// TestOnlyAProofMakesACacheFresh feeds a cache by a member that is behind: the state, then a minute of events. It was proved to be
// current when it was asked for the state, and not since. Marks count from their proof, however late they come.
func TestOnlyAProofMakesACacheFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &watchedMember{requests: make(chan *tenurev1.WatchRequest, 10), messages: make(chan *tenurev1.WatchResponse)}
		cluster := newFakeCluster(1)
		tenurev1.RegisterWatchServiceServer(cluster.members[0].Member, m)
		begun := time.Now()
		client, err := tenure.Open("tenure://m1:7400/app", tenure.OverMemory(cluster.net),
			tenure.WithClock(func() time.Duration { return time.Hour + time.Since(begun) }))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-time.After(4 * time.Second)
			m.started(10)
			m.send(10, &tenurev1.WatchResponse{Message: &tenurev1.WatchResponse_Initial{Initial: &tenurev1.WatchInitial{Complete: true}}})
		}()
		cache, err := client.OpenCache(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		stale := func(what string, want time.Duration) {
			t.Helper()
			synctest.Wait()
			if got := cache.Stale(); got != want {
				t.Errorf("%s: stale for %v, want %v", what, got, want)
			}
		}
		stale("the state was asked for 4 s ago", 4*time.Second)
		for revision := uint64(11); revision <= 70; revision++ {
			<-time.After(time.Second)
			m.event(revision)
		}
		stale("a minute of old events", 64*time.Second)
		if got := cache.Revision(); got != 70 {
			t.Errorf("shows revision %d, want 70", got)
		}
		<-m.requests
		m.progress(70, 50*time.Second)
		stale("a proof of second 50, 2 % of which may be the clocks'", 15*time.Second)
		// The stream is old: the next counts from a request of its own, and goes on behind the last message.
		if r := <-m.requests; r.GetResumeToken() != "token" || r.GetInitial() {
			t.Errorf("the next stream begins with %v, want the token", r)
		}
		m.started(70)
		stale("a stream that began", 15*time.Second)
		<-time.After(time.Second)
		m.event(71)
		stale("an event on it", 16*time.Second)
		m.progress(71, 0)
		stale("a proof as old as the request", time.Second)
		m.progress(71, time.Second)
		stale("a proof of this moment", 20*time.Millisecond)
		cache.Close()
		_ = client.Close()
	})
}

// inCache runs a test with a cache of one key, fed by the cluster of a bubble.
func inCache(t *testing.T, test func(t *testing.T, b *bubble, cache *tenure.Cache)) {
	t.Helper()
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		if _, err := b.session.KV().Put(t.Context(), "k", []byte("1")); err != nil {
			t.Fatal(err)
		}
		cache, err := b.client.OpenCache(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		test(t, b, cache)
	})
}

func TestACacheTellsWhoClosedIt(t *testing.T) {
	tests := map[string]struct {
		end  func(b *bubble, cache *tenure.Cache) error
		want error
	}{
		"its Close":          {func(_ *bubble, cache *tenure.Cache) error { cache.Close(); return nil }, tenure.ErrCacheClosed},
		"that of its client": {func(b *bubble, _ *tenure.Cache) error { return b.client.Close() }, tenure.ErrClientClosed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inCache(t, func(t *testing.T, b *bubble, cache *tenure.Cache) {
				if err := cache.Err(); err != nil {
					t.Errorf("before: %v", err)
				}
				if err := test.end(b, cache); err != nil {
					t.Fatal(err)
				}
				cache.Close()
				if err := cache.Err(); !errors.Is(err, test.want) || cache.Get("k") == nil {
					t.Errorf("got %v and %v, want %v and what it had", err, cache.Get("k"), test.want)
				}
			})
		})
	}
}

func TestACacheThatHistoryForgotBeginsAgainWithPauses(t *testing.T) {
	inCache(t, func(t *testing.T, b *bubble, cache *tenure.Cache) {
		b.refuseWatches(tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED)
		pass(time.Minute)
		b.mu.Lock()
		streams := b.keys.streams
		b.mu.Unlock()
		if streams > 200 {
			t.Errorf("%d watches were begun in a minute", streams)
		}
		if _, err := b.session.KV().Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		b.refuseWatches(0)
		pass(3 * time.Second)
		if keys := cache.Keys(); len(keys) > 0 || cache.Err() != nil {
			t.Errorf("has %v, %v, want nothing", keys, cache.Err())
		}
	})
}
