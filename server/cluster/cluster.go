package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/types/known/durationpb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// Service serves operators.
type Service struct {
	tenurev1.UnimplementedClusterServiceServer
	*call.Caller
	hub     *watch.Hub
	self    Self
	started time.Time
}

// Self is what a member says of itself.
type Self struct {
	// Name, version and zone are as configured.
	Name, Version, Zone string
	// ClientAddr, HTTPAddr and PeerAddr are where others reach it.
	ClientAddr, HTTPAddr, PeerAddr string
	// CheckName refuses the name of a new member that no certificate could prove, where members show one.
	CheckName func(name string) error
	// Alarms returns what an operator should know that the node does not.
	Alarms func() []raftnode.Alarm
}

// New returns the service of a member that says of itself what self does.
func New(c *call.Caller, hub *watch.Hub, self Self) *Service {
	return &Service{Caller: c, hub: hub, self: self, started: time.Now()}
}

// GetStatus serves ClusterService. It answers also without a leader, from what this member has.
func (a *Service) GetStatus(ctx context.Context, _ *tenurev1.GetStatusRequest) (*tenurev1.GetStatusResponse, error) {
	at := a.Node.Store().Applied()
	status := a.Node.Status()
	disk, err := a.Node.Store().DiskBytes()
	if err != nil {
		return nil, err
	}
	usage, err := a.storeUsage()
	if err != nil {
		return nil, err
	}
	header := a.Header(at)
	header.Term = status.Term
	response := &tenurev1.GetStatusResponse{
		Header:            header,
		Leader:            status.LeaderName,
		Members:           a.members(status),
		Member:            a.self.Name,
		Version:           a.self.Version,
		CommitIndex:       status.Commit,
		AppliedIndex:      at.Index,
		FirstIndex:        status.FirstIndex,
		LastIndex:         status.LastIndex,
		Keys:              at.Keys,
		Sessions:          at.Sessions,
		LiveBytes:         at.LiveBytes,
		DiskBytes:         disk,
		Watches:           uint64(a.hub.Watchers()),
		CompactedRevision: at.CompactedRevision,
		Checksum:          fmt.Sprintf("%016x", at.Checksum),
		Uptime:            durationpb.New(time.Since(a.started)),
		ClusterVersion:    at.ClusterVersion,
		StoreBytes:        usage.Bytes,
		StoreBytesMax:     usage.BytesMax,
	}
	if response.FreezeLeft, err = a.freezeNow(ctx); err != nil {
		return nil, err
	}
	response.Problems, err = a.problems(ctx, status, usage, response.GetMembers())
	return response, err
}

// storeUsage says how full the store is.
func (a *Service) storeUsage() (storage.Usage, error) {
	r := a.Node.Store().NewReader()
	usage, err := r.Usage()
	return usage, errors.Join(err, r.Close())
}

// GetLimits serves ClusterService.
func (a *Service) GetLimits(ctx context.Context, _ *tenurev1.GetLimitsRequest) (*tenurev1.GetLimitsResponse, error) {
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	limits, err := s.Limits()
	if err != nil {
		return nil, err
	}
	return &tenurev1.GetLimitsResponse{Header: a.Header(s.At), Limits: call.LimitsToProto(limits)}, nil
}

// SetLimits serves ClusterService.
func (a *Service) SetLimits(ctx context.Context, r *tenurev1.SetLimitsRequest) (*tenurev1.SetLimitsResponse, error) {
	limits, err := call.LimitsFromProto(r.GetLimits())
	if err != nil {
		return nil, err
	}
	if limits.CommandRowsMax != nil || limits.CommandBytesMax != nil {
		// A member of an older program could not apply the command.
		if !storage.HasCommandBudget(a.Node.Store().Applied().ClusterVersion) {
			return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED, "limits of commands cannot be set yet: the "+
				"cluster version is raised once every member follows it; `tenure member list` shows their versions")
		}
	}
	_, err = a.Propose(ctx, call.Change{
		Request: r,
		Command: &storev1.Command{Kind: &storev1.Command_SetLimits{SetLimits: &storev1.SetLimits{
			Limits: limits,
			Force:  r.GetForce() && storage.HasLimitBounds(a.Node.Store().Applied().ClusterVersion),
		}}},
	})
	if err != nil {
		return nil, err
	}
	s, err := a.LocalSnapshot()
	if err != nil {
		return nil, reason.AfterChange(err)
	}
	defer a.CloseSnapshot(s)
	limits, err = s.Limits()
	if err != nil {
		return nil, reason.AfterChange(err)
	}
	a.Log.Info("limits set", zap.Stringer("limits", limits), zap.Bool("force", r.GetForce()), zap.String("by", gate.Address(ctx)))
	return &tenurev1.SetLimitsResponse{Header: a.Header(s.At), Limits: call.LimitsToProto(limits)}, nil
}

// Compact serves ClusterService.
func (a *Service) Compact(ctx context.Context, r *tenurev1.CompactRequest) (*tenurev1.CompactResponse, error) {
	if r.GetRevision() == 0 {
		return nil, reason.Invalid("revision", "must not be zero")
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Command: &storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: r.GetRevision()}}},
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.CompactResponse{
		Header:            a.HeaderOf(result),
		CompactedRevision: result.GetCompact().GetCompactedRevision(),
	}, nil
}
