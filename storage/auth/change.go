package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
	"github.com/tenure-io/tenure/storage/table"
)

const (
	// TokensMax is how many tokens there are at most.
	TokensMax   = 100_000
	policiesMax = 4096
	bindingsMax = 1024
	// PoliciesOfMax is how many policies one token or binding names.
	PoliciesOfMax     = 16
	nameBytesMax      = 128
	rulesBytesMax     = 64 << 10
	nodeBytesMax      = 256
	principalBytesMax = 2048
	// AccessorBytes is the length of a token's id.
	AccessorBytes = 16
)

// AdminPolicy is the policy that is built in: it has all rights, and nobody writes it.
const AdminPolicy = "admin"

// Change is a command under way that changes what decides who may do what.
type Change struct {
	Rows      *table.Overlay
	State     *layout.Applied
	Principal string
	WallMs    int64
}

// Do makes one change.
func (c *Change) Do(change *storev1.ChangeAuth) (*storev1.ChangeAuthResult, error) {
	if err := rule.NeedVersion3(c.State.ClusterVersion); err != nil {
		return nil, err
	}
	head, err := readHead(c.Rows)
	if err != nil {
		return nil, err
	}
	if b := change.GetBootstrap(); b != nil {
		return c.bootstrap(head, b)
	}
	if head == nil {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_AUTH_NOT_BOOTSTRAPPED, storev1.FailureDetail_FAILURE_DETAIL_NO_BOOTSTRAP)
	}
	if used := change.GetTokensUsed(); used != nil { // It changes nobody's rights, so callers stay remembered.
		return &storev1.ChangeAuthResult{Mode: c.State.AuthMode}, c.markUsed(used)
	}
	out := &storev1.ChangeAuthResult{}
	switch kind := change.GetChange().(type) {
	case *storev1.ChangeAuth_SetMode:
		err = c.setMode(kind.SetMode)
	case *storev1.ChangeAuth_PutPolicy:
		err = c.putPolicy(head, kind.PutPolicy)
	case *storev1.ChangeAuth_DeletePolicy:
		out.Deleted, err = c.remove(policyRow(kind.DeletePolicy), &head.Policies)
	case *storev1.ChangeAuth_CreateToken:
		out.Token, err = c.createToken(head, kind.CreateToken)
	case *storev1.ChangeAuth_MakeFirst:
		out.Token, err = c.reset(head, kind.MakeFirst)
	case *storev1.ChangeAuth_RotateToken:
		out.Token, err = c.rotateToken(head, kind.RotateToken)
	case *storev1.ChangeAuth_RevokeToken:
		out.Revoked, err = c.revokeToken(head, kind.RevokeToken)
		out.Deleted = len(out.GetRevoked()) > 0
	case *storev1.ChangeAuth_PutBinding:
		err = c.putBinding(head, kind.PutBinding)
	case *storev1.ChangeAuth_DeleteBinding:
		out.Deleted, err = c.remove(bindingRow(kind.DeleteBinding), &head.Bindings)
	case *storev1.ChangeAuth_PutProvider:
		err = c.putProvider(head, kind.PutProvider)
	case *storev1.ChangeAuth_DeleteProvider:
		out.Deleted, err = c.remove(providerRow(kind.DeleteProvider), &head.Providers)
	default:
		err = malformed("change")
	}
	if err != nil {
		return nil, err
	}
	c.State.AuthChanges++
	out.Mode = c.State.AuthMode
	return out, c.write(headRow(), head)
}

// malformed returns the failure for a field that the server should have refused.
func malformed(field string) error {
	return rule.Invalid(storev1.FailureDetail_FAILURE_DETAIL_AUTH_MALFORMED, field)
}

// takesAway notes that the command may take a right away. The number grows with each such command, also where no event moves the
// revision.
func (c *Change) takesAway() { c.State.DenyRevision = max(c.State.DenyRevision, c.State.Revision) + 1 }

// bootstrap makes the first token, once. With the same token again it changes nothing.
func (c *Change) bootstrap(head *storev1.AuthRecord, b *storev1.Bootstrap) (*storev1.ChangeAuthResult, error) {
	t := b.GetToken()
	if head != nil {
		if subtle.ConstantTimeCompare(head.GetBootstrapSha256(), t.GetTokenSha256()) != 1 {
			return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_AUTH_BOOTSTRAPPED, storev1.FailureDetail_FAILURE_DETAIL_OTHER_BOOTSTRAP)
		}
		return &storev1.ChangeAuthResult{
			Token: &storev1.TokenRecord{Accessor: head.GetBootstrapAccessor()}, Mode: c.State.AuthMode,
		}, nil
	}
	switch {
	case b.GetMode() < storev1.AuthMode_AUTH_MODE_OFF || b.GetMode() > storev1.AuthMode_AUTH_MODE_ENFORCE:
		return nil, malformed("mode")
	case !isFirst(t):
		return nil, malformed("token")
	}
	if err := c.checkListeners(); err != nil {
		return nil, err
	}
	head = &storev1.AuthRecord{BootstrapSha256: t.GetTokenSha256(), BootstrapAccessor: t.GetAccessor()}
	made, err := c.createToken(head, t)
	if err != nil {
		return nil, err
	}
	c.State.AuthMode = b.GetMode()
	c.State.AuthChanges++
	c.takesAway()
	return &storev1.ChangeAuthResult{Token: made, Mode: b.GetMode()}, c.write(headRow(), head)
}

// reset makes another first token. The same one again is not made twice.
func (c *Change) reset(head *storev1.AuthRecord, t *storev1.TokenRecord) (*storev1.TokenRecord, error) {
	if !isFirst(t) {
		return nil, malformed("token")
	}
	if subtle.ConstantTimeCompare(head.GetBootstrapSha256(), t.GetTokenSha256()) == 1 {
		return &storev1.TokenRecord{Accessor: head.GetBootstrapAccessor()}, nil
	}
	made, err := c.createToken(head, t)
	if err == nil {
		head.BootstrapSha256, head.BootstrapAccessor = t.GetTokenSha256(), t.GetAccessor()
	}
	return made, err
}

// isFirst reports whether a token is one that a bootstrap or a reset makes.
func isFirst(t *storev1.TokenRecord) bool {
	return len(t.GetPolicies()) == 1 && t.GetPolicies()[0] == AdminPolicy && t.GetExpireTimeMs() == 0 && len(t.GetParent()) == 0
}

// setMode sets the mode. A stricter one takes rights away.
func (c *Change) setMode(mode storev1.AuthMode) error {
	if mode < storev1.AuthMode_AUTH_MODE_OFF || mode > storev1.AuthMode_AUTH_MODE_ENFORCE {
		return malformed("mode")
	}
	if mode > c.State.AuthMode {
		if err := c.checkListeners(); err != nil {
			return err
		}
		c.takesAway()
	}
	c.State.AuthMode = mode
	return nil
}

// putPolicy writes a policy. One that replaces another may take rights away.
func (c *Change) putPolicy(head *storev1.AuthRecord, p *storev1.PolicyRecord) error {
	switch {
	case !IsName(p.GetName()) || p.GetName() == AdminPolicy:
		return malformed("name")
	case len(p.GetRules()) > rulesBytesMax:
		return malformed("rules")
	}
	return c.put(policyRow(p.GetName()), &storev1.PolicyRecord{Rules: p.GetRules()}, &head.Policies, "policies_max", policiesMax)
}

// putBinding writes a binding. One that replaces another may take rights away.
func (c *Change) putBinding(head *storev1.AuthRecord, b *storev1.BindingRecord) error {
	anonymous := b.GetKind() == storev1.BindingKind_BINDING_KIND_ANONYMOUS
	ofJWT := b.GetKind() == storev1.BindingKind_BINDING_KIND_JWT
	switch {
	case !IsName(b.GetName()):
		return malformed("name")
	case !anonymous && !ofJWT && b.GetKind() != storev1.BindingKind_BINDING_KIND_CERTIFICATE:
		return malformed("kind")
	case anonymous != (b.GetPrincipal() == "") || len(b.GetPrincipal()) > principalBytesMax, ofJWT && !IsJWTPrincipal(b.GetPrincipal()):
		return malformed("principal")
	case len(b.GetNode()) > nodeBytesMax:
		return malformed("node")
	case b.GetIssuedAfterMs() < 0 || b.GetIssuedAfterMs() > 0 && !ofJWT:
		return malformed("issued_after")
	}
	if err := c.checkPolicies(b.GetPolicies()); err != nil {
		return err
	}
	record := proto.CloneOf(b)
	record.Name = ""
	return c.put(bindingRow(b.GetName()), record, &head.Bindings, "bindings_max", bindingsMax)
}

// put writes an object that is counted.
func (c *Change) put(row []byte, r layout.Record, count *uint64, limit string, most uint64) error {
	_, found, err := c.Rows.Get(row)
	switch {
	case err != nil:
		return err
	case found:
		c.takesAway()
	case *count >= most:
		return rule.Exceeded(limit, most)
	default:
		*count++
	}
	return c.write(row, r)
}

// remove deletes an object that is counted, if it is there.
func (c *Change) remove(row []byte, count *uint64) (bool, error) {
	_, found, err := c.Rows.Get(row)
	if err != nil || !found {
		return false, err
	}
	c.Rows.Remove(row)
	*count--
	c.takesAway()
	return true, nil
}

// checkPolicies refuses what a token or a binding must not name.
func (c *Change) checkPolicies(policies []string) error {
	if len(policies) == 0 || len(policies) > PoliciesOfMax {
		return malformed("policies")
	}
	for _, name := range policies {
		if name == AdminPolicy {
			continue
		}
		if _, found, err := c.Rows.Get(policyRow(name)); err != nil || !found {
			if err == nil {
				err = rule.Broken(storev1.FailureReason_FAILURE_REASON_POLICY_NOT_FOUND, storev1.FailureDetail_FAILURE_DETAIL_POLICY_MISSING, name)
			}
			return err
		}
	}
	return nil
}

// createToken makes a token.
func (c *Change) createToken(head *storev1.AuthRecord, t *storev1.TokenRecord) (*storev1.TokenRecord, error) {
	switch {
	case !IsName(t.GetName()):
		return nil, malformed("name")
	case len(t.GetAccessor()) != AccessorBytes:
		return nil, malformed("accessor")
	case len(t.GetNode()) > nodeBytesMax:
		return nil, malformed("node")
	case t.GetExpireTimeMs() < 0:
		return nil, malformed("expire_time")
	case head.GetTokens() >= TokensMax:
		return nil, rule.Exceeded("tokens_max", TokensMax)
	}
	line, err := c.line(t.GetParent())
	if err == nil {
		err = checkFamily(line)
	}
	if err == nil && (len(line) == 0 || len(t.GetPolicies()) > 0) {
		err = c.checkPolicies(t.GetPolicies())
	}
	if err != nil {
		return nil, err
	}
	if _, found, failed := c.Rows.Get(tokenRow(t.GetAccessor())); failed != nil || found {
		return nil, orMalformed(failed, "accessor")
	}
	record := proto.CloneOf(t)
	record.CreatedBy, record.CreateTimeMs, record.LastUsedDay = c.Principal, c.WallMs, 0
	inherit(record, line)
	made, err := c.writeToken(record)
	if err != nil {
		return nil, err
	}
	head.Tokens++
	return made, c.join(record, line)
}

// orMalformed returns an error, or that of a field.
func orMalformed(err error, field string) error {
	if err != nil {
		return err
	}
	return malformed(field)
}

// writeToken writes a token with the row of its hash, and returns what may be shown of it.
func (c *Change) writeToken(record *storev1.TokenRecord) (*storev1.TokenRecord, error) {
	if len(record.GetTokenSha256()) != sha256.Size {
		return nil, malformed("token_sha256")
	}
	if _, found, err := c.Rows.Get(hashRow(record.GetTokenSha256())); err != nil || found {
		return nil, orMalformed(err, "token_sha256")
	}
	c.Rows.Set(hashRow(record.GetTokenSha256()), slices.Clone(record.GetAccessor()))
	if err := c.write(tokenRow(record.GetAccessor()), record); err != nil {
		return nil, err
	}
	shown := proto.CloneOf(record)
	shown.TokenSha256, shown.FormatVersion, shown.Children, shown.Descendants = nil, 0, nil, 0
	return shown, nil
}

// rotateToken gives a token another text. The old one is of no use any more, and neither is what may have been made with it.
func (c *Change) rotateToken(head *storev1.AuthRecord, r *storev1.RotateToken) (*storev1.TokenRecord, error) {
	record, err := readToken(c.Rows, r.GetAccessor())
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, rule.Broken(storev1.FailureReason_FAILURE_REASON_TOKEN_NOT_FOUND, storev1.FailureDetail_FAILURE_DETAIL_TOKEN_MISSING)
	}
	gone, err := c.removeDescendants(head, record)
	if err != nil {
		return nil, err
	}
	line, err := c.line(record.GetParent())
	if err != nil {
		return nil, err
	}
	if len(gone) > 0 && len(line) > 0 {
		if err = c.count(line, -len(gone)); err != nil {
			return nil, err
		}
	}
	c.Rows.Remove(hashRow(record.GetTokenSha256()))
	record.TokenSha256, record.Children, record.Descendants = r.GetTokenSha256(), nil, 0
	c.takesAway()
	return c.writeToken(record)
}

// revokeToken ends a token and all that descend from it, if it is there, and returns their accessors, its own first.
func (c *Change) revokeToken(head *storev1.AuthRecord, accessor []byte) ([][]byte, error) {
	record, err := readToken(c.Rows, accessor)
	if err != nil || record == nil {
		return nil, err
	}
	c.takesAway()
	return c.removeFamily(head, record)
}

// write writes a record of a known kind.
func (c *Change) write(row []byte, r layout.Record) error {
	switch r := r.(type) {
	case *storev1.AuthRecord:
		r.FormatVersion = layout.RecordFormat
	case *storev1.PolicyRecord:
		r.FormatVersion = layout.RecordFormat
	case *storev1.TokenRecord:
		r.FormatVersion = layout.RecordFormat
	case *storev1.BindingRecord:
		r.FormatVersion = layout.RecordFormat
	case *storev1.ProviderRecord:
		r.FormatVersion = layout.RecordFormat
	default:
		return fmt.Errorf("%w: record %T", layout.ErrUnknownFormat, r)
	}
	value, err := layout.Encode(r)
	if err == nil {
		c.Rows.Set(row, value)
	}
	return err
}

// IsName reports whether a text can name an object.
func IsName(s string) bool {
	if s == "" || len(s) > nameBytesMax {
		return false
	}
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
