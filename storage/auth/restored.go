package auth

import (
	"bytes"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

// Forgo raises the deny revision of a state that is restored: what was authorised before is none of its own.
func Forgo(state *layout.Applied) {
	if state.AuthMode != storev1.AuthMode_AUTH_MODE_UNSPECIFIED {
		state.AuthChanges++
		state.DenyRevision = max(state.DenyRevision, state.Revision) + 1
	}
}

// DropTokens deletes all tokens of a state that is restored. It also forgets which one was the first: that would be taken for it again, without being there.
// All else stays, so another first token is made as where all are lost.
func DropTokens(rows *table.Overlay) error {
	head, err := readHead(rows)
	if err != nil || head == nil {
		return err
	}
	for _, kind := range []byte{layout.RowToken, layout.RowTokenHash} {
		var all [][]byte
		err = rows.Scan([]byte{kind}, []byte{kind + 1}, func(row, _ []byte) (bool, error) {
			all = append(all, bytes.Clone(row))
			return true, nil
		})
		if err != nil {
			return err
		}
		for _, row := range all {
			rows.Remove(row)
		}
	}
	head.Tokens, head.BootstrapSha256, head.BootstrapAccessor = 0, nil, nil
	c := Change{Rows: rows}
	return c.write(headRow(), head)
}
