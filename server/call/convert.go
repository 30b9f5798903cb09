package call

import (
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// HexID returns a cluster or history id as text.
func HexID(id [16]byte) string { return hex.EncodeToString(id[:]) }

// SessionText returns a session id as text; empty for none.
func SessionText(id []byte) string {
	if len(id) == 0 {
		return ""
	}
	sid, err := storage.SessionIDFromBytes(id)
	if err != nil {
		return ""
	}
	return sid.String()
}

// TimeToProto returns a wall clock for people; unset when it was not recorded.
func TimeToProto(unixMs int64) *timestamppb.Timestamp {
	if unixMs == 0 {
		return nil
	}
	return timestamppb.New(time.UnixMilli(unixMs))
}

// MsToProto returns a duration of so many milliseconds.
func MsToProto(ms int64) *durationpb.Duration {
	return durationpb.New(time.Duration(ms) * time.Millisecond)
}

// KeyToProto returns a key as the API shows it.
func KeyToProto(k *storev1.KeyState) *tenurev1.KeyValue {
	if k == nil {
		return nil
	}
	return &tenurev1.KeyValue{
		Key:            k.GetKey(),
		Value:          k.GetValue(),
		Flags:          k.GetFlags(),
		CreateRevision: k.GetCreateRevision(),
		ModRevision:    k.GetModRevision(),
		Version:        k.GetVersion(),
		LockIndex:      k.GetLockIndex(),
		SessionId:      SessionText(k.GetSessionId()),
		BoundSessionId: SessionText(k.GetBoundSessionId()),
		CreateTime:     TimeToProto(k.GetCreateTimeMs()),
		ModTime:        TimeToProto(k.GetModTimeMs()),
	}
}

// SequencerToProto returns the proof of a hold.
func SequencerToProto(h *storev1.HoldState, history [16]byte) *tenurev1.Sequencer {
	return &tenurev1.Sequencer{
		Key:          h.GetKey(),
		LockIndex:    h.GetLockIndex(),
		SessionId:    SessionText(h.GetSessionId()),
		FencingToken: h.GetFencingToken(),
		HistoryId:    HexID(history),
	}
}

// delayClock tells how long delayed holds still count.
type delayClock interface {
	// DelayLeft returns how long a lost hold still counts, or false where only the leader knows.
	DelayLeft(key string, lockIndex uint64) (time.Duration, bool)
}

// HoldToProto returns a hold as the API shows it. delays tells how long a lost one still counts.
func HoldToProto(h *storev1.HoldState, history [16]byte, delays delayClock) *tenurev1.Hold {
	if h == nil {
		return nil
	}
	hold := &tenurev1.Hold{
		Sequencer:   SequencerToProto(h, history),
		Owner:       h.GetOwner(),
		Mode:        ModeToProto(h.GetMode()),
		Permits:     h.GetPermits(),
		GrantTime:   TimeToProto(h.GetGrantTimeMs()),
		SessionName: h.GetSessionName(),
	}
	if h.GetDelayed() {
		hold.LostTime = TimeToProto(h.GetLostTimeMs())
		left, ok := delays.DelayLeft(h.GetKey(), h.GetLockIndex())
		if !ok {
			left = time.Duration(h.GetDelayMs()) * time.Millisecond
		}
		hold.DelayLeft = durationpb.New(max(left, 0))
	}
	return hold
}

// HoldsToProto returns as many holds as an answer may show.
func HoldsToProto(holds []*storev1.HoldState, history [16]byte, delays delayClock) []*tenurev1.Hold {
	shown := make([]*tenurev1.Hold, 0, min(len(holds), LockHoldsShown))
	for _, h := range holds[:min(len(holds), LockHoldsShown)] {
		shown = append(shown, HoldToProto(h, history, delays))
	}
	return shown
}

// LockToProto returns a lock in short, as results of commands carry it.
func LockToProto(l *storev1.LockState, history [16]byte, delays delayClock) *tenurev1.Lock {
	if l == nil {
		return nil
	}
	return &tenurev1.Lock{
		Key:          l.GetKey(),
		Mode:         ModeToProto(l.GetMode()),
		Limit:        l.GetLimit(),
		LockIndex:    l.GetLockIndex(),
		Holds:        HoldsToProto(l.GetHolds(), history, delays),
		Delayed:      HoldsToProto(l.GetDelayed(), history, delays),
		Holders:      l.GetHolders(),
		Waiters:      l.GetWaiters(),
		DelayedHolds: l.GetDelayedHolds(),
		Frozen:       l.GetFrozen(),
	}
}

// PastToProto returns why a holder has lost the lock.
func PastToProto(p *storev1.PastHold) *tenurev1.PastHold {
	return &tenurev1.PastHold{
		SessionId:    SessionText(p.GetSessionId()),
		SessionName:  p.GetSessionName(),
		Owner:        p.GetOwner(),
		LockIndex:    p.GetLockIndex(),
		FencingToken: p.GetFencingToken(),
		Cause:        HoldEndToProto(p.GetCause()),
		Reason:       p.GetReason(),
		GrantTime:    TimeToProto(p.GetGrantTimeMs()),
		EndTime:      TimeToProto(p.GetEndTimeMs()),
	}
}

// ModeToProto returns a lock mode. Both enums are kept equal, number by number; a test compares them.
func ModeToProto(m storev1.LockMode) tenurev1.LockMode { return tenurev1.LockMode(m) }

// ModeFromProto returns the wanted mode; unset means EXCLUSIVE.
func ModeFromProto(m tenurev1.LockMode) (storev1.LockMode, error) {
	if m == tenurev1.LockMode_LOCK_MODE_UNSPECIFIED {
		return storev1.LockMode_LOCK_MODE_EXCLUSIVE, nil
	}
	if _, known := tenurev1.LockMode_name[int32(m)]; !known {
		return 0, reason.Invalid("mode", "%d is not a lock mode", m)
	}
	return storev1.LockMode(m), nil
}

// HoldEndToProto returns why a hold ended; the enums are equal.
func HoldEndToProto(c storev1.HoldEndCause) tenurev1.HoldEndCause { return tenurev1.HoldEndCause(c) }

// BehaviorFromProto returns the wanted behavior; unset means RELEASE.
func BehaviorFromProto(b tenurev1.SessionBehavior) (storev1.SessionBehavior, error) {
	if b == tenurev1.SessionBehavior_SESSION_BEHAVIOR_UNSPECIFIED {
		return storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE, nil
	}
	if _, known := tenurev1.SessionBehavior_name[int32(b)]; !known {
		return 0, reason.Invalid("behavior", "%d is not a behavior", b)
	}
	return storev1.SessionBehavior(b), nil
}

// SessionToProto returns a live session. What only the leader's timers know is left out.
func SessionToProto(id storage.SessionID, r *storev1.SessionRecord) *tenurev1.Session {
	s := &tenurev1.Session{
		SessionId:      id.String(),
		Name:           r.GetName(),
		Node:           r.GetNode(),
		Ttl:            MsToProto(r.GetTtlMs()),
		LockDelay:      MsToProto(r.GetLockDelayMs()),
		Behavior:       tenurev1.SessionBehavior(r.GetBehavior()),
		HasSecret:      len(r.GetSecretSha256()) > 0,
		PeerAddress:    r.GetPeerAddress(),
		Epoch:          r.GetEpoch(),
		CreateRevision: r.GetCreateRevision(),
		CreateTime:     TimeToProto(r.GetCreateTimeMs()),
		Objects:        r.GetObjects(),
		NodeId:         SessionText(r.GetNodeId()),
		Checks:         ChecksToProto(r.GetNodeChecks(), r.GetServiceChecks()),
	}
	if entries := r.GetMetadata(); len(entries) > 0 {
		s.Metadata = make(map[string]string, len(entries))
		for _, e := range entries {
			s.Metadata[e.GetName()] = e.GetValue()
		}
	}
	return s
}

// ChecksToProto returns the checks that a session is bound to; nil for none.
func ChecksToProto(node, service []string) *tenurev1.SessionChecks {
	if len(node)+len(service) == 0 {
		return nil
	}
	return &tenurev1.SessionChecks{NodeChecks: node, ServiceChecks: service}
}

// EndedToProto returns a session that ended.
func EndedToProto(id storage.SessionID, r *storev1.EndedSessionRecord) *tenurev1.Session {
	s := SessionToProto(id, r.GetSession())
	s.End = &tenurev1.SessionEnd{
		Cause:         tenurev1.SessionEndCause(r.GetCause()),
		Reason:        r.GetReason(),
		By:            r.GetBy(),
		Revision:      r.GetEndRevision(),
		Time:          TimeToProto(r.GetEndTimeMs()),
		Holds:         r.GetHolds(),
		Places:        r.GetPlaces(),
		EphemeralKeys: r.GetEphemeralKeys(),
		HeldKeys:      r.GetHeldKeys(),
		Clean:         r.GetClean(),
	}
	return s
}

// LimitsToProto returns the replicated limits.
func LimitsToProto(l *storev1.Limits) *tenurev1.Limits {
	return &tenurev1.Limits{
		WaitersMax:            l.WaitersMax,
		HoldersMax:            l.HoldersMax,
		SessionObjectsMax:     l.SessionObjectsMax,
		EndedSessionsMax:      l.EndedSessionsMax,
		RequestWindowMax:      l.RequestWindowMax,
		RequestWindowBytesMax: l.RequestWindowBytesMax,
		IdempotencyKeysMax:    l.IdempotencyKeysMax,
		TombstoneBytesMax:     l.TombstoneBytesMax,
		HistoryRevisions:      l.HistoryRevisions,
		HistoryDuration:       MsToProto(l.GetHistoryMs()),
		HistoryBytesMax:       l.HistoryBytesMax,
		SessionsMax:           l.SessionsMax,
		StoreBytesMax:         l.StoreBytesMax,
		IdempotencyBytesMax:   l.IdempotencyBytesMax,
		CommandRowsMax:        l.CommandRowsMax,
		CommandBytesMax:       l.CommandBytesMax,
	}
}

// LimitsFromProto returns the limits that a request changes.
func LimitsFromProto(l *tenurev1.Limits) (*storev1.Limits, error) {
	if l == nil {
		return nil, reason.Invalid("limits", "is missing")
	}
	history, err := CheckDuration("limits.history_duration", l.GetHistoryDuration())
	if err != nil {
		return nil, err
	}
	limits := &storev1.Limits{
		WaitersMax:            l.WaitersMax,
		HoldersMax:            l.HoldersMax,
		SessionObjectsMax:     l.SessionObjectsMax,
		EndedSessionsMax:      l.EndedSessionsMax,
		RequestWindowMax:      l.RequestWindowMax,
		RequestWindowBytesMax: l.RequestWindowBytesMax,
		IdempotencyKeysMax:    l.IdempotencyKeysMax,
		TombstoneBytesMax:     l.TombstoneBytesMax,
		HistoryRevisions:      l.HistoryRevisions,
		HistoryBytesMax:       l.HistoryBytesMax,
		SessionsMax:           l.SessionsMax,
		StoreBytesMax:         l.StoreBytesMax,
		IdempotencyBytesMax:   l.IdempotencyBytesMax,
		CommandRowsMax:        l.CommandRowsMax,
		CommandBytesMax:       l.CommandBytesMax,
	}
	if l.GetHistoryDuration() != nil {
		limits.HistoryMs = new(RoundUp(history).Milliseconds())
	}
	return limits, nil
}

// EndCauseText returns for people why a session ended.
func EndCauseText(cause storev1.SessionEndCause) string {
	switch cause {
	case storev1.SessionEndCause_SESSION_END_CAUSE_EXPIRED:
		return "its TTL ran out"
	case storev1.SessionEndCause_SESSION_END_CAUSE_DESTROYED:
		return "it was destroyed"
	case storev1.SessionEndCause_SESSION_END_CAUSE_FORCED:
		return "an operator destroyed it"
	case storev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED:
		return "its node was deregistered"
	case storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_DEREGISTERED:
		return "a check of it was deregistered"
	case storev1.SessionEndCause_SESSION_END_CAUSE_CHECK_CRITICAL:
		return "a check of it turned critical"
	case storev1.SessionEndCause_SESSION_END_CAUSE_RESTORED:
		return "the cluster was restored"
	default:
		return "cause unknown"
	}
}
