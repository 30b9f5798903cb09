package wire

import (
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// accessorAnonymous is the accessor that Consul shows to clients without a token.
const accessorAnonymous = "00000000-0000-0000-0000-000000000002"

// Link names a policy.
type Link struct{ ID, Name string }

// Token is what a client may know of its token. The cluster does not keep its text.
type Token struct {
	AccessorID     string
	SecretID       string
	Description    string
	Policies       []Link
	Local          bool
	ExpirationTime *time.Time `json:",omitempty"`
	CreateTime     time.Time
	Hash           string
	CreateIndex    uint64
	ModifyIndex    uint64
}

// TokenOf returns a token.
func TokenOf(t *tenurev1.Token) *Token {
	out := &Token{AccessorID: t.GetAccessor(), Description: t.GetName(), Policies: links(t.GetPolicies()), CreateTime: t.GetCreateTime().AsTime()}
	if t.GetExpireTime() != nil {
		at := t.GetExpireTime().AsTime()
		out.ExpirationTime = &at
	}
	return out
}

// Nobody returns what stands for the token of a caller that has none of the cluster: an anonymous one, or one that shows what others have issued.
func Nobody(who *tenurev1.WhoAmIResponse) *Token {
	out := &Token{AccessorID: accessorAnonymous, Description: who.GetPrincipal(), Policies: links(who.GetPolicies())}
	if out.Description == "" {
		out.Description = "Anonymous Token"
	}
	return out
}

// links returns policies. Those of Tenure have names only.
func links(names []string) []Link {
	out := []Link{}
	for _, name := range names {
		out = append(out, Link{Name: name})
	}
	return out
}
