package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// addCluster adds the messages of ClusterService. What an operator may change does not depend on what else is said.
func addCluster(t *Table) {
	const part = "the message as a whole needs it"
	set[*tenurev1.GetStatusRequest](t, whole(Operator, Read))
	set[*tenurev1.GetLimitsRequest](t, whole(Operator, Read))
	set[*tenurev1.ListMembersRequest](t, whole(Any, Read))
	set[*tenurev1.AddMemberRequest](t, with(nones(part, "name", "peer_address", "stay_learner", "ttl"), whole(Operator, Write))...)
	set[*tenurev1.PromoteMemberRequest](t, with(nones(part, "member_id", "force"), whole(Operator, Write))...)
	set[*tenurev1.RemoveMemberRequest](t, with(nones(part, "member_id", "force"), whole(Operator, Write))...)
	set[*tenurev1.ReplaceMemberRequest](t,
		with(nones(part, "member_id", "name", "peer_address", "force", "ttl"), whole(Operator, Write))...)
	set[*tenurev1.TransferLeadershipRequest](t, with(nones(part, "member_id"), whole(Operator, Write))...)
	set[*tenurev1.SetLimitsRequest](t, with(nones(part, "limits", "force"), whole(Operator, Write))...)
	set[*tenurev1.CompactRequest](t, with(nones(part, "revision"), whole(Operator, Write))...)
	set[*tenurev1.EndFreezeRequest](t, with(nones(part, "reason"), whole(Operator, Write))...)
	set[*tenurev1.BackupRequest](t, whole(Operator, Backup))
}

// addAuth adds the messages of AuthService.
func addAuth(t *Table) {
	const part = "the message as a whole needs it"
	set[*tenurev1.BootstrapAuthRequest](t, nones("there are no rights before it, and it works once", "token", "mode", "nonce")...)
	set[*tenurev1.ResetAuthRequest](t, nones("it is for callers that have lost their rights; the nonce takes their place", "token", "nonce")...)
	set[*tenurev1.GetAuthStatusRequest](t, whole(Operator, Read))
	set[*tenurev1.SetAuthModeRequest](t, with(nones(part, "mode"), whole(Admin, Write))...)
	set[*tenurev1.PutPolicyRequest](t, with(nones(part, "name", "rules"), whole(Admin, Write))...)
	set[*tenurev1.GetPolicyRequest](t, with(nones(part, "name"), whole(Admin, Read))...)
	set[*tenurev1.ListPoliciesRequest](t, with(page(), whole(Admin, Read))...)
	set[*tenurev1.DeletePolicyRequest](t, with(nones(part, "name"), whole(Admin, Write))...)
	set[*tenurev1.CreateTokenRequest](t,
		with(nones("the parent says what the message needs", "name", "policies", "node", "ttl", "no_expiry"),
			needs("parent", func(v *visit, m *tenurev1.CreateTokenRequest) { v.child(m.GetParent()) }))...)
	set[*tenurev1.GetTokenRequest](t,
		needs("accessor", func(v *visit, m *tenurev1.GetTokenRequest) { v.token(m.GetAccessor(), Read) }))
	set[*tenurev1.ListTokensRequest](t, with(page(), whole(Admin, Read))...)
	set[*tenurev1.RotateTokenRequest](t,
		needs("accessor", func(v *visit, m *tenurev1.RotateTokenRequest) { v.token(m.GetAccessor(), Write) }))
	set[*tenurev1.RevokeTokenRequest](t,
		needs("accessor", func(v *visit, m *tenurev1.RevokeTokenRequest) { v.token(m.GetAccessor(), Write) }))
	set[*tenurev1.PutBindingRequest](t, with(nones(part, "name", "kind", "principal", "policies", "node", "issued_after"), whole(Admin, Write))...)
	set[*tenurev1.ListBindingsRequest](t, with(page(), whole(Admin, Read))...)
	set[*tenurev1.DeleteBindingRequest](t, with(nones(part, "name"), whole(Admin, Write))...)
	set[*tenurev1.PutProviderRequest](t, with(
		nones(part, "name", "issuer", "audiences", "jwks", "jwks_url", "ca_certificates", "algorithms"), whole(Admin, Write))...)
	set[*tenurev1.ListProvidersRequest](t, whole(Admin, Read))
	set[*tenurev1.DeleteProviderRequest](t, with(nones(part, "name"), whole(Admin, Write))...)
	set[*tenurev1.WhoAmIRequest](t, whole(Any, Read))
	set[*tenurev1.CheckAccessRequest](t, with(nones(part, "rule"), whole(Any, Read))...)
}

// child adds the need to make a child of a token: without one, to make any token. Which policies a caller may give to a child of its own
// token, its service decides.
func (v *visit) child(parent string) { v.add(Need{Kind: Admin, Verb: Write, By: ByToken, ID: parent}) }

// token adds a need on a token; without an accessor the caller means its own.
func (v *visit) token(accessor string, verb Verb) {
	if accessor == "" {
		v.add(Need{Kind: Any, Verb: verb})
		return
	}
	v.add(Need{Kind: Admin, Verb: verb, By: ByToken, ID: accessor})
}
