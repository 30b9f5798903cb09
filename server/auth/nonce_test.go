package auth_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/peer"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/reason"
)

const (
	denied  = tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED
	tooMany = tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS
)

// from returns the context of a call from an address.
func from(t *testing.T, address string) context.Context {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return peer.NewContext(t.Context(), &peer.Peer{Addr: a})
}

func TestNonces(t *testing.T) {
	now, file := begin, ""
	n := auth.NewNonces(func(text string) error { file = text; return nil }, func() time.Time { return now })
	check := func(sentence, address, nonce string, want tenurev1.ErrorReason) {
		t.Helper()
		var got tenurev1.ErrorReason
		if err := n.Check(from(t, address), nonce); err != nil {
			got = reason.Of(err).Reason
		}
		if got != want {
			t.Errorf("%s: got %v, want %v", sentence, got, want)
		}
	}
	const a, again, b = "192.0.2.1:5", "192.0.2.1:6", "192.0.2.2:5"
	check("a guess before there is any", b, "x", denied)
	check("a call without one", a, "", denied)
	first := file
	check("the right one", a, first, 0)
	check("it may be used again", a, first, 0)
	check("a wrong one", a, first[1:], denied)
	check("another wrong one from there, too early", again, first[2:], tooMany)
	check("the right one from there", again, first, 0)
	check("without one from there", again, "", denied)
	now = now.Add(time.Minute)
	check("a wrong one after a minute", again, first[1:], denied)
	if file != first {
		t.Error("a nonce that is still good was replaced")
	}
	now = begin.Add(10 * time.Minute)
	check("after ten minutes", a, first, denied)
	check("a call without one then", a, "", denied)
	if file == first || len(file) != 32 {
		t.Errorf("got the nonce %q after %q", file, first)
	}
	check("the new one from another address", b, file, 0)
}

// TestGuessersDoNotKeepOutWhoReadsTheFile has as many addresses guess as are remembered, the operator's among them.
func TestGuessersDoNotKeepOutWhoReadsTheFile(t *testing.T) {
	file := ""
	n := auth.NewNonces(func(text string) error { file = text; return nil }, func() time.Time { return begin })
	const operator = "192.0.2.1:5"
	_ = n.Check(from(t, operator), "")
	for i := range 4096 {
		_ = n.Check(from(t, fmt.Sprintf("10.0.%d.%d:5", i/256, i%256)), "x")
	}
	for sentence, address := range map[string]string{"the operator": operator, "one who has guessed": "10.0.0.0:6"} {
		if err := n.Check(from(t, address), "y"); reason.Of(err) == nil || reason.Of(err).Reason != tooMany {
			t.Errorf("%s, with a wrong one: got %v, want that it waits", sentence, err)
		}
		if err := n.Check(from(t, address), file); err != nil {
			t.Errorf("%s, with the right one: %v", sentence, err)
		}
	}
}

// TestManyShowNoncesAtOnce is for the race detector.
func TestManyShowNoncesAtOnce(t *testing.T) {
	file := ""
	n := auth.NewNonces(func(text string) error { file = text; return nil }, nil)
	var all sync.WaitGroup
	for i := range 8 {
		ctx := from(t, fmt.Sprintf("192.0.2.%d:5", i+1))
		all.Go(func() {
			for range 100 {
				if n.Check(ctx, "") == nil || n.Check(ctx, "wrong") == nil {
					t.Error("a call without the nonce passes")
				}
			}
		})
	}
	all.Wait()
	if err := n.Check(from(t, "192.0.2.9:5"), file); err != nil {
		t.Errorf("the nonce of the file is refused: %v", err)
	}
}
