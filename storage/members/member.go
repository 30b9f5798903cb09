package members

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

// Bounds of what a member says of itself.
const (
	memberNameBytesMax    = 128
	memberAddressBytesMax = 512
)

// Change is a command under way that changes the members, or who may join them.
type Change struct {
	Rows           *table.Overlay
	ClusterVersion uint32
	Term           uint64 // of the entry
	WallMs         int64
	// Changed says that a record of a member was written.
	Changed bool
}

// Put records a member, or what changed of it. An id belongs to one member for good: it is refused after the
// member was removed, and under another incarnation.
func (c *Change) Put(p *storev1.PutMember) (*storev1.Result, error) {
	m := p.GetMember()
	if err := checkMember(m); err != nil {
		return nil, err
	}
	if err := c.checkNotRemoved(m.GetId()); err != nil {
		return nil, err
	}
	if err := CheckFollows(m, c.ClusterVersion); err != nil {
		return nil, err
	}
	others, err := All(c.Rows)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		if err = checkApart(m, other); err != nil {
			return nil, err
		}
	}
	value, err := layout.Encode(&storev1.MemberRecord{FormatVersion: layout.RecordFormat, Member: m})
	if err != nil {
		return nil, err
	}
	c.Rows.Set(layout.NumberRow(layout.RowMember, m.GetId()), value)
	c.Changed = true
	return &storev1.Result{}, nil
}

// checkNotRemoved refuses the id of a member that was removed.
func (c *Change) checkNotRemoved(id uint64) error {
	_, removed, err := c.Rows.Get(layout.NumberRow(layout.RowRemoved, id))
	if err == nil && removed {
		err = rule.Broken(storev1.FailureReason_FAILURE_REASON_MEMBER_REMOVED,
			storev1.FailureDetail_FAILURE_DETAIL_MEMBER_WAS_REMOVED, id)
	}
	return err
}

// memberExists returns the failure of a command that another member is in the way of.
func memberExists(other uint64, detail storev1.FailureDetail, arguments ...any) error {
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS, detail, arguments...)
	f.Failure.Actual = other
	return f
}

// checkMember refuses what the server should have.
func checkMember(m *storev1.Member) error {
	switch {
	case m.GetId() == 0 || m.GetName() == "":
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_MEMBER_WITHOUT_NAME)
	case len(m.GetName()) > memberNameBytesMax || len(m.GetZone()) > memberNameBytesMax ||
		len(m.GetBinaryVersion()) > memberNameBytesMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_MEMBER_NAME_TOO_LONG, memberNameBytesMax)
	case max(len(m.GetPeerAddress()), len(m.GetClientAddress()), len(m.GetHttpAddress())) > memberAddressBytesMax:
		return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_MEMBER_ADDRESS_TOO_LONG, memberAddressBytesMax)
	default:
		return nil
	}
}

// CheckFollows refuses a member that says that it cannot follow a cluster version. One that says nothing is believed
// to.
func CheckFollows(m *storev1.Member, version uint32) error {
	if m.GetVersionMax() == 0 || (m.GetVersionMin() <= version && version <= m.GetVersionMax()) {
		return nil
	}
	f := rule.Broken(storev1.FailureReason_FAILURE_REASON_MEMBER_TOO_OLD,
		storev1.FailureDetail_FAILURE_DETAIL_MEMBER_CANNOT_FOLLOW,
		m.GetId(), m.GetName(), m.GetVersionMin(), m.GetVersionMax(), version)
	f.Failure.Actual = uint64(m.GetVersionMax())
	return f
}

// checkApart refuses a member that has the name of another, or its id under another incarnation.
func checkApart(m, other *storev1.Member) error {
	switch same := m.GetId() == other.GetId(); {
	case !same && m.GetName() == other.GetName():
		return memberExists(other.GetId(), storev1.FailureDetail_FAILURE_DETAIL_MEMBER_NAME_TAKEN, other.GetId(), m.GetName())
	case same && m.GetIncarnation() != other.GetIncarnation() && m.GetIncarnation() != 0 && other.GetIncarnation() != 0:
		return memberExists(other.GetId(), storev1.FailureDetail_FAILURE_DETAIL_MEMBER_ID_TAKEN,
			m.GetId(), other.GetIncarnation(), m.GetIncarnation())
	default:
		return nil
	}
}

// Remove forgets a member and keeps its id from being used again.
func (c *Change) Remove(d *storev1.DeleteMember) (*storev1.Result, error) {
	id := d.GetId()
	if id == 0 {
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_MEMBER_WITHOUT_ID)
	}
	_, removed, err := c.Rows.Get(layout.NumberRow(layout.RowRemoved, id))
	if err != nil || removed {
		return &storev1.Result{}, err
	}
	last := &storev1.Member{Id: id}
	value, ok, err := c.Rows.Get(layout.NumberRow(layout.RowMember, id))
	if err != nil {
		return nil, err
	}
	if ok {
		r := &storev1.MemberRecord{}
		if err = layout.Decode(value, r); err != nil {
			return nil, fmt.Errorf("member %x: %w", id, err)
		}
		last = r.GetMember()
		c.Rows.Remove(layout.NumberRow(layout.RowMember, id))
	}
	value, err = layout.Encode(&storev1.RemovedMemberRecord{FormatVersion: layout.RecordFormat, Member: last, RemoveTimeMs: c.WallMs})
	if err != nil {
		return nil, err
	}
	c.Rows.Set(layout.NumberRow(layout.RowRemoved, id), value)
	c.Changed = true
	if c.ClusterVersion >= layout.Version2 {
		err = c.endTokensOf(id)
	}
	return &storev1.Result{}, err
}

// All returns all members, by id.
func All(rows table.Reader) ([]*storev1.Member, error) {
	var all []*storev1.Member
	err := rows.Scan([]byte{layout.RowMember}, []byte{layout.RowMember + 1}, func(_, value []byte) (bool, error) {
		r := &storev1.MemberRecord{}
		if err := layout.Decode(value, r); err != nil {
			return false, fmt.Errorf("member: %w", err)
		}
		all = append(all, r.GetMember())
		return true, nil
	})
	return all, err
}

// MemberReader reads the members of a Reader's snapshot, and the tokens with which others join.
type MemberReader struct{ rows table.Snapshot }

// NewMemberReader returns a reader of the members of a snapshot.
func NewMemberReader(rows table.Snapshot) MemberReader { return MemberReader{rows} }

// Members returns the servers of the cluster, by id.
func (r *MemberReader) Members() ([]*storev1.Member, error) {
	return All(r.rows)
}

// RemovedMembers returns the servers that were removed, by id. None of their ids is ever used again.
func (r *MemberReader) RemovedMembers() ([]*storev1.RemovedMemberRecord, error) {
	var all []*storev1.RemovedMemberRecord
	err := r.rows.Scan([]byte{layout.RowRemoved}, []byte{layout.RowRemoved + 1}, func(_, value []byte) (bool, error) {
		m := &storev1.RemovedMemberRecord{}
		if err := layout.Decode(value, m); err != nil {
			return false, fmt.Errorf("removed member: %w", err)
		}
		all = append(all, m)
		return true, nil
	})
	return all, err
}

// IsRemoved says whether a member was removed.
func (r *MemberReader) IsRemoved(id uint64) (bool, error) {
	_, removed, err := r.rows.Get(layout.NumberRow(layout.RowRemoved, id))
	return removed, err
}
