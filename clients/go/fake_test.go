package tenure_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/clients/go/internal/memnet"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// fakeCluster answers what a test needs, over a network in memory: sessions with a TTL, locks, keys and their watches. All members share one
// state. It is no model of a cluster: what a cluster does is tested against real ones.
type fakeCluster struct {
	net *memnet.Net

	mu         sync.Mutex // Guards what follows.
	members    []*fakeMember
	list       []string // What ListMembers answers.
	leader     string   // Who leads, as it says. Empty: nobody.
	putAt      []string // Where puts arrived.
	sessions   map[string]*fakeSession
	created    map[string]string // Ids of sessions by idempotency key.
	onCreate   func()            // Called when a session is made; the answer then waits until nobody does for it.
	locks      fakeLocks
	keys       fakeKeys
	revision   uint64
	results    map[string]int // Results of puts by request id: how often each was sent.
	puts       []*tenurev1.PutRequest
	outdated   int             // How many attempts to attach are refused.
	loseNext   int             // How many answers to puts are lost.
	token      string          // What puts must carry; empty: nothing.
	refuseRest error           // What puts that come again are refused with; nil: they are not.
	pause      time.Duration   // How long the next put takes.
	slow       map[string]bool // Keys of which puts are not answered at present.
	refuse     tenurev1.ErrorReason
	refuseOnce bool                    // Whether refuse is over with the first renewal.
	refusals   int                     // How many renewals streams refused.
	beyond     string                  // The session that the credential of a stream does not cover; that of calls does.
	denied     string                  // The session that may not be attached to.
	denials    int                     // How often that was refused.
	hints      []*tenurev1.SessionHint // They go with the next answer to a renewal.
	destroys   []*tenurev1.DestroySessionRequest
	breaks     fakeBreaks
}

type fakeSession struct {
	ttl      time.Duration
	deadline time.Time
	epoch    uint64
	instance string // That took it over.
	renewals []time.Time
	attempts []uint64
	over     tenurev1.ErrorReason
}

// fakeMember is one member of a fakeCluster.
type fakeMember struct {
	tenurev1.UnimplementedSessionServiceServer
	tenurev1.UnimplementedLockServiceServer
	tenurev1.UnimplementedElectionServiceServer
	tenurev1.UnimplementedKVServiceServer
	tenurev1.UnimplementedWatchServiceServer
	tenurev1.UnimplementedClusterServiceServer
	*memnet.Member

	cluster *fakeCluster
	address string
}

func newFakeCluster(members int) *fakeCluster {
	f := &fakeCluster{
		net: memnet.New(), sessions: map[string]*fakeSession{}, created: map[string]string{}, results: map[string]int{}, slow: map[string]bool{},
		keys: newFakeKeys(),
		locks: fakeLocks{
			holds: map[string]*tenurev1.Hold{}, places: map[string][]*fakePlace{}, marks: map[string]uint64{}, answers: map[string]*fakePlace{},
		},
	}
	for range members {
		f.grow()
	}
	return f
}

// grow adds a member.
func (f *fakeCluster) grow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	address := fmt.Sprintf("m%d:7400", len(f.members)+1)
	m := &fakeMember{Member: f.net.Listen(address), cluster: f, address: address}
	tenurev1.RegisterSessionServiceServer(m.Member, m)
	tenurev1.RegisterLockServiceServer(m.Member, m)
	tenurev1.RegisterElectionServiceServer(m.Member, m)
	tenurev1.RegisterKVServiceServer(m.Member, m)
	tenurev1.RegisterWatchServiceServer(m.Member, m)
	tenurev1.RegisterClusterServiceServer(m.Member, m)
	f.members = append(f.members, m)
	f.list = append(f.list, address)
}

// each does something to every member.
func (f *fakeCluster) each(do func(m *fakeMember)) {
	f.mu.Lock()
	members := slices.Clone(f.members)
	f.mu.Unlock()
	for _, m := range members {
		do(m)
	}
}

func refusal(code codes.Code, reason tenurev1.ErrorReason, applied string) error {
	name := strings.TrimPrefix(reason.String(), "ERROR_REASON_") // As members send it.
	s, err := status.New(code, name).WithDetails(&errdetails.ErrorInfo{
		Reason: name, Domain: "tenure.io", Metadata: map[string]string{"applied": applied},
	})
	if err != nil {
		return err
	}
	return s.Err()
}

// fates are what becomes of the next calls of a kind, one each: an error that says that nothing was applied refuses the call, another one is given
// instead of its answer, and nil changes nothing.
type fates []error

// next returns what becomes of the next call.
func (f *fates) next() (refused, lost error) {
	if len(*f) == 0 {
		return nil, nil
	}
	fate := (*f)[0]
	*f = (*f)[1:]
	if fate != nil && errorinfo.Fact(fate, "applied") == string(tenure.AppliedNo) {
		return fate, nil
	}
	return nil, fate
}

// denied is how a member's gate refuses a caller whose right is gone, before it looks at anything else.
func denied() error {
	return refusal(codes.PermissionDenied, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "no")
}

// lost is an answer that did not come.
func lost() error {
	return refusal(codes.Unavailable, tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, "unknown")
}

// session returns a live session, or why it is none. Call it under mu.
func (f *fakeCluster) session(id string) (*fakeSession, tenurev1.ErrorReason) {
	s := f.sessions[id]
	switch {
	case s == nil:
		return nil, tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND
	case s.over != 0:
		return nil, s.over
	case s.ttl > 0 && time.Now().After(s.deadline):
		s.over = tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED
		return nil, s.over
	}
	return s, 0
}

func (f *fakeCluster) header() *tenurev1.ResponseHeader {
	return &tenurev1.ResponseHeader{Revision: f.revision}
}

func (m *fakeMember) CreateSession(
	ctx context.Context, r *tenurev1.CreateSessionRequest,
) (*tenurev1.CreateSessionResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	ttl := r.GetTtl().AsDuration()
	id, again := f.created[string(r.GetOptions().GetIdempotencyKey())]
	if !again {
		id = fmt.Sprintf("session-%d", len(f.sessions)+1)
		f.created[string(r.GetOptions().GetIdempotencyKey())] = id
		f.sessions[id] = &fakeSession{ttl: ttl, deadline: time.Now().Add(ttl), epoch: 1}
		if f.onCreate != nil {
			f.onCreate()
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return &tenurev1.CreateSessionResponse{
		Header: f.header(), SessionId: id, Ttl: r.GetTtl(), Epoch: 1, KeepaliveInterval: durationpb.New(min(ttl/3, 10*time.Second)),
	}, nil
}

func (m *fakeMember) AttachSession(
	_ context.Context, r *tenurev1.AttachSessionRequest,
) (*tenurev1.AttachSessionResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	s, reason := f.session(r.GetSessionId())
	if reason != 0 {
		return nil, refusal(codes.FailedPrecondition, reason, "no")
	}
	if r.GetSessionId() == f.denied {
		f.denials++
		return nil, refusal(codes.PermissionDenied, tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "no")
	}
	s.attempts = append(s.attempts, r.GetAttempt())
	if f.outdated > 0 {
		f.outdated--
		return nil, refusal(codes.FailedPrecondition, tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED, "no")
	}
	if r.GetTakeOver() {
		if reason = f.takeOver(r, s); reason != 0 {
			return nil, refusal(codes.FailedPrecondition, reason, "no")
		}
	}
	answer := &tenurev1.AttachSessionResponse{
		Header:  f.header(),
		Session: &tenurev1.Session{SessionId: r.GetSessionId(), Epoch: s.epoch, Ttl: durationpb.New(s.ttl)},
	}
	return f.locks.page(answer, r), nil
}

func (m *fakeMember) DestroySession(
	_ context.Context, r *tenurev1.DestroySessionRequest,
) (*tenurev1.DestroySessionResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	f.destroys = append(f.destroys, r)
	s, reason := f.session(r.GetSessionId())
	if reason == 0 {
		s.over = tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED
	}
	return &tenurev1.DestroySessionResponse{Header: f.header(), Destroyed: reason == 0}, nil
}

func (m *fakeMember) KeepAlive(
	stream grpc.BidiStreamingServer[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse],
) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return err
		}
		answer := &tenurev1.KeepAliveResponse{Hints: m.cluster.takeHints()}
		for _, r := range request.GetRenewals() {
			answer.Verdicts = append(answer.Verdicts, m.cluster.renewOverStream(r))
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

func (m *fakeMember) RenewSession(_ context.Context, r *tenurev1.RenewSessionRequest) (*tenurev1.RenewSessionResponse, error) {
	f := m.cluster
	verdict := f.renew(&tenurev1.SessionRenewal{SessionId: r.GetSessionId()})
	switch reason := verdict.GetRefused(); reason {
	case 0:
		return &tenurev1.RenewSessionResponse{Header: f.header(), Session: &tenurev1.Session{SessionId: r.GetSessionId(), Ttl: verdict.GetTtl()}}, nil
	case tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED:
		return nil, refusal(codes.PermissionDenied, reason, "no")
	case tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:
		return nil, refusal(codes.Unauthenticated, reason, "no")
	default:
		return nil, refusal(codes.FailedPrecondition, reason, "no")
	}
}

func (f *fakeCluster) takeHints() []*tenurev1.SessionHint {
	f.mu.Lock()
	defer f.mu.Unlock()
	hints := f.hints
	f.hints = nil
	return hints
}

func (f *fakeCluster) renewOverStream(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
	f.mu.Lock()
	beyond := f.beyond == r.GetSessionId()
	if f.refuse != 0 {
		f.refusals++
	}
	f.mu.Unlock()
	if beyond {
		return &tenurev1.RenewalVerdict{
			SessionId: r.GetSessionId(), Number: r.GetNumber(), Refused: tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED,
		}
	}
	return f.renew(r)
}

func (f *fakeCluster) renew(r *tenurev1.SessionRenewal) *tenurev1.RenewalVerdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	verdict := &tenurev1.RenewalVerdict{SessionId: r.GetSessionId(), Number: r.GetNumber(), Refused: f.refuse}
	if f.refuse != 0 {
		if f.refuseOnce {
			f.refuse = 0
		}
		return verdict
	}
	s, reason := f.session(r.GetSessionId())
	if reason != 0 {
		verdict.Refused = reason
		return verdict
	}
	s.deadline = time.Now().Add(s.ttl)
	s.renewals = append(s.renewals, time.Now())
	verdict.Ttl = durationpb.New(s.ttl)
	return verdict
}

// Put counts each request once, however often it comes.
func (m *fakeMember) Put(ctx context.Context, r *tenurev1.PutRequest) (*tenurev1.PutResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	if pause := f.pause; pause > 0 {
		f.pause = 0
		f.mu.Unlock()
		<-time.After(pause)
		f.mu.Lock()
	}
	f.puts = append(f.puts, r)
	f.putAt = append(f.putAt, m.address)
	sent, _ := metadata.FromOutgoingContext(ctx) // The network in memory hands the caller's context on.
	if f.token != "" && !slices.Equal(sent.Get("authorization"), []string{"Bearer " + f.token}) {
		return nil, refusal(codes.Unauthenticated, tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED, "no")
	}
	id := fmt.Sprintf("%v %x", r.GetOptions().GetRequestId(), r.GetOptions().GetIdempotencyKey())
	f.results[id]++
	if f.slow[r.GetKey()] {
		return nil, refusal(codes.Unavailable, tenurev1.ErrorReason_ERROR_REASON_NO_LEADER, "no")
	}
	if f.refuseRest != nil && f.results[id] > 1 {
		return nil, f.refuseRest
	}
	kv, err := f.put(r)
	if err != nil {
		return nil, err
	}
	if f.loseNext > 0 {
		f.loseNext--
		return nil, refusal(codes.Unavailable, tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN, "unknown")
	}
	return &tenurev1.PutResponse{Header: f.header(), Kv: kv}, nil
}

func (m *fakeMember) ListMembers(
	context.Context, *tenurev1.ListMembersRequest,
) (*tenurev1.ListMembersResponse, error) {
	f := m.cluster
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &tenurev1.ListMembersResponse{Header: f.header()}
	for _, address := range f.list {
		answer.Members = append(answer.Members, &tenurev1.Member{
			Id: uint64(slices.Index(f.list, address) + 1), ClientAddress: address, Leader: address == f.leader,
		})
	}
	if header := answer.GetHeader(); header != nil {
		header.MemberId = uint64(slices.Index(f.list, m.address) + 1)
	}
	return answer, nil
}
