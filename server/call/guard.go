package call

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
)

// GuardFromProto converts one guard.
func (c *Caller) GuardFromProto(field string, g *tenurev1.Guard) (*storev1.Guard, error) {
	return c.guards().guard(field, g)
}

func (c *Caller) guards() guardReader { return guardReader{at: c.Node.Store().Applied()} }

// guardReader converts guards for the state that a member has: its history, and what its cluster version knows.
type guardReader struct{ at storage.Applied }

// all converts the guards of a call.
func (r guardReader) all(guards []*tenurev1.Guard) ([]*storev1.Guard, error) {
	converted := make([]*storev1.Guard, 0, len(guards))
	for i, g := range guards {
		field := fmt.Sprintf("options.guards[%d]", i)
		guard, err := r.guard(field, g)
		if err != nil {
			return nil, err
		}
		converted = append(converted, guard)
	}
	return converted, nil
}

// guard converts one guard.
func (r guardReader) guard(field string, g *tenurev1.Guard) (*storev1.Guard, error) {
	switch condition := g.GetCondition().(type) {
	case *tenurev1.Guard_Held:
		held := condition.Held
		if err := CheckKey(field+".held.key", held.GetKey()); err != nil {
			return nil, err
		}
		sid, err := ParseSession(field+".held.session_id", held.GetSessionId())
		if err != nil {
			return nil, err
		}
		if err := CheckHistory(field+".held.history_id", held.GetHistoryId(), r.at.HistoryID); err != nil {
			return nil, err
		}
		return &storev1.Guard{Condition: &storev1.Guard_Held{Held: &storev1.HeldGuard{
			Key:          held.GetKey(),
			LockIndex:    held.GetLockIndex(),
			SessionId:    sid[:],
			FencingToken: held.GetFencingToken(),
		}}}, nil
	case *tenurev1.Guard_SessionAlive:
		sid, err := ParseSession(field+".session_alive", condition.SessionAlive)
		if err != nil {
			return nil, err
		}
		return &storev1.Guard{Condition: &storev1.Guard_SessionAlive{SessionAlive: sid[:]}}, nil
	case *tenurev1.Guard_Key:
		k := condition.Key
		if err := CheckKey(field+".key.key", k.GetKey()); err != nil {
			return nil, err
		}
		holder, err := r.holder(field+".key.held_by", k.HeldBy)
		return &storev1.Guard{Condition: &storev1.Guard_Key{Key: &storev1.KeyGuard{
			Key:             k.GetKey(),
			Exists:          k.Exists,
			ModRevision:     k.ModRevision,
			CreateRevision:  k.CreateRevision,
			Version:         k.Version,
			HeldBySessionId: holder,
		}}}, err
	default:
		return nil, reason.Invalid(field, "has no condition")
	}
}

// holder converts the session that a condition demands as the holder; nil demands nothing.
func (r guardReader) holder(field string, holder *string) ([]byte, error) {
	switch {
	case holder == nil:
		return nil, nil
	case !storage.DropsHolds(r.at.ClusterVersion):
		return nil, reason.NotServed(field)
	case *holder == "":
		return []byte{}, nil
	}
	id, err := ParseSession(field, *holder)
	return id[:], err
}
