package members

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// joinTokensMax is how many join tokens there may be that nobody has used.
	joinTokensMax = 64
	// joinTokenMsMax is the longest time for which one can be used: 30 days.
	joinTokenMsMax = 30 * 24 * 3600 * 1000
)

// JoinToken is one join token, as the state has it. The token itself is nowhere.
type JoinToken struct {
	// Name is that of the member it is for.
	Name string
	*storev1.JoinTokenRecord
}

// bound reports whether a member has used it.
func (t JoinToken) bound() bool { return t.GetMemberId() != 0 }

// joinTokenRow returns the row of the token for a name.
func joinTokenRow(name string) []byte { return append([]byte{layout.RowJoinToken}, name...) }

// joinTokens returns all join tokens, by name.
func joinTokens(rows table.Reader) ([]JoinToken, error) {
	var all []JoinToken
	err := rows.Scan([]byte{layout.RowJoinToken}, []byte{layout.RowJoinToken + 1}, func(row, value []byte) (bool, error) {
		r := &storev1.JoinTokenRecord{}
		if err := layout.Decode(value, r); err != nil {
			return false, fmt.Errorf("join token: %w", err)
		}
		all = append(all, JoinToken{Name: string(row[1:]), JoinTokenRecord: r})
		return true, nil
	})
	return all, err
}

// JoinTokens returns the join tokens: those that can be used, and those of members that have joined with one.
func (r *MemberReader) JoinTokens() ([]JoinToken, error) { return joinTokens(r.rows) }

// setJoinToken writes a token.
func (c *Change) setJoinToken(t JoinToken) error {
	t.FormatVersion = layout.RecordFormat
	value, err := layout.Encode(t.JoinTokenRecord)
	if err == nil {
		c.Rows.Set(joinTokenRow(t.Name), value)
	}
	return err
}

// MakeToken makes the token for a new member. There is one for a name, and one for the place of a member: those that
// were made before and that nobody has used are ended, so that an operator who lost an answer asks again.
func (c *Change) MakeToken(m *storev1.MakeJoinToken) (*storev1.MakeJoinTokenResult, error) {
	if err := rule.NeedVersion2(c.ClusterVersion); err != nil {
		return nil, err
	}
	switch {
	case m.GetName() == "" || len(m.GetName()) > memberNameBytesMax:
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_NEW_MEMBER_NAME_LENGTH, memberNameBytesMax)
	case len(m.GetTokenSha256()) != sha256.Size:
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_JOIN_TOKEN_HASH_LENGTH)
	case m.GetTtlMs() <= 0 || m.GetTtlMs() > joinTokenMsMax:
		return nil, rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_JOIN_TOKEN_TIME_OUT_OF_RANGE)
	}
	if err := c.checkPlace(m); err != nil {
		return nil, err
	}
	before, err := joinTokens(c.Rows)
	if err != nil {
		return nil, err
	}
	unused, replaced := 0, false
	for _, t := range before {
		samePlace := m.GetReplaces() != 0 && t.GetReplaces() == m.GetReplaces()
		switch {
		case t.bound() && samePlace:
			return nil, memberExists(t.GetMemberId(), storev1.FailureDetail_FAILURE_DETAIL_MEMBER_PLACE_TAKEN, t.Name)
		case t.bound():
		case samePlace || t.Name == m.GetName():
			c.Rows.Remove(joinTokenRow(t.Name))
			replaced = replaced || !sameHash(t.GetTokenSha256(), m.GetTokenSha256())
		default:
			unused++
		}
	}
	if unused >= joinTokensMax {
		f := rule.Broken(storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED,
			storev1.FailureDetail_FAILURE_DETAIL_JOIN_TOKENS_TOO_MANY, unused)
		f.Failure.LimitName, f.Failure.Limit = "join_tokens_max", joinTokensMax
		return nil, f
	}
	return &storev1.MakeJoinTokenResult{Replaced: replaced}, c.setJoinToken(JoinToken{m.GetName(), &storev1.JoinTokenRecord{
		TokenSha256: m.GetTokenSha256(), TtlMs: m.GetTtlMs(), Replaces: m.GetReplaces(),
		StayLearner: m.GetStayLearner(), Force: m.GetForce(),
	}})
}

// checkPlace refuses a name that a member has, and a member to replace that is none.
func (c *Change) checkPlace(m *storev1.MakeJoinToken) error {
	all, err := All(c.Rows)
	if err != nil {
		return err
	}
	found := m.GetReplaces() == 0
	for _, other := range all {
		if other.GetName() == m.GetName() {
			return memberExists(other.GetId(), storev1.FailureDetail_FAILURE_DETAIL_MEMBER_NAME_TAKEN, other.GetId(), m.GetName())
		}
		found = found || other.GetId() == m.GetReplaces()
	}
	if !found {
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_MEMBER_NOT_FOUND,
			storev1.FailureDetail_FAILURE_DETAIL_MEMBER_MISSING, m.GetReplaces())
	}
	return nil
}

// Join records a member that brought the token of its name, and binds the token to it.
func (c *Change) Join(j *storev1.JoinMember) (*storev1.Result, error) {
	if err := rule.NeedVersion2(c.ClusterVersion); err != nil {
		return nil, err
	}
	m := proto.CloneOf(j.GetMember())
	if err := CheckJoiner(m); err != nil {
		return nil, err
	}
	// A member that was removed learns that before anything else: its token is gone, and another would not help it.
	if err := c.checkNotRemoved(m.GetId()); err != nil {
		return nil, err
	}
	t, err := c.usableToken(j)
	if err != nil {
		return nil, err
	}
	all, err := All(c.Rows)
	if err != nil {
		return nil, err
	}
	m.Learner, m.StayLearner = true, m.GetStayLearner() || t.GetStayLearner()
	for _, other := range all {
		switch other.GetId() {
		case m.GetId():
			// It asks again. What it has become meanwhile stays.
			m.Learner, m.StayLearner, m.Starts = other.GetLearner(), other.GetStayLearner(), other.GetStarts()
		case t.GetReplaces():
			m.StayLearner = m.GetStayLearner() || other.GetStayLearner()
		}
	}
	if _, err = c.Put(&storev1.PutMember{Member: m}); err != nil {
		return nil, err
	}
	t.MemberId, t.Incarnation = m.GetId(), m.GetIncarnation()
	return &storev1.Result{}, c.setJoinToken(t)
}

// usableToken returns the token that a member brought, if it can join with it. The failure is the same for every other: it
// tells a caller who tries tokens nothing.
func (c *Change) usableToken(j *storev1.JoinMember) (JoinToken, error) {
	t, err := joinTokenFor(c.Rows, j.GetMember().GetName())
	if err == nil && !t.fits(j) {
		err = rule.Broken(storev1.FailureReason_FAILURE_REASON_JOIN_TOKEN_REFUSED, storev1.FailureDetail_FAILURE_DETAIL_JOIN_TOKEN_WRONG)
	}
	return t, err
}

// joinTokenFor returns the token for a name; if there is none, one that fits nobody.
func joinTokenFor(rows table.Reader, name string) (JoinToken, error) {
	t := JoinToken{Name: name, JoinTokenRecord: &storev1.JoinTokenRecord{}}
	value, ok, err := rows.Get(joinTokenRow(name))
	if err == nil && ok {
		err = layout.Decode(value, t.JoinTokenRecord)
	}
	if err != nil {
		err = fmt.Errorf("join token: %w", err)
	}
	return t, err
}

// fits reports whether a member can join with the token: it brought it, and no other member has used it.
func (t JoinToken) fits(j *storev1.JoinMember) bool {
	m := j.GetMember()
	own := t.GetMemberId() == m.GetId() && t.GetIncarnation() == m.GetIncarnation()
	return sameHash(t.GetTokenSha256(), j.GetTokenSha256()) && (!t.bound() || own)
}

// CanJoin reports whether JoinMember would take the token, so that what cannot succeed need not enter the log.
func (r *MemberReader) CanJoin(j *storev1.JoinMember) (bool, error) {
	t, err := joinTokenFor(r.rows, j.GetMember().GetName())
	return err == nil && t.fits(j), err
}

// sameHash compares the hashes of two tokens in constant time. No token has an empty one.
func sameHash(a, b []byte) bool {
	return len(a) == sha256.Size && subtle.ConstantTimeCompare(a, b) == 1
}

// EndTokens ends tokens whose time ran out and that nobody has used.
func (c *Change) EndTokens(e *storev1.EndJoinTokens) (*storev1.Result, error) {
	if err := rule.NeedVersion2(c.ClusterVersion); err != nil {
		return nil, err
	}
	if err := rule.CheckTerm(e.GetTerm(), c.Term); err != nil {
		return nil, err
	}
	all, err := joinTokens(c.Rows)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		for _, ref := range e.GetTokens() {
			if !t.bound() && t.Name == ref.GetName() && sameHash(t.GetTokenSha256(), ref.GetTokenSha256()) {
				c.Rows.Remove(joinTokenRow(t.Name))
			}
		}
	}
	return &storev1.Result{}, nil
}

// endTokensOf ends the token with which a member joined that is removed, and those with which others could take its
// place.
func (c *Change) endTokensOf(id uint64) error {
	all, err := joinTokens(c.Rows)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.GetMemberId() == id || !t.bound() && t.GetReplaces() == id {
			c.Rows.Remove(joinTokenRow(t.Name))
		}
	}
	return nil
}

// DropTokens ends all tokens: they were made for a cluster that is no more.
func DropTokens(rows *table.Overlay) error {
	all, err := joinTokens(rows)
	for _, t := range all {
		rows.Remove(joinTokenRow(t.Name))
	}
	return err
}
