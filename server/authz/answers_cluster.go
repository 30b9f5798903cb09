package authz

import tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"

// showCatalog adds the answers of CatalogService.
func showCatalog(a *Answers) {
	const covered = "a read is refused that may not read all that it selects, or has left out the rest as it asked; a write includes the read"
	tell[*tenurev1.RegisterNodeResponse](a, nil, head(), shown(covered, "node_id", "sessions_ended"))
	tell[*tenurev1.SyncNodeResponse](a, nil, head(), shown(covered, "sessions_ended"))
	tell[*tenurev1.UpdateCheckResponse](a, nil, head(), shown(covered, "previous", "sessions_ended"))
	tell[*tenurev1.DeregisterNodeResponse](a, nil, head(), shown(covered, "deregistered", "sessions_ended"))
	tell[*tenurev1.DeregisterServiceResponse](a, nil, head(), shown(covered, "deregistered", "sessions_ended"))
	tell[*tenurev1.DeregisterCheckResponse](a, nil, head(), shown(covered, "deregistered", "sessions_ended"))
	tell[*tenurev1.GetNodeResponse](a, nil, head(), shown(covered, "node", "services", "checks", "next_page_token"))
	tell[*tenurev1.ListNodesResponse](a, nil, head(), shown(covered, "nodes", "next_page_token"))
	tell[*tenurev1.ListServicesResponse](a, nil, head(), shown(covered, "services", "next_page_token"))
	tell[*tenurev1.ListInstancesResponse](a, nil, head(), shown(covered, "instances", "next_page_token"))
	tell[*tenurev1.ListChecksResponse](a, nil, head(), shown(covered, "checks", "next_page_token"))
	tell[*tenurev1.CatalogOpResponse](a, nil, shown(covered, "node", "service", "check", "deleted"))
}

// showCluster adds the answers of ClusterService and PoolService.
func showCluster(a *Answers) {
	const operator = "the request needs the right to read the cluster, or to change what the answer shows"
	tell[*tenurev1.GetStatusResponse](a, nil, head(), shown(operator, "leader", "members", "member", "version", "problems",
		"commit_index", "applied_index", "first_index", "last_index", "keys", "sessions", "live_bytes", "disk_bytes", "compacted_revision",
		"checksum", "uptime", "watches", "cluster_version", "store_bytes", "store_bytes_max", "freeze_left"))
	tell[*tenurev1.AddMemberResponse](a, nil, head(), shown(operator, "join_token", "ttl", "replaced_token"))
	tell[*tenurev1.PromoteMemberResponse](a, nil, head())
	tell[*tenurev1.RemoveMemberResponse](a, nil, head())
	tell[*tenurev1.ReplaceMemberResponse](a, nil, head(), shown(operator, "join_token", "ttl", "replaced_token"))
	tell[*tenurev1.TransferLeadershipResponse](a, nil, head(), shown(operator, "leader"))
	tell[*tenurev1.GetLimitsResponse](a, nil, head(), shown(operator, "limits"))
	tell[*tenurev1.SetLimitsResponse](a, nil, head(), shown(operator, "limits"))
	tell[*tenurev1.CompactResponse](a, nil, head(), shown(operator, "compacted_revision"))
	tell[*tenurev1.EndFreezeResponse](a, nil, head(), shown(operator, "ended"))
	tell[*tenurev1.BackupResponse](a, nil, head(), shown(operator, "data"))
	tell[*tenurev1.ListPoolResponse](a, nil, head(), shown(operator, "nodes", "next_page_token", "takes_part"))
	tell[*tenurev1.ForceLeaveResponse](a, nil, head(), shown(operator, "deregistered"))
	tell[*tenurev1.ListMembersResponse](a, nil, head(), shown("every client needs the addresses of the members", "members"))
}

// showAuth adds the answers of AuthService.
func showAuth(a *Answers) {
	const admin = "the request needs the right to read tokens and policies, or is about the caller itself"
	tell[*tenurev1.BootstrapAuthResponse](a, nil, head(), shown(admin, "accessor", "mode"))
	tell[*tenurev1.ResetAuthResponse](a, nil, head(), shown(admin, "accessor", "mode"))
	tell[*tenurev1.GetAuthStatusResponse](a, nil, head(), shown(admin,
		"mode", "bootstrapped", "tokens", "policies", "bindings", "deny_revision", "providers"))
	tell[*tenurev1.SetAuthModeResponse](a, nil, head())
	tell[*tenurev1.PutPolicyResponse](a, nil, head())
	tell[*tenurev1.GetPolicyResponse](a, nil, head(), shown(admin, "policy"))
	tell[*tenurev1.ListPoliciesResponse](a, nil, head(), shown(admin, "policies", "next_page_token"))
	tell[*tenurev1.DeletePolicyResponse](a, nil, head(), shown(admin, "deleted"))
	tell[*tenurev1.CreateTokenResponse](a, nil, head(), shown(admin, "token", "text"))
	tell[*tenurev1.GetTokenResponse](a, nil, head(), shown(admin, "token"))
	tell[*tenurev1.ListTokensResponse](a, nil, head(), shown(admin, "tokens", "next_page_token"))
	tell[*tenurev1.RotateTokenResponse](a, nil, head(), shown(admin, "token", "text"))
	tell[*tenurev1.RevokeTokenResponse](a, nil, head(), shown(admin, "revoked", "accessors"))
	tell[*tenurev1.PutBindingResponse](a, nil, head())
	tell[*tenurev1.ListBindingsResponse](a, nil, head(), shown(admin, "bindings", "next_page_token"))
	tell[*tenurev1.DeleteBindingResponse](a, nil, head(), shown(admin, "deleted"))
	tell[*tenurev1.PutProviderResponse](a, nil, head())
	tell[*tenurev1.ListProvidersResponse](a, nil, head(), shown(admin, "providers", "keys"))
	tell[*tenurev1.DeleteProviderResponse](a, nil, head(), shown(admin, "deleted"))
	tell[*tenurev1.WhoAmIResponse](a, nil, head(), shown(admin, "principal", "credential", "cause", "policies", "expire_time", "mode", "parent"))
	tell[*tenurev1.CheckAccessResponse](a, nil, head(), shown(admin, "allowed"))
}
