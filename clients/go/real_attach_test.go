package tenure_test

import (
	"errors"
	"testing"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

func TestWhoAttachesToASessionDoesNotMeddleWithItsOwner(t *testing.T) {
	member := rig.Start(t.Context(), t, binary)
	owner := session(t, open(t, member.Addresses.GRPC))
	held, err := owner.Lock("lock").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = owner.KV().Put(t.Context(), "owners", []byte("1")); err != nil {
		t.Fatal(err)
	}
	c := open(t, member.Addresses.GRPC)
	attached, err := c.AttachSession(t.Context(), owner.ID(), owner.Secret())
	if err != nil {
		t.Fatal(err)
	}
	if kv, read := attached.KV().Get(t.Context(), "owners"); read != nil || string(kv.Value) != "1" {
		t.Errorf("read %+v, %v", kv, read)
	}
	for range 3 { // The owner's numbers begin at 1, too.
		_, err = attached.KV().Put(t.Context(), "others", []byte("2"))
		if !errors.Is(err, tenure.ErrInvalidArgument) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Errorf("put: %v, want ErrInvalidArgument and nothing applied", err)
		}
	}
	if _, err := c.KV().Get(t.Context(), "others"); !errors.Is(err, tenure.ErrKeyNotFound) {
		t.Errorf("it was written all the same: %v", err)
	}
	if err := attached.Close(); err != nil {
		t.Error(err)
	}
	if _, err := owner.KV().Put(t.Context(), "owners", []byte("3"), tenure.WithHeld(held)); err != nil || !held.Safe() {
		t.Errorf("the owner's next put: %v, held %v", err, held.Err())
	}
}
