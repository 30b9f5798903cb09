package auth

import (
	"bytes"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/rule"
)

// A family is a token without a parent and all that descend from it. Its size is what one command may have to delete.
const (
	// familyMax is how many tokens a family has at most.
	familyMax = 256
	// lineMax is how many there are at most in a line, from the one without a parent to one without children.
	lineMax = 4
)

// line returns a token and those from which it descends, the one without a parent last; none for no accessor.
func (c *Change) line(accessor []byte) ([]*storev1.TokenRecord, error) {
	var all []*storev1.TokenRecord
	for len(accessor) > 0 {
		t, err := readToken(c.Rows, accessor)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_TOKEN_NOT_FOUND, storev1.FailureDetail_FAILURE_DETAIL_TOKEN_MISSING)
		}
		all, accessor = append(all, t), t.GetParent()
	}
	return all, nil
}

// checkFamily refuses a child for the first token of a line whose family is as large as one can be.
func checkFamily(line []*storev1.TokenRecord) error {
	switch {
	case len(line) == 0:
		return nil
	case len(line) >= lineMax:
		return rule.Exceeded("token_line_max", lineMax)
	case line[len(line)-1].GetDescendants()+1 >= familyMax:
		return rule.Exceeded("token_family_max", familyMax)
	default:
		return nil
	}
}

// inherit gives a token what it does not say itself, and an end that is no later than its parent's, which is the first of a line.
func inherit(t *storev1.TokenRecord, line []*storev1.TokenRecord) {
	t.Children, t.Descendants = nil, 0
	if len(line) == 0 {
		return
	}
	parent := line[0]
	if len(t.GetPolicies()) == 0 {
		t.Policies = slices.Clone(parent.GetPolicies())
	}
	if t.GetNode() == "" {
		t.Node = parent.GetNode()
	}
	if end := parent.GetExpireTimeMs(); end != 0 && (t.GetExpireTimeMs() == 0 || t.GetExpireTimeMs() > end) {
		t.ExpireTimeMs = end
	}
}

// join writes that a token is a child of the first one of a line.
func (c *Change) join(t *storev1.TokenRecord, line []*storev1.TokenRecord) error {
	if len(line) == 0 {
		return nil
	}
	line[0].Children = append(line[0].GetChildren(), t.GetAccessor())
	return c.count(line, 1)
}

// leave writes that a token which is gone is no child any more, and how many tokens have gone with it, itself among them.
func (c *Change) leave(t *storev1.TokenRecord, gone int) error {
	line, err := c.line(t.GetParent())
	if err != nil || len(line) == 0 {
		return err
	}
	line[0].Children = slices.DeleteFunc(line[0].GetChildren(), func(child []byte) bool { return bytes.Equal(child, t.GetAccessor()) })
	return c.count(line, -gone)
}

// count writes the first and the last token of a line, whose family has grown by a number of tokens.
func (c *Change) count(line []*storev1.TokenRecord, by int) error {
	first := line[len(line)-1]
	first.Descendants = uint32(int(first.GetDescendants()) + by)
	if err := c.write(tokenRow(first.GetAccessor()), first); err != nil || len(line) == 1 {
		return err
	}
	return c.write(tokenRow(line[0].GetAccessor()), line[0])
}

// removeFamily deletes a token and all that descend from it, and returns their accessors, its own first.
func (c *Change) removeFamily(head *storev1.AuthRecord, t *storev1.TokenRecord) ([][]byte, error) {
	below, err := c.removeDescendants(head, t)
	if err != nil {
		return nil, err
	}
	c.removeToken(head, t)
	gone := append([][]byte{t.GetAccessor()}, below...)
	return gone, c.leave(t, len(gone))
}

// removeDescendants deletes what descends from a token, and returns the accessors of these. Nothing above them is written.
func (c *Change) removeDescendants(head *storev1.AuthRecord, t *storev1.TokenRecord) (gone [][]byte, err error) {
	for next := slices.Clone(t.GetChildren()); len(next) > 0; next = next[1:] {
		child, err := readToken(c.Rows, next[0])
		if err != nil {
			return nil, err
		}
		next = append(next, child.GetChildren()...)
		c.removeToken(head, child)
		gone = append(gone, child.GetAccessor())
	}
	return gone, nil
}

// removeToken deletes the rows of a token.
func (c *Change) removeToken(head *storev1.AuthRecord, t *storev1.TokenRecord) {
	c.Rows.Remove(hashRow(t.GetTokenSha256()))
	c.Rows.Remove(tokenRow(t.GetAccessor()))
	head.Tokens--
}
