package conn_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/clients/go/internal/conn"
	"github.com/tenure-io/tenure/clients/go/internal/secure"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// tokens is a Token with a second one for whoever was refused, and counts how often it was asked for it.
type tokens struct{ renewals int }

func (*tokens) Get(context.Context) (string, error) { return "own", nil }

func (k *tokens) Renew(context.Context, string) (bool, error) {
	k.renewals++
	return true, nil
}

// refuser is a connection to a member that knows no token, and notes what each call shows.
type refuser struct {
	conn.Transport

	shown [][]string
}

func (r *refuser) note(ctx context.Context) {
	sent, _ := metadata.FromOutgoingContext(ctx)
	r.shown = append(r.shown, sent.Get("authorization"))
}

func (r *refuser) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	r.note(ctx)
	return status.Error(codes.Unauthenticated, "unknown token")
}

func (r *refuser) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	r.note(ctx)
	return refusedStream{}, nil
}

func (r *refuser) Streams(ctx context.Context) int {
	r.note(ctx)
	return 1
}

type refusedStream struct{ grpc.ClientStream }

func (refusedStream) RecvMsg(any) error { return status.Error(codes.Unauthenticated, "unknown token") }

// TestACallShowsOneCredential makes calls with and without a credential of their own over a connection that has a token: the connection's
// takes no other's place, is not sent beside it, and no other is looked for when the caller's is refused.
func TestACallShowsOneCredential(t *testing.T) {
	tests := map[string]struct {
		given    []string
		want     []string
		renewals int
	}{
		"a call without a credential":            {want: []string{"Bearer own"}, renewals: 2},
		"a call with one":                        {given: []string{"Bearer theirs"}, want: []string{"Bearer theirs"}},
		"a call with two, which members refuse":  {given: []string{"Bearer a", "Bearer b"}, want: []string{"Bearer a", "Bearer b"}},
		"a call with one that cannot be a token": {given: []string{"malformed"}, want: []string{"malformed"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			k, r := &tokens{}, &refuser{}
			link, err := conn.Bearing(func(context.Context, string) (conn.Transport, error) { return r, nil }, k, true)(t.Context(), "localhost:1")
			if err != nil {
				t.Fatal(err)
			}
			ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization": test.given})
			if err = link.Invoke(ctx, "/x/Y", nil, nil); status.Code(err) != codes.Unauthenticated {
				t.Errorf("a call: got %v, want Unauthenticated", err)
			}
			s, err := link.NewStream(ctx, nil, "/x/Y")
			if err != nil {
				t.Fatal(err)
			}
			wantStream := codes.Unauthenticated
			if test.renewals > 0 {
				wantStream = codes.Unavailable // Opened again, with the other token.
			}
			if err = s.RecvMsg(nil); status.Code(err) != wantStream {
				t.Errorf("a stream: got %v, want %v", err, wantStream)
			}
			link.Streams(ctx)
			for i, shown := range r.shown {
				if !slices.Equal(shown, test.want) {
					t.Errorf("call %d shows %q, want %q", i, shown, test.want)
				}
			}
			if k.renewals != test.renewals {
				t.Errorf("another token was looked for %d times, want %d", k.renewals, test.renewals)
			}
		})
	}
}

// late is a Token that is not there yet.
type late struct{ tokens }

func (*late) Get(ctx context.Context) (string, error) {
	return "", errors.Join(secure.ErrLate, ctx.Err())
}

// TestATokenThatIsNotThereYetIsNoRefusal makes calls before there is a token: they may be made again, and nothing was applied.
func TestATokenThatIsNotThereYetIsNoRefusal(t *testing.T) {
	link, err := conn.Bearing(func(context.Context, string) (conn.Transport, error) { return &refuser{}, nil }, &late{}, true)(t.Context(), "localhost:1")
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ctx := range map[codes.Code]context.Context{codes.Unavailable: t.Context(), codes.Canceled: over} {
		err = link.Invoke(ctx, "/x/Y", nil, nil)
		if status.Code(err) != want || errorinfo.Fact(err, "applied") != "no" {
			t.Errorf("got %v, want %v and that nothing was applied", err, want)
		}
	}
}
