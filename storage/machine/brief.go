package machine

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tenure-io/tenure/storage/layout"
)

// readBrief returns the brief in a row, and whether there is one.
func (w *Work) readBrief(at []byte) (layout.Brief, bool, error) {
	if w.state.ClusterVersion < layout.Version2 {
		return layout.Brief{}, false, nil
	}
	value, ok, err := w.rows.Get(at)
	if err != nil || !ok {
		return layout.Brief{}, false, err
	}
	b, err := layout.CutBrief(value)
	return b, err == nil, err
}

// briefs reports whether a row has, or had before, a value that is large enough for a brief.
func (w *Work) briefs(valueBytes, valueBytesBefore int) bool {
	return w.state.ClusterVersion >= layout.Version2 && max(valueBytes, valueBytesBefore) >= layout.BriefValueMin
}

// saveBrief writes the brief of a row that is written with a value of so many bytes, or removes the one of the value before,
// as its size demands.
func (w *Work) saveBrief(at, row, value []byte, field protowire.Number, valueBytes, valueBytesBefore int) error {
	if w.state.ClusterVersion < layout.Version2 || valueBytes < layout.BriefValueMin {
		w.dropBrief(at, valueBytesBefore)
		return nil
	}
	b, err := layout.BriefOf(row, value, field)
	if err != nil {
		return err
	}
	w.rows.Set(at, b.Row())
	return nil
}

// dropBrief removes the brief of a row whose value had so many bytes.
func (w *Work) dropBrief(at []byte, valueBytes int) {
	if w.state.ClusterVersion >= layout.Version2 && valueBytes >= layout.BriefValueMin {
		w.rows.Remove(at)
	}
}
