package records

import (
	"encoding/binary"
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// Mark is one mark of the end list: the sessions that are bound to a subject, and were created before the revision, have ended.
type Mark struct {
	Subject  layout.Subject
	Revision uint64
	Record   *storev1.EndMarkRecord
}

// SubjectsOf returns what a session is bound to.
func SubjectsOf(r *storev1.SessionRecord) []layout.Subject {
	if r.GetBoundNode() == "" {
		return nil
	}
	out := []layout.Subject{{Node: r.GetBoundNode()}}
	for _, ids := range [][]string{r.GetNodeChecks(), r.GetServiceChecks()} {
		for _, id := range ids {
			out = append(out, layout.Subject{Node: r.GetBoundNode(), Check: id})
		}
	}
	return out
}

// MarkOn returns the first mark that has ended a session, or nil.
func MarkOn(rows table.Reader, r *storev1.SessionRecord) (*Mark, error) {
	var first *Mark
	for _, s := range SubjectsOf(r) {
		to := layout.RowsEnd(layout.SubjectRows(layout.RowEndMark, s))
		err := rows.Scan(layout.MarkRow(s, r.GetCreateRevision()+1), to, func(row, value []byte) (bool, error) {
			m, err := CutMark(row, value)
			if err == nil && (first == nil || m.Revision < first.Revision) {
				first = m
			}
			return false, err
		})
		if err != nil {
			return nil, err
		}
	}
	return first, nil
}

// CutMark reads a mark.
func CutMark(row, value []byte) (*Mark, error) {
	s, rest, ok := layout.CutSubjectRow(row)
	if !ok || len(rest) != 8 {
		return nil, fmt.Errorf("%w: mark %x", layout.ErrCorrupt, row)
	}
	m := &Mark{Subject: s, Revision: binary.BigEndian.Uint64(rest), Record: &storev1.EndMarkRecord{}}
	if err := layout.Decode(value, m.Record); err != nil {
		return nil, fmt.Errorf("mark: %w", err)
	}
	return m, nil
}
