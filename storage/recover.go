package storage

import (
	"cmp"
	"errors"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/members"
	"github.com/tenure-io/tenure/storage/table"
)

// RecoverOptions says how a state goes on that lost its cluster.
type RecoverOptions struct {
	// HistoryID is drawn at random; it must not be the present one.
	HistoryID [16]byte
	// ClusterID is the new one; zero keeps the present one.
	ClusterID [16]byte
	// ConfState is opaque: the members from now on, as raftnode marshals them.
	ConfState []byte
	// Index and Term are where the log goes on behind; zero keeps the present ones, less than those is refused.
	Index, Term uint64
	// UnixSeconds, FreezeMs and Reason are those of RestoreOptions.
	UnixSeconds int64
	FreezeMs    int64
	Reason      string
	// EndSessions ends all sessions, as forced. Else they live on, with all they hold.
	EndSessions bool
	// Member is the only one left; nil leaves the records of members alone. All others are recorded as removed.
	Member *storev1.Member
}

// Recover makes the state in a directory the first of a new history, whose revisions and tokens do not meet those of the
// old one, also not those that this state never saw. It works in place and in several writes if it ends sessions, so it
// is for a copy, which is good when Recover has returned. Equal options and states give equal states.
func Recover(o Options, r RecoverOptions) (err error) {
	s, err := Open(o)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	defer func() {
		if err = errors.Join(err, s.Close()); err != nil {
			err = fmt.Errorf("recover: %w", err)
		}
	}()
	state := s.Applied()
	if state.Index == 0 {
		return ErrNotBootstrapped
	}
	if r.HistoryID == [16]byte{} || r.HistoryID == state.HistoryID {
		return errors.New("history id must be new")
	}
	if r.Index != 0 && r.Index < state.Index || r.Term != 0 && r.Term < state.Term {
		return fmt.Errorf("%w: index %d of term %d is before the state's index %d of term %d",
			ErrEntryOrder, r.Index, r.Term, state.Index, state.Term)
	}
	state.Index, state.Term = max(state.Index, r.Index), max(state.Term, r.Term)
	clusterID := r.ClusterID
	if clusterID == [16]byte{} {
		clusterID = state.ClusterID
	}
	longest, err := longestTTLMs(table.NewOverlay(s.db, 0))
	if err != nil {
		return err
	}
	h := newHistory{
		historyID: r.HistoryID, clusterID: clusterID, confState: r.ConfState, unixSeconds: r.UnixSeconds,
		freezeMs: freezeOf(r.FreezeMs, longest), endSessions: r.EndSessions,
		reason: cmp.Or(r.Reason, "the cluster was recovered"),
	}
	if r.Member != nil {
		h.members = &memberChange{keep: r.Member, wallMs: r.UnixSeconds * 1000}
	}
	return s.begin(state, h)
}

// longestTTLMs returns the longest TTL of a live session.
func longestTTLMs(rows table.Reader) (int64, error) {
	longest := int64(0)
	err := rows.Scan([]byte{layout.RowSession}, []byte{layout.RowSession + 1}, func(_, value []byte) (bool, error) {
		r := &storev1.SessionRecord{}
		if err := layout.Decode(value, r); err != nil {
			return false, fmt.Errorf("session: %w", err)
		}
		longest = max(longest, r.GetTtlMs())
		return true, nil
	})
	return longest, err
}

// memberChange leaves one member of a cluster.
type memberChange struct {
	keep   *storev1.Member
	wallMs int64
}

// write records the member that is left, and all others as removed.
func (m *memberChange) write(rows *table.Overlay, state Applied) error {
	c := &members.Change{Rows: rows, ClusterVersion: state.ClusterVersion, Term: state.Term, WallMs: m.wallMs}
	others, err := members.All(rows)
	if err != nil {
		return err
	}
	for _, other := range others {
		if other.GetId() == m.keep.GetId() {
			continue
		}
		if _, err = c.Remove(&storev1.DeleteMember{Id: other.GetId()}); err != nil {
			return err
		}
	}
	rows.Remove(layout.NumberRow(layout.RowMember, m.keep.GetId())) // Its incarnation may be new.
	_, err = c.Put(&storev1.PutMember{Member: m.keep})
	return err
}
