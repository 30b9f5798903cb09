package line

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
)

func TestCredit(t *testing.T) {
	c := newCredit(0, 0)
	want := func(enough bool, why string) {
		t.Helper()
		if c.enough() != enough {
			t.Errorf("%s: enough is %v", why, !enough)
		}
	}
	want(false, "nothing was given")
	c.add(2, 10)
	want(true, "a message may exceed the bytes that are left")
	c.spend(100)
	want(false, "the bytes are used up")
	c.add(0, 91)
	want(true, "one message and one byte are left")
	c.spend(1)
	want(false, "one message and one byte were left")
	for range 3 {
		c.add(math.MaxUint32, math.MaxUint64)
	}
	if c.messages != creditMessagesMax || c.bytes != creditBytesMax {
		t.Errorf("%d messages and %d bytes are left, want what counts at most", c.messages, c.bytes)
	}
}

// never is a message that must not be encoded.
type never struct{ t *testing.T }

func (n never) Encoded() []byte {
	n.t.Error("a message is encoded without credit for it")
	return nil
}

// TestNothingIsEncodedWithoutCredit sends a message of a watch whose client gave none.
func TestNothingIsEncodedWithoutCredit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &followed{line: &line{}, call: &call{credit: newCredit(0, 0)}}
	if err := f.Send(ctx, never{t}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it waits until the call ends", err)
	}
}

// TestPartsThatAreTheSame offers parts to calls that are at different places.
func TestPartsThatAreTheSame(t *testing.T) {
	var p parts
	p.init()
	one, two := item{data: []byte("one"), shared: true}, item{data: []byte("two"), shared: true}
	own := item{data: []byte("own")}
	first := p.add(&call{number: 1}, one)
	second := p.add(&call{number: 1}, two)
	switch {
	case p.same(own, 0) != nil:
		t.Error("what is not shared is the same")
	case p.same(one, 0) != first || p.same(two, 0) != second || p.same(two, first.at) != second:
		t.Error("what is shared, and comes later, is not the same")
	case p.same(one, first.at) != nil || p.same(one, second.at) != nil:
		t.Error("a part before the last of its call is the same: it would come out of order")
	}
	p.taken(first)
	if p.same(one, 0) != nil || p.same(two, 0) != second {
		t.Error("a part that was sent is the same")
	}
	big := item{data: make([]byte, partBytesMax)}
	large := p.add(&call{number: 2}, big)
	room := p.full()
	if room == nil {
		t.Fatal("there is room for ever")
	}
	p.taken(second)
	select {
	case <-room:
		t.Error("there is room while the large part waits")
	default:
	}
	p.taken(large)
	select {
	case <-room:
	default:
		t.Error("nothing waits, and there is no room")
	}
	if p.bytes != 0 || len(p.shared) != 0 {
		t.Errorf("%d bytes and %d shared parts stay", p.bytes, len(p.shared))
	}
}

// TestCreditIsGivenWhileItIsSpent is for the race detector too.
func TestCreditIsGivenWhileItIsSpent(t *testing.T) {
	const rounds = 1000
	c := newCredit(1, 1)
	var all sync.WaitGroup
	all.Go(func() {
		for range rounds {
			_ = c.enough()
			c.add(1, 3)
		}
	})
	all.Go(func() {
		for range rounds {
			c.spend(3) // It alone, so that its goroutine takes no other lock.
		}
	})
	all.Wait()
	if c.messages != 1 || c.bytes != 1 {
		t.Errorf("%d messages and %d bytes are left, want 1 of each", c.messages, c.bytes)
	}
}
