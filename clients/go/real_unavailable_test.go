package tenure_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/test/rig"
)

// short is how long a call waits that is to fail. On a slow machine nothing may be known then: it is made again.
const short = 300 * time.Millisecond

// tells calls until the error says this. If the target speaks gRPC, a request may have left just before the time was over: nobody knows what
// became of it, and the call is made again.
func tells(t *testing.T, target string, parts []string, speaksGRPC bool, options ...tenure.Option) {
	t.Helper()
	c, err := tenure.Open(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for begun := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), short)
		_, err := c.OpenSession(ctx)
		cancel()
		if speaksGRPC && errors.Is(err, tenure.ErrOutcomeUnknown) && errors.Is(err, context.DeadlineExceeded) && time.Since(begun) < 5*patience {
			continue
		}
		if !errors.Is(err, tenure.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || tenure.AppliedOf(err) != tenure.AppliedNo {
			t.Fatalf("got %v, applied %s; want ErrUnavailable, and nothing applied", err, tenure.AppliedOf(err))
		}
		missing := ""
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				missing = part
			}
		}
		if missing == "" {
			return
		}
		if time.Since(begun) > 5*patience {
			t.Fatalf("got %v, without %s", err, missing)
		}
	}
}

func TestWhoCannotReachAMemberIsToldWhy(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	at := rig.Start(ctx, t, binary).Addresses
	const http = " (it speaks HTTP/1: is this an HTTP port? gRPC's is 7400 by default)"
	alert, closing := answering(t, "\x15\x03\x03\x00\x02\x02\x28"), answering(t, "")
	nameless := tenure.WithDialer(func(context.Context, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "h9", IsNotFound: true}}
	})
	tests := map[string]struct {
		target  string
		parts   []string
		options []tenure.Option
	}{
		"nobody listens": {
			"tenure://127.0.0.1:1,127.0.0.1:2", []string{"127.0.0.1:1 (connection refused)", "127.0.0.1:2 (connection refused)"}, nil,
		},
		"there is no such name":         {"tenure://h9:7400", []string{"h9:7400 (its name is not known)"}, []tenure.Option{nameless}},
		"the port is for HTTP":          {"tenure://" + at.HTTP, []string{at.HTTP + http}, nil},
		"the port is for HTTP, not TLS": {"tenures://" + at.HTTP, []string{at.HTTP + http}, nil},
		"the port is for peers": {
			"tenure://" + at.Peer, []string{at.Peer + " (it does not serve Tenure's API: is this a peer port?)"}, nil,
		},
		"the member has no TLS":       {"tenures://" + at.GRPC, []string{at.GRPC + " (it has no TLS: use tenure://)"}, nil},
		"the member demands TLS":      {"tenure://" + alert, []string{alert + " (it demands TLS: use tenures://)"}, nil},
		"the member may demand TLS":   {"tenure://" + closing, []string{closing + " (it closed the connection: if it demands TLS, use tenures://)"}, nil},
		"it speaks of something else": {"tenure://" + answering(t, "220 mail"), []string{"(it does not speak HTTP/2)"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tells(t, test.target, test.parts, strings.HasSuffix(test.target, at.Peer), test.options...)
		})
	}
}

// answering listens, gives every caller the same answer to whatever it says first, and returns its address.
func answering(t *testing.T, answer string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return // The test is over.
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				said := make([]byte, 4096)
				if _, err := c.Read(said); err != nil {
					return
				}
				if _, err := c.Write([]byte(answer)); err != nil {
					return
				}
				if tcp, ok := c.(*net.TCPConn); ok { // Else what comes still makes the kernel take the answer back.
					_ = tcp.CloseWrite()
				}
				for {
					if _, err := c.Read(said); err != nil {
						return
					}
				}
			})
		}
	})
	return listener.Addr().String()
}

func TestAnAddressThatIsNoMembersIsLeftForOneThatIs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	at := rig.Start(ctx, t, binary).Addresses
	for range 10 {
		c, err := tenure.Open("tenure://" + at.Peer + "," + at.GRPC)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range c.Watch(ctx, tenure.OnKeys("k"), tenure.WithInitial()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		if err := c.Connect(ctx); err != nil {
			t.Error(err)
		}
		if _, err := c.OpenSession(ctx); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestConnectSaysThatNoneIsAMember(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	at := rig.Start(ctx, t, binary).Addresses
	c, err := tenure.Open("tenure://" + at.Peer)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	err = c.Connect(ctx)
	unreachable, ok := errors.AsType[*tenure.UnreachableError](err)
	if !ok || len(unreachable.Causes) != 1 || !strings.Contains(err.Error(), "is this a peer port?") {
		t.Errorf("got %v, want that it is no member", err)
	}
}
