package agent

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
	"github.com/tenure-io/tenure/server/authz"
)

// A change that an agent passes on, and whose answer is lost, is sent again under its key, or not at all.
func TestAnAgentSendsNoChangeTwice(t *testing.T) {
	for name, test := range map[string]struct {
		method            string
		request, response proto.Message
		calls             int
		code              codes.Code
	}{
		"a put is known again": {tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "a"}, &tenurev1.PutResponse{}, 2, codes.OK},
		"a new session is known again": {
			tenurev1.SessionService_CreateSession_FullMethodName, &tenurev1.CreateSessionRequest{}, &tenurev1.CreateSessionResponse{}, 2, codes.OK,
		},
		"a renewal may be sent again": {
			tenurev1.SessionService_RenewSession_FullMethodName, &tenurev1.RenewSessionRequest{}, &tenurev1.RenewSessionResponse{}, 2, codes.OK,
		},
		"so may the end of a session, which takes no key": {
			tenurev1.SessionService_DestroySession_FullMethodName, &tenurev1.DestroySessionRequest{}, &tenurev1.DestroySessionResponse{}, 2, codes.OK,
		},
		"a read may be sent again": {tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{}, &tenurev1.GetResponse{}, 2, codes.OK},
		"a run of a query is a read": {
			tenurev1.QueryService_ExecuteQuery_FullMethodName, &tenurev1.ExecuteQueryRequest{}, &tenurev1.ExecuteQueryResponse{}, 2, codes.OK,
		},
		"and so is its explanation": {
			tenurev1.QueryService_ExplainQuery_FullMethodName, &tenurev1.ExplainQueryRequest{}, &tenurev1.ExplainQueryResponse{}, 2, codes.OK,
		},
		"a question for a right is a read": {
			tenurev1.AuthService_CheckAccess_FullMethodName, &tenurev1.CheckAccessRequest{}, &tenurev1.CheckAccessResponse{}, 2, codes.OK,
		},
		"and so is one for the mode": {
			tenurev1.AuthService_WhoAmI_FullMethodName, &tenurev1.WhoAmIRequest{}, &tenurev1.WhoAmIResponse{}, 2, codes.OK,
		},
		"a change without a key is sent once": {
			tenurev1.ClusterService_TransferLeadership_FullMethodName,
			&tenurev1.TransferLeadershipRequest{}, &tenurev1.TransferLeadershipResponse{}, 1, codes.Unknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls, keys := 0, map[string]bool{}
			address := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(func(_ context.Context, request any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				if info.FullMethod != test.method {
					return nil, status.Errorf(codes.Unimplemented, "unknown method %s", info.FullMethod)
				}
				calls++
				if change, ok := request.(interface{ GetOptions() *tenurev1.CallOptions }); ok {
					key := string(change.GetOptions().GetIdempotencyKey())
					if _, end := request.(*tenurev1.DestroySessionRequest); end && key != "" {
						return nil, status.Error(codes.InvalidArgument, "the key has no effect")
					}
					keys[key] = true
				}
				if calls == 1 {
					return nil, status.Error(codes.Unavailable, "the connection was lost")
				}
				return test.response, nil
			}))
			client, err := tenure.Open("tenure://" + address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			err = clusterConn{client}.Invoke(t.Context(), test.method, test.request, proto.Clone(test.response))
			if status.Code(err) != test.code || calls != test.calls || len(keys) > 1 {
				t.Fatalf("got %v after %d calls with %d keys; want %v after %d calls with one key", err, calls, len(keys), test.code, test.calls)
			}
			if test.code == codes.Unknown && errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN {
				t.Errorf("the reason is %v", errorinfo.Reason(err))
			}
		})
	}
}

// A call that has no answer when its time is over, or when its caller has gone, ends with the code that a connection to a member would give it.
func TestAnAgentsCallEndsAsThatToAMember(t *testing.T) {
	address := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(func(ctx context.Context, _ any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		if info.FullMethod != tenurev1.ClusterService_ListMembers_FullMethodName && info.FullMethod != tenurev1.KVService_Put_FullMethodName {
			return nil, status.Errorf(codes.Unimplemented, "unknown method %s", info.FullMethod)
		}
		<-ctx.Done() // As one that finds no leader.
		return nil, status.FromContextError(ctx.Err()).Err()
	}))
	client, err := tenure.Open("tenure://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	c := clusterConn{client}
	late := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 50*time.Millisecond)
	}
	gone := func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		return ctx, cancel
	}
	over := func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), 0) }
	read := func(ctx context.Context) error {
		return c.Invoke(ctx, tenurev1.ClusterService_ListMembers_FullMethodName, &tenurev1.ListMembersRequest{}, &tenurev1.ListMembersResponse{})
	}
	change := func(ctx context.Context) error {
		return c.Invoke(ctx, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "a"}, &tenurev1.PutResponse{})
	}
	watch := func(ctx context.Context) error {
		_, err := c.NewStream(ctx, &tenurev1.WatchService_ServiceDesc.Streams[0], tenurev1.WatchService_Watch_FullMethodName)
		return err
	}
	for name, test := range map[string]struct {
		call func(context.Context) error
		ends func() (context.Context, context.CancelFunc)
		code codes.Code
	}{
		"a read whose time is over":     {read, late, codes.DeadlineExceeded},
		"a read whose caller has gone":  {read, gone, codes.Canceled},
		"a change whose time is over":   {change, late, codes.DeadlineExceeded},
		"a read whose time was over":    {read, over, codes.DeadlineExceeded},
		"a watch whose time was over":   {watch, over, codes.DeadlineExceeded},
		"a change whose caller is gone": {change, gone, codes.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := test.ends()
			defer cancel()
			if err := test.call(ctx); status.Code(err) != test.code {
				t.Errorf("got %v, want the code %v", err, test.code)
			}
		})
	}
}

// TestAnAgentSendsNoTokenOfOthersInClear has a client of Consul show its token to an agent without one of its own, whose member is another machine.
func TestAnAgentSendsNoTokenOfOthersInClear(t *testing.T) {
	var shown atomic.Int64
	address := (&fake.Member{}).Serve(t, grpc.UnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		if said, _ := metadata.FromIncomingContext(ctx); len(said.Get("authorization")) > 0 {
			shown.Add(1)
		}
		return nil, status.Error(codes.Unimplemented, "")
	}))
	client, err := tenure.Open("tenure://h1", tenure.WithFixedMembers(), tenure.WithDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	c := clusterConn{client}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer theirs")
	for name, call := range map[string]func() error{
		"a read": func() error {
			return c.Invoke(ctx, tenurev1.KVService_Get_FullMethodName, &tenurev1.GetRequest{Key: "a"}, &tenurev1.GetResponse{})
		},
		"a change": func() error {
			return c.Invoke(ctx, tenurev1.KVService_Put_FullMethodName, &tenurev1.PutRequest{Key: "a"}, &tenurev1.PutResponse{})
		},
		"a change without a key": func() error {
			return c.Invoke(ctx, tenurev1.ClusterService_TransferLeadership_FullMethodName,
				&tenurev1.TransferLeadershipRequest{}, &tenurev1.TransferLeadershipResponse{})
		},
		"a watch": func() error {
			_, err := c.NewStream(ctx, &tenurev1.WatchService_ServiceDesc.Streams[0], tenurev1.WatchService_Watch_FullMethodName)
			return err
		},
		"what a member decides about": func() error {
			return newDecider(c).decide(ctx, authz.Local{}, func() error {
				t.Error("the call is made though nobody decided")
				return nil
			})
		},
	} {
		err := call()
		said := reply.Of(err)
		if errorinfo.Reason(err) != tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE || errorinfo.Fact(err, "applied") != "no" || said.Status != http.StatusBadRequest ||
			!strings.Contains(said.Text, "the agent does not send the token to h1:7400 without TLS") || !strings.Contains(said.Text, "--ca-file") {
			t.Errorf("%s: got %v, and %+v for a client of Consul; want that the token is not sent, and what to do", name, err, said)
		}
	}
	if n := shown.Load(); n != 0 {
		t.Errorf("%d calls showed the token in clear", n)
	}
}
