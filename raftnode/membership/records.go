package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// records reads and writes the replicated records of members.
type records struct{ c Consensus }

// tombstoned reports whether an id belonged to a member that was removed; not while the store is being replaced.
func (r records) tombstoned(id uint64) bool {
	rd := r.c.Store().NewReader()
	removed, err := rd.IsRemoved(id)
	return errors.Join(err, rd.Close()) == nil && removed
}

// all returns the members' records; none while the store is being replaced.
func (r records) all() []*storev1.Member {
	rd := r.c.Store().NewReader()
	all, err := rd.Members()
	if err = errors.Join(err, rd.Close()); err != nil {
		return nil
	}
	return all
}

// of returns a copy of a member's record, nil if there is none.
func (r records) of(id uint64) *storev1.Member {
	for _, m := range r.all() {
		if m.GetId() == id {
			return proto.CloneOf(m)
		}
	}
	return nil
}

// tokens returns the tokens with which members have joined, by the members' ids; none while the store is being replaced.
func (r records) tokens() map[uint64]storage.JoinToken {
	rd := r.c.Store().NewReader()
	all, err := rd.JoinTokens()
	if err = errors.Join(err, rd.Close()); err != nil {
		return nil
	}
	used := map[uint64]storage.JoinToken{}
	for _, t := range all {
		if t.GetMemberId() != 0 {
			used[t.GetMemberId()] = t
		}
	}
	return used
}

// put writes a member's record.
func (r records) put(ctx context.Context, m *storev1.Member) error {
	return r.propose(ctx, &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: m}}})
}

// remove forgets a member that raft has forgotten, and keeps its id from being used again.
func (r records) remove(ctx context.Context, id uint64) error {
	return r.propose(ctx, deletion(id))
}

// removeAllowed is remove where nothing was done for it before: it does nothing if rights were taken away since it was allowed.
func (r records) removeAllowed(ctx context.Context, id uint64) error {
	cmd := deletion(id)
	if storage.KnowsPrincipals(r.c.Store().Applied().ClusterVersion) {
		cmd.AuthorisedBelow = allowedBelow(ctx)
	}
	return r.propose(ctx, cmd)
}

// deletion is the command that forgets a member.
func deletion(id uint64) *storev1.Command {
	return &storev1.Command{
		WallTimeMs: time.Now().UnixMilli(),
		Kind:       &storev1.Command_DeleteMember{DeleteMember: &storev1.DeleteMember{Id: id}},
	}
}

// propose proposes a command about members and makes an error of its failure.
func (r records) propose(ctx context.Context, cmd *storev1.Command) error {
	result, err := r.c.Propose(ctx, cmd)
	if err != nil {
		return err
	}
	f := result.GetFailure()
	switch f.GetReason() {
	case storev1.FailureReason_FAILURE_REASON_UNSPECIFIED:
		return nil
	case storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS:
		return fmt.Errorf("%w: %s", ErrMemberExists, storage.FailureText(f))
	case storev1.FailureReason_FAILURE_REASON_MEMBER_REMOVED:
		return fmt.Errorf("%w: %s", ErrMemberRemoved, storage.FailureText(f))
	case storev1.FailureReason_FAILURE_REASON_JOIN_TOKEN_REFUSED:
		return fmt.Errorf("%w: %s", ErrJoinToken, storage.FailureText(f))
	case storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED:
		return ErrNotEnabled
	case storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD:
		return ErrRightsTaken
	default:
		return fmt.Errorf("%w: %s", ErrMemberRefused, storage.FailureText(f))
	}
}
