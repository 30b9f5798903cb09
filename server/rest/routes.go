package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// A routeKind says who serves a route.
type routeKind int

const (
	// Zero is a call with one answer, served by grpc-gateway.
	_ routeKind = iota
	// routeStream is a stream of responses, one JSON object a line.
	routeStream
	// routeRaw is a key's value as the raw body of a request: not in the gateway's table, which cannot say it.
	routeRaw
	// routeFile is a stream whose bytes are the body of the answer.
	routeFile
)

// restRoute is one row of the REST table. The rows are those of proto/gateway.yaml, which the gateway is made from; they
// stand here again because REST checks every request against its RPC before the gateway, which ignores what it does not
// know, may see it.
type restRoute struct {
	method  string // of HTTP
	pattern string // as in gateway.yaml: {name} is one segment, {name=**} the rest of the path
	rpc     string // full name
	body    bool   // whether the body is the request, in JSON; if so there are no query parameters
	kind    routeKind

	segments []routeSegment
	input    protoreflect.MessageDescriptor
	output   protoreflect.MessageDescriptor
}

// routeSegment is one segment of a pattern: a literal or a variable.
type routeSegment struct {
	literal string
	field   protoreflect.FieldDescriptor // nil for a literal
	rest    bool                         // takes the rest of the path, slashes and all
}

// restTable returns the REST table without what newRoutes adds.
func restTable() []restRoute {
	get, post, put, del, patch := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch
	return slices.Concat(queryTable(), authTable(), []restRoute{
		{method: post, pattern: "/v1/sessions", rpc: tenurev1.SessionService_CreateSession_FullMethodName, body: true},
		{method: get, pattern: "/v1/sessions", rpc: tenurev1.SessionService_ListSessions_FullMethodName},
		{method: get, pattern: "/v1/sessions/{session_id}", rpc: tenurev1.SessionService_GetSession_FullMethodName},
		{method: del, pattern: "/v1/sessions/{session_id}", rpc: tenurev1.SessionService_DestroySession_FullMethodName},
		{method: post, pattern: "/v1/sessions/{session_id}/renew", rpc: tenurev1.SessionService_RenewSession_FullMethodName, body: true},
		{method: post, pattern: "/v1/sessions/{session_id}/attach", rpc: tenurev1.SessionService_AttachSession_FullMethodName, body: true},

		{method: get, pattern: "/v1/kv", rpc: tenurev1.KVService_List_FullMethodName},
		{method: del, pattern: "/v1/kv", rpc: tenurev1.KVService_DeletePrefix_FullMethodName},
		{method: get, pattern: "/v1/kv/{key=**}", rpc: tenurev1.KVService_Get_FullMethodName},
		{method: put, pattern: "/v1/kv/{key=**}", rpc: tenurev1.KVService_Put_FullMethodName, kind: routeRaw},
		{method: post, pattern: "/v1/kv/{key=**}", rpc: tenurev1.KVService_Put_FullMethodName, body: true},
		{method: del, pattern: "/v1/kv/{key=**}", rpc: tenurev1.KVService_Delete_FullMethodName},
		{method: post, pattern: "/v1/txn", rpc: tenurev1.KVService_Txn_FullMethodName, body: true},

		{method: get, pattern: "/v1/locks", rpc: tenurev1.LockService_ListLocks_FullMethodName},
		{method: get, pattern: "/v1/locks/{key=**}", rpc: tenurev1.LockService_GetLock_FullMethodName},
		{method: post, pattern: "/v1/locks/{key=**}", rpc: tenurev1.LockService_TryAcquireLock_FullMethodName, body: true},
		{method: del, pattern: "/v1/locks/{key=**}", rpc: tenurev1.LockService_ReleaseLock_FullMethodName},
		{method: post, pattern: "/v1/lock-queue/{key=**}", rpc: tenurev1.LockService_AcquireLock_FullMethodName, body: true, kind: routeStream},
		{method: del, pattern: "/v1/lock-queue/{key=**}", rpc: tenurev1.LockService_CancelWait_FullMethodName},
		{method: get, pattern: "/v1/sequencers/{text}", rpc: tenurev1.LockService_CheckSequencer_FullMethodName},
		{method: post, pattern: "/v1/admin/break/{key=**}", rpc: tenurev1.LockService_BreakLock_FullMethodName, body: true},

		{method: get, pattern: "/v1/watch", rpc: tenurev1.WatchService_Watch_FullMethodName, kind: routeStream},
		{method: post, pattern: "/v1/watch", rpc: tenurev1.WatchService_Watch_FullMethodName, body: true, kind: routeStream},

		{method: get, pattern: "/v1/nodes", rpc: tenurev1.CatalogService_ListNodes_FullMethodName},
		{method: post, pattern: "/v1/nodes", rpc: tenurev1.CatalogService_RegisterNode_FullMethodName, body: true},
		{method: get, pattern: "/v1/nodes/{node}", rpc: tenurev1.CatalogService_GetNode_FullMethodName},
		{method: del, pattern: "/v1/nodes/{node}", rpc: tenurev1.CatalogService_DeregisterNode_FullMethodName},
		{method: post, pattern: "/v1/node-syncs/{node_id}", rpc: tenurev1.CatalogService_SyncNode_FullMethodName, body: true},
		{method: del, pattern: "/v1/nodes/{node}/services/{service_id=**}", rpc: tenurev1.CatalogService_DeregisterService_FullMethodName},
		{method: post, pattern: "/v1/nodes/{node}/checks/{check_id=**}", rpc: tenurev1.CatalogService_UpdateCheck_FullMethodName, body: true},
		{method: del, pattern: "/v1/nodes/{node}/checks/{check_id=**}", rpc: tenurev1.CatalogService_DeregisterCheck_FullMethodName},
		{method: get, pattern: "/v1/services", rpc: tenurev1.CatalogService_ListServices_FullMethodName},
		{method: get, pattern: "/v1/services/{service=**}", rpc: tenurev1.CatalogService_ListInstances_FullMethodName},
		{method: get, pattern: "/v1/checks", rpc: tenurev1.CatalogService_ListChecks_FullMethodName},
		{method: get, pattern: "/v1/pool", rpc: tenurev1.PoolService_ListPool_FullMethodName},
		{method: del, pattern: "/v1/pool/{node}", rpc: tenurev1.PoolService_ForceLeave_FullMethodName},

		{method: get, pattern: "/v1/elections/{key=**}", rpc: tenurev1.ElectionService_GetLeader_FullMethodName},
		{method: post, pattern: "/v1/elections/{key=**}", rpc: tenurev1.ElectionService_Campaign_FullMethodName, body: true, kind: routeStream},
		{method: put, pattern: "/v1/elections/{key=**}", rpc: tenurev1.ElectionService_Proclaim_FullMethodName, body: true},
		{method: del, pattern: "/v1/elections/{key=**}", rpc: tenurev1.ElectionService_Resign_FullMethodName},
		{method: get, pattern: "/v1/election-events/{key=**}", rpc: tenurev1.ElectionService_Observe_FullMethodName, kind: routeStream},

		{method: get, pattern: "/v1/status", rpc: tenurev1.ClusterService_GetStatus_FullMethodName},
		{method: get, pattern: "/v1/members", rpc: tenurev1.ClusterService_ListMembers_FullMethodName},
		{method: post, pattern: "/v1/admin/members", rpc: tenurev1.ClusterService_AddMember_FullMethodName, body: true},
		{method: post, pattern: "/v1/admin/members/{member_id}/promote", rpc: tenurev1.ClusterService_PromoteMember_FullMethodName, body: true},
		{method: del, pattern: "/v1/admin/members/{member_id}", rpc: tenurev1.ClusterService_RemoveMember_FullMethodName},
		{method: put, pattern: "/v1/admin/members/{member_id}", rpc: tenurev1.ClusterService_ReplaceMember_FullMethodName, body: true},
		{method: post, pattern: "/v1/admin/leader", rpc: tenurev1.ClusterService_TransferLeadership_FullMethodName, body: true},
		{method: get, pattern: "/v1/admin/limits", rpc: tenurev1.ClusterService_GetLimits_FullMethodName},
		{method: patch, pattern: "/v1/admin/limits", rpc: tenurev1.ClusterService_SetLimits_FullMethodName, body: true},
		{method: post, pattern: "/v1/admin/compact", rpc: tenurev1.ClusterService_Compact_FullMethodName, body: true},
		{method: del, pattern: "/v1/admin/freeze", rpc: tenurev1.ClusterService_EndFreeze_FullMethodName},
		{method: get, pattern: "/v1/admin/backup", rpc: tenurev1.ClusterService_Backup_FullMethodName, kind: routeFile},
	})
}

// queryTable returns the rows of prepared queries.
func queryTable() []restRoute {
	get, post, put, del := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return []restRoute{
		{method: get, pattern: "/v1/queries", rpc: tenurev1.QueryService_ListQueries_FullMethodName},
		{method: post, pattern: "/v1/queries", rpc: tenurev1.QueryService_CreateQuery_FullMethodName, body: true},
		{method: get, pattern: "/v1/queries/{id_or_name=**}", rpc: tenurev1.QueryService_GetQuery_FullMethodName},
		{method: put, pattern: "/v1/queries/{query_id}", rpc: tenurev1.QueryService_UpdateQuery_FullMethodName, body: true},
		{method: del, pattern: "/v1/queries/{query_id}", rpc: tenurev1.QueryService_DeleteQuery_FullMethodName},
		{method: get, pattern: "/v1/query-results/{id_or_name=**}", rpc: tenurev1.QueryService_ExecuteQuery_FullMethodName},
		{method: get, pattern: "/v1/query-explanations/{id_or_name=**}", rpc: tenurev1.QueryService_ExplainQuery_FullMethodName},
	}
}

// authTable returns the rows of who may do what.
func authTable() []restRoute {
	get, post, put, del := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return []restRoute{
		{method: post, pattern: "/v1/auth/bootstrap", rpc: tenurev1.AuthService_BootstrapAuth_FullMethodName, body: true},
		{method: post, pattern: "/v1/auth/reset", rpc: tenurev1.AuthService_ResetAuth_FullMethodName, body: true},
		{method: get, pattern: "/v1/auth/status", rpc: tenurev1.AuthService_GetAuthStatus_FullMethodName},
		{method: put, pattern: "/v1/auth/mode", rpc: tenurev1.AuthService_SetAuthMode_FullMethodName, body: true},
		{method: put, pattern: "/v1/auth/policies/{name}", rpc: tenurev1.AuthService_PutPolicy_FullMethodName, body: true},
		{method: get, pattern: "/v1/auth/policies/{name}", rpc: tenurev1.AuthService_GetPolicy_FullMethodName},
		{method: get, pattern: "/v1/auth/policies", rpc: tenurev1.AuthService_ListPolicies_FullMethodName},
		{method: del, pattern: "/v1/auth/policies/{name}", rpc: tenurev1.AuthService_DeletePolicy_FullMethodName},
		{method: post, pattern: "/v1/auth/tokens", rpc: tenurev1.AuthService_CreateToken_FullMethodName, body: true},
		{method: get, pattern: "/v1/auth/tokens/{accessor}", rpc: tenurev1.AuthService_GetToken_FullMethodName},
		{method: get, pattern: "/v1/auth/tokens", rpc: tenurev1.AuthService_ListTokens_FullMethodName},
		{method: post, pattern: "/v1/auth/tokens/{accessor}/rotate", rpc: tenurev1.AuthService_RotateToken_FullMethodName, body: true},
		{method: del, pattern: "/v1/auth/tokens/{accessor}", rpc: tenurev1.AuthService_RevokeToken_FullMethodName},
		{method: put, pattern: "/v1/auth/bindings/{name}", rpc: tenurev1.AuthService_PutBinding_FullMethodName, body: true},
		{method: get, pattern: "/v1/auth/bindings", rpc: tenurev1.AuthService_ListBindings_FullMethodName},
		{method: del, pattern: "/v1/auth/bindings/{name}", rpc: tenurev1.AuthService_DeleteBinding_FullMethodName},
		{method: put, pattern: "/v1/auth/providers/{name}", rpc: tenurev1.AuthService_PutProvider_FullMethodName, body: true},
		{method: get, pattern: "/v1/auth/providers", rpc: tenurev1.AuthService_ListProviders_FullMethodName},
		{method: del, pattern: "/v1/auth/providers/{name}", rpc: tenurev1.AuthService_DeleteProvider_FullMethodName},
		{method: get, pattern: "/v1/auth/self", rpc: tenurev1.AuthService_WhoAmI_FullMethodName},
		{method: post, pattern: "/v1/auth/check", rpc: tenurev1.AuthService_CheckAccess_FullMethodName, body: true},
	}
}

// agentTable returns the REST table of an agent.
func agentTable() []restRoute {
	get, post, put, del := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	return []restRoute{
		{method: get, pattern: "/v1/agent", rpc: tenurev1.AgentService_GetAgent_FullMethodName},
		{method: get, pattern: "/v1/agent/services", rpc: tenurev1.AgentService_ListAgentServices_FullMethodName},
		{method: post, pattern: "/v1/agent/services", rpc: tenurev1.AgentService_AddAgentService_FullMethodName, body: true},
		{method: del, pattern: "/v1/agent/services/{service_id=**}", rpc: tenurev1.AgentService_RemoveAgentService_FullMethodName},
		{method: get, pattern: "/v1/agent/checks", rpc: tenurev1.AgentService_ListAgentChecks_FullMethodName},
		{method: post, pattern: "/v1/agent/checks", rpc: tenurev1.AgentService_AddAgentCheck_FullMethodName, body: true},
		{method: del, pattern: "/v1/agent/checks/{check_id=**}", rpc: tenurev1.AgentService_RemoveAgentCheck_FullMethodName},
		{method: put, pattern: "/v1/agent/check-reports/{check_id=**}", rpc: tenurev1.AgentService_ReportCheck_FullMethodName},
		{method: put, pattern: "/v1/agent/maintenance", rpc: tenurev1.AgentService_SetMaintenance_FullMethodName, body: true},
		{method: post, pattern: "/v1/agent/reload", rpc: tenurev1.AgentService_ReloadAgent_FullMethodName, body: true},
		{method: post, pattern: "/v1/agent/leave", rpc: tenurev1.AgentService_LeaveAgent_FullMethodName, body: true},
	}
}

// newRoutes returns a REST table, ready for use. It fails only on a mistake in the table.
func newRoutes(routes []restRoute) ([]restRoute, error) {
	for i := range routes {
		if err := routes[i].prepare(); err != nil {
			return nil, fmt.Errorf("route %s %s: %w", routes[i].method, routes[i].pattern, err)
		}
	}
	return routes, nil
}

// prepare finds the RPC's messages and takes the pattern apart.
func (r *restRoute) prepare() error {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(r.rpc, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return fmt.Errorf("find RPC: %w", err)
	}
	rpc, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return fmt.Errorf("%s is no RPC", name)
	}
	r.input, r.output = rpc.Input(), rpc.Output()
	for text := range strings.SplitSeq(strings.TrimPrefix(r.pattern, "/"), "/") {
		variable, ok := strings.CutPrefix(text, "{")
		if !ok {
			r.segments = append(r.segments, routeSegment{literal: text})
			continue
		}
		variable, rest := strings.CutSuffix(strings.TrimSuffix(variable, "}"), "=**")
		field := r.input.Fields().ByName(protoreflect.Name(variable))
		if field == nil {
			return fmt.Errorf("%s has no field %s", r.input.FullName(), variable)
		}
		r.segments = append(r.segments, routeSegment{field: field, rest: rest})
	}
	return nil
}

// matches tells whether the pattern fits the segments of a path.
func (r *restRoute) matches(path []string) bool {
	for i, segment := range r.segments {
		switch {
		case i >= len(path):
			return false
		case segment.rest:
			return true
		case segment.field == nil && segment.literal != path[i]:
			return false
		}
	}
	return len(path) == len(r.segments)
}

// pathField is a field of the request with the value that the path gives it.
type pathField struct {
	field protoreflect.FieldDescriptor
	value string
}

// pathFields returns the fields that a path which matches gives values.
func (r *restRoute) pathFields(path []string) []pathField {
	var fields []pathField
	for i, segment := range r.segments {
		switch {
		case segment.rest:
			fields = append(fields, pathField{field: segment.field, value: strings.Join(path[i:], "/")})
		case segment.field != nil:
			fields = append(fields, pathField{field: segment.field, value: path[i]})
		}
	}
	return fields
}

// inPath tells whether the path gives a field of the request its value.
func (r *restRoute) inPath(field protoreflect.FieldDescriptor) bool {
	return slices.ContainsFunc(r.segments, func(s routeSegment) bool {
		return s.field != nil && s.field.FullName() == field.FullName()
	})
}

// findRoute returns the route for a request. HEAD is served as GET without the body, but not on streams, which would
// never end.
func findRoute(routes []restRoute, method string, path []string) (*restRoute, *restError) {
	var allowed []string
	for i := range routes {
		route := &routes[i]
		if !route.matches(path) {
			continue
		}
		head := route.method == http.MethodGet && route.kind != routeStream && route.kind != routeFile
		if route.method == method || head && method == http.MethodHead {
			return route, nil
		}
		allowed = append(allowed, route.method)
		if head {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if len(allowed) == 0 {
		return nil, noSuchPath()
	}
	return nil, wrongMethod(method, allowed)
}

// noSuchPath is the error for a path that is not in the table.
func noSuchPath() *restError {
	return restErrorOf(reason.New(tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND,
		"this path does not exist; /openapi.json lists all paths"))
}

// wrongMethod is the error for a path that is in the table with other methods.
func wrongMethod(method string, allowed []string) *restError {
	slices.Sort(allowed)
	list := strings.Join(slices.Compact(allowed), ", ")
	e := restErrorOf(reason.New(tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND,
		"method %.32q is not served at this path, but %s", method, list)).as(http.StatusMethodNotAllowed)
	e.allow = list
	return e
}
