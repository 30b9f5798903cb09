package auth

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/table"
)

func headRow() []byte { return []byte{layout.RowAuth} }

func policyRow(name string) []byte { return append([]byte{layout.RowPolicy}, name...) }

func hashRow(hash []byte) []byte { return append([]byte{layout.RowTokenHash}, hash...) }

func tokenRow(accessor []byte) []byte { return append([]byte{layout.RowToken}, accessor...) }

func bindingRow(name string) []byte { return append([]byte{layout.RowAuthBinding}, name...) }

func providerRow(name string) []byte { return append([]byte{layout.RowProvider}, name...) }

// read reads a record into r, and reports whether there is one.
func read(rows table.Reader, row []byte, r layout.Record) (bool, error) {
	value, found, err := rows.Get(row)
	if err != nil || !found {
		return false, err
	}
	if err = layout.Decode(value, r); err != nil {
		return false, fmt.Errorf("auth row %q: %w", row[:1], err)
	}
	return true, nil
}

// readHead returns what is known of all objects; nil before the bootstrap.
func readHead(rows table.Reader) (*storev1.AuthRecord, error) {
	head := &storev1.AuthRecord{}
	if found, err := read(rows, headRow(), head); err != nil || !found {
		return nil, err
	}
	return head, nil
}

// readToken returns a token, or nil.
func readToken(rows table.Reader, accessor []byte) (*storev1.TokenRecord, error) {
	t := &storev1.TokenRecord{}
	if found, err := read(rows, tokenRow(accessor), t); err != nil || !found {
		return nil, err
	}
	return t, nil
}

// Reader reads what decides who may do what, from a snapshot.
type Reader struct{ rows table.Reader }

// NewReader returns a reader of rows.
func NewReader(rows table.Reader) Reader { return Reader{rows} }

// AuthHead returns the counts of all objects; nil before the bootstrap.
func (r *Reader) AuthHead() (*storev1.AuthRecord, error) { return readHead(r.rows) }

// TokenByHash returns the token whose text has a hash, or nil.
func (r *Reader) TokenByHash(hash []byte) (*storev1.TokenRecord, error) {
	accessor, found, err := r.rows.Get(hashRow(hash))
	if err != nil || !found {
		return nil, err
	}
	return readToken(r.rows, accessor)
}

// Token returns the token with an accessor, or nil.
func (r *Reader) Token(accessor []byte) (*storev1.TokenRecord, error) {
	return readToken(r.rows, accessor)
}

// Policy returns the rules of a policy, and whether there is one.
func (r *Reader) Policy(name string) (rules string, found bool, err error) {
	p := &storev1.PolicyRecord{}
	found, err = read(r.rows, policyRow(name), p)
	return p.GetRules(), found, err
}

// page visits the rows of a kind behind one of them.
func (r *Reader) page(kind byte, after string, visit func(name string, value []byte) (more bool, err error)) error {
	from := append([]byte{kind}, after...)
	if after != "" {
		from = append(from, 0)
	}
	return r.rows.Scan(from, []byte{kind + 1}, func(row, value []byte) (bool, error) { return visit(string(row[1:]), value) })
}

// Policies returns policies behind a name, by name: up to limit, and up to the one whose rules reach bytesMax.
func (r *Reader) Policies(after string, limit, bytesMax int) ([]*storev1.PolicyRecord, error) {
	var all []*storev1.PolicyRecord
	bytes := 0
	err := r.page(layout.RowPolicy, after, func(name string, value []byte) (bool, error) {
		p := &storev1.PolicyRecord{}
		err := layout.Decode(value, p)
		p.Name = name
		all = append(all, p)
		bytes += len(p.GetRules())
		return len(all) < limit && bytes < bytesMax, err
	})
	return all, err
}

// Tokens returns up to limit tokens behind an accessor, by accessor.
func (r *Reader) Tokens(after string, limit int) ([]*storev1.TokenRecord, error) {
	var all []*storev1.TokenRecord
	err := r.page(layout.RowToken, after, func(_ string, value []byte) (bool, error) {
		t := &storev1.TokenRecord{}
		err := layout.Decode(value, t)
		all = append(all, t)
		return len(all) < limit, err
	})
	return all, err
}

// Bindings returns up to limit bindings behind a name, by name.
func (r *Reader) Bindings(after string, limit int) ([]*storev1.BindingRecord, error) {
	var all []*storev1.BindingRecord
	err := r.page(layout.RowAuthBinding, after, func(name string, value []byte) (bool, error) {
		b := &storev1.BindingRecord{}
		err := layout.Decode(value, b)
		b.Name = name
		all = append(all, b)
		return len(all) < limit, err
	})
	return all, err
}
