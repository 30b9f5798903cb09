package transport

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refusals. Who is refused gets the same error as a call to the other member would make here.
var (
	// ErrWrongCluster says that the members are of different clusters.
	ErrWrongCluster = errors.New("member of another cluster")
	// ErrWrongMember says that another member answers at that address.
	ErrWrongMember = errors.New("another member answers at this address")
	// ErrRemoved says that the caller was removed from the cluster.
	ErrRemoved = errors.New("member was removed from the cluster")
	// ErrStaleIncarnation says that the caller runs on an old or copied data directory.
	ErrStaleIncarnation = errors.New("data directory is older than, or a copy of, the one that the cluster knows")
	// ErrLocalMessage says that a raft message came that only a member itself may send.
	ErrLocalMessage = errors.New("raft message that no peer may send")
	// ErrNameTaken says that another member of the cluster has the name.
	ErrNameTaken = errors.New("another member of the cluster has this name")
	// ErrJoinToken says that a member cannot join with the token that it brought.
	ErrJoinToken = errors.New("the join token is wrong, has ended, is for another name, or was used by another member")
	// ErrNotProven says that a certificate is not that of the member that its owner says it is.
	ErrNotProven = errors.New("the certificate is not that of the member")
	// ErrWithoutTLS says that clients would send their tokens to the member without TLS.
	ErrWithoutTLS = errors.New("the cluster has tokens, and other machines could reach this member's addresses for clients without TLS: give " +
		"--cert-file and --key-file, or loopback addresses only, also for --with-agent and --with-agent-http, which have no TLS; --insecure does not excuse it")
	// ErrRefused says that the cluster does not take the member, for another reason.
	ErrRefused = errors.New("membership refused")
)

// ErrUnknownPeer says that no address of that member is known.
var ErrUnknownPeer = errors.New("no address of that member is known")

// errSilent says that a peer does not answer on a connection that looks alive.
var errSilent = errors.New("peer does not answer")

// Errors of calls that say nothing about the members.
var (
	// ErrTryAgain says that the call comes too early, or that there is no leader; it may succeed later.
	ErrTryAgain = errors.New("try again")
	// ErrNotNow says that this member, as it is now, has no use for what the call brings.
	ErrNotNow = errors.New("not needed now")
	// ErrMalformed says that the call cannot be understood.
	ErrMalformed = errors.New("malformed call")
	// ErrPanicked says that the call met a bug.
	ErrPanicked = errors.New("internal error")
)

// errStarting says that this member is not part of a cluster yet.
var errStarting = fmt.Errorf("%w: member is starting", ErrTryAgain)

// errStranger says that the caller is no member as far as is known here. It may be one that was added a moment ago.
var errStranger = fmt.Errorf("%w: not a member, as far as is known here", ErrTryAgain)

// errNewStart says that nobody confirms yet that the member was started again. It asks again.
var errNewStart = fmt.Errorf("%w: the member does not answer with the start that the call names", ErrTryAgain)

// reasonDomain is the domain of the reasons in ErrorInfo.
const reasonDomain = "peer.tenure.io"

// reasons name the refusals on the wire.
var reasons = []struct {
	err    error
	reason string
}{
	{ErrWrongCluster, "WRONG_CLUSTER"},
	{ErrWrongMember, "WRONG_MEMBER"},
	{ErrRemoved, "MEMBER_REMOVED"},
	{ErrStaleIncarnation, "STALE_INCARNATION"},
	{ErrLocalMessage, "LOCAL_MESSAGE"},
	{ErrNameTaken, "NAME_TAKEN"},
	{ErrJoinToken, "JOIN_TOKEN_REFUSED"},
	{ErrRefused, "MEMBERSHIP_REFUSED"},
	{ErrNotProven, "CERTIFICATE_WRONG"},
	{ErrWithoutTLS, "CLIENTS_WITHOUT_TLS"},
}

// reasonOf returns the reason of a refusal on the wire.
func reasonOf(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return ""
}

// textBytesMax bounds what a refusal says: it may repeat what the caller sent, and trailers have little room.
const textBytesMax = 1024

// textOf returns what a caller is told of an error.
func textOf(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), textBytesMax)], "")
}

// toStatus makes a status of an error; that of a refusal tells its reason. Statuses stay as they are.
func toStatus(err error) error {
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{ErrTryAgain, codes.Unavailable},
		{ErrNotNow, codes.FailedPrecondition},
		{ErrMalformed, codes.InvalidArgument},
		{ErrPanicked, codes.Internal},
	} {
		if errors.Is(err, c.err) {
			return status.Error(c.code, textOf(err))
		}
	}
	for _, r := range reasons {
		if !errors.Is(err, r.err) {
			continue
		}
		s, detailErr := status.New(codes.FailedPrecondition, textOf(err)).
			WithDetails(&errdetails.ErrorInfo{Domain: reasonDomain, Reason: r.reason})
		if detailErr != nil {
			return status.Error(codes.FailedPrecondition, textOf(err))
		}
		return s.Err()
	}
	return err
}

// refusal is a refusal by another member, in its words.
type refusal struct {
	err  error
	text string
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.err }

// FromStatus makes a status with a refusal's reason the refusal again. Other errors stay as they are.
func FromStatus(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != reasonDomain {
			continue
		}
		for _, r := range reasons {
			if r.reason == info.GetReason() {
				return &refusal{err: r.err, text: s.Message()}
			}
		}
	}
	return err
}
