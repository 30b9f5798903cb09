package tenure_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// fakeCatalog notes what it is asked, and answers registrations when it may.
type fakeCatalog struct {
	tenurev1.UnimplementedCatalogServiceServer

	mu      sync.Mutex    // Guards what follows.
	answers chan struct{} // Closed when registrations are answered.
	asked   []string      // Idempotency keys of registrations, and "gone " with the ids of instances that are deregistered.
}

// note notes what is asked, and returns what is closed when registrations are answered.
func (c *fakeCatalog) note(what string) (answers <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, what)
	return c.answers
}

func (c *fakeCatalog) RegisterNode(ctx context.Context, r *tenurev1.RegisterNodeRequest) (*tenurev1.RegisterNodeResponse, error) {
	answers := c.note(string(r.GetOptions().GetIdempotencyKey()))
	select {
	case <-answers:
		return &tenurev1.RegisterNodeResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *fakeCatalog) DeregisterService(
	_ context.Context, r *tenurev1.DeregisterServiceRequest,
) (*tenurev1.DeregisterServiceResponse, error) {
	c.note("gone " + r.GetNode() + "/" + r.GetServiceId())
	return &tenurev1.DeregisterServiceResponse{}, nil
}

// TestARegistrationWhoseCallerGaveUpIsTakenBack gives up before the answer to a registration comes, and registers again at once.
func TestARegistrationWhoseCallerGaveUpIsTakenBack(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		catalog := &fakeCatalog{answers: make(chan struct{})}
		tenurev1.RegisterCatalogServiceServer(b.members[0].Member, catalog)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		service := tenure.Service{Name: "web", Node: "n"}
		if _, err := b.client.Register(ctx, service); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want that the time is over", err)
		}
		again := make(chan error, 1)
		go func() {
			_, err := b.client.Register(t.Context(), service)
			again <- err
		}()
		synctest.Wait()
		close(catalog.answers)
		if err := <-again; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		catalog.mu.Lock()
		defer catalog.mu.Unlock()
		gone := slices.Index(catalog.asked, "gone n/web")
		if gone < 0 || len(slices.Compact(slices.Clone(catalog.asked[:gone]))) != 1 || len(catalog.asked) != gone+2 {
			t.Errorf("asked %q, want that the first is made certain of, taken back, and then made anew", catalog.asked)
		}
	})
}

// TestARegistrationThatIsOpenIsNotTakenBack registers an instance once more, and gives up before the answer comes.
func TestARegistrationThatIsOpenIsNotTakenBack(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, b *bubble) {
		catalog := &fakeCatalog{answers: make(chan struct{})}
		close(catalog.answers)
		tenurev1.RegisterCatalogServiceServer(b.members[0].Member, catalog)
		service := tenure.Service{Name: "web", Node: "n"}
		if _, err := b.client.Register(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		late := make(chan struct{})
		catalog.mu.Lock()
		catalog.answers = late
		catalog.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.client.Register(ctx, service); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want that the time is over", err)
		}
		close(late)
		pass(ttl)
		catalog.mu.Lock()
		defer catalog.mu.Unlock()
		if slices.Contains(catalog.asked, "gone n/web") {
			t.Errorf("asked %q, want that the open registration stays", catalog.asked)
		}
	})
}
