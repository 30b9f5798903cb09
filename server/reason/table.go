package reason

import (
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// statusClientClosedRequest is what others use for a client that went away before the answer; no client reads it.
const statusClientClosedRequest = 499

// row says what one reason means to each protocol.
type row struct {
	// code and http are what an error with this reason has over gRPC and over REST.
	code codes.Code
	http int
	// applied is what such an error says about the change that was asked for; empty means AppliedNo.
	applied string
	// retry is how long a client should wait before it tries again, where that is not known better; zero is not told.
	retry time.Duration
	// failures are the broken rules of the state machine that have this reason.
	failures []storev1.FailureReason
}

// rows is the table of all reasons, in the order of their numbers. docs/rest.md shows it.
var rows = map[tenurev1.ErrorReason]row{
	tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT: {
		code: codes.InvalidArgument, http: http.StatusBadRequest,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_INVALID_COMMAND},
	},
	tenurev1.ErrorReason_ERROR_REASON_KEY_EMPTY:               {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_KEY_TOO_LONG:            {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_MALFORMED_REQUEST:       {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_UNKNOWN_FIELD:           {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_PAGE_TOKEN_INVALID:      {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID:    {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_SEQUENCER_INVALID:       {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE:        {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE: {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:      {code: codes.InvalidArgument, http: http.StatusBadRequest},
	tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_KEY_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_SESSION_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_FOUND: {code: codes.NotFound, http: http.StatusNotFound},
	tenurev1.ErrorReason_ERROR_REASON_MEMBER_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_MEMBER_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED: {
		code: codes.FailedPrecondition, http: http.StatusGone,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_SESSION_EXPIRED},
	},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_SUPERSEDED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_SESSION_SUPERSEDED},
	},
	tenurev1.ErrorReason_ERROR_REASON_SESSION_SECRET_WRONG: {code: codes.PermissionDenied, http: http.StatusForbidden},
	tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED: {
		code: codes.FailedPrecondition, http: http.StatusPreconditionFailed,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED},
	},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_LOCK_HELD},
	},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_LOCK_DELAYED},
	},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_LOCK_NOT_HELD},
	},
	tenurev1.ErrorReason_ERROR_REASON_FENCING_TOKEN_STALE: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_FENCING_TOKEN_STALE},
	},
	tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_LOCK_MODE_MISMATCH},
	},
	tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_REUSED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_REQUEST_ID_REUSED},
	},
	tenurev1.ErrorReason_ERROR_REASON_REQUEST_ID_DONE: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_REQUEST_ID_DONE},
	},
	tenurev1.ErrorReason_ERROR_REASON_REQUEST_WINDOW_FULL: {
		code: codes.ResourceExhausted, http: http.StatusTooManyRequests,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_REQUEST_WINDOW_FULL},
	},
	tenurev1.ErrorReason_ERROR_REASON_REVISION_COMPACTED: {
		code: codes.OutOfRange, http: http.StatusGone,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_REVISION_COMPACTED},
	},
	tenurev1.ErrorReason_ERROR_REASON_REVISION_FUTURE: {
		code: codes.OutOfRange, http: http.StatusBadRequest,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_REVISION_FUTURE},
	},
	tenurev1.ErrorReason_ERROR_REASON_HISTORY_CHANGED: {code: codes.FailedPrecondition, http: http.StatusConflict},
	tenurev1.ErrorReason_ERROR_REASON_NO_LEADER:       {code: codes.Unavailable, http: http.StatusServiceUnavailable, retry: 500 * time.Millisecond},
	tenurev1.ErrorReason_ERROR_REASON_NOT_LEADER:      {code: codes.Unavailable, http: http.StatusServiceUnavailable},
	tenurev1.ErrorReason_ERROR_REASON_STOPPING:        {code: codes.Unavailable, http: http.StatusServiceUnavailable, retry: time.Second},
	// Not 503, which proxies and clients take as leave to send a change again.
	tenurev1.ErrorReason_ERROR_REASON_OUTCOME_UNKNOWN:   {code: codes.Unavailable, http: http.StatusGatewayTimeout, applied: AppliedUnknown},
	tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS: {code: codes.ResourceExhausted, http: http.StatusTooManyRequests, retry: 100 * time.Millisecond},
	tenurev1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED: {
		code: codes.ResourceExhausted, http: http.StatusTooManyRequests,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_LIMIT_EXCEEDED},
	},
	tenurev1.ErrorReason_ERROR_REASON_QUOTA_EXCEEDED: {
		code: codes.ResourceExhausted, http: http.StatusInsufficientStorage,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_STORE_FULL},
	},
	tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE: {
		code: codes.ResourceExhausted, http: http.StatusRequestEntityTooLarge,
		failures: []storev1.FailureReason{
			storev1.FailureReason_FAILURE_REASON_RESULT_TOO_LARGE,
			storev1.FailureReason_FAILURE_REASON_OVER_BUDGET,
		},
	},
	tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED: {
		code: codes.Unimplemented, http: http.StatusNotImplemented,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED},
	},
	tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED: {code: codes.PermissionDenied, http: http.StatusForbidden},
	tenurev1.ErrorReason_ERROR_REASON_UNAUTHENTICATED:   {code: codes.Unauthenticated, http: http.StatusUnauthorized},
	tenurev1.ErrorReason_ERROR_REASON_CANCELLED:         {code: codes.Canceled, http: statusClientClosedRequest},
	tenurev1.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED: {code: codes.DeadlineExceeded, http: http.StatusGatewayTimeout},
	tenurev1.ErrorReason_ERROR_REASON_INTERNAL:          {code: codes.Internal, http: http.StatusInternalServerError, applied: AppliedUnknown},
	tenurev1.ErrorReason_ERROR_REASON_FROZEN: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_FROZEN},
	},
	tenurev1.ErrorReason_ERROR_REASON_EPOCH_MISMATCH: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_EPOCH_MISMATCH},
	},
	tenurev1.ErrorReason_ERROR_REASON_CANDIDATE_NOT_FOUND: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_CANDIDATE_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_METHOD_NOT_FOUND: {code: codes.Unimplemented, http: http.StatusNotFound},
	tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_TOO_MANY_KEYS},
	},
	tenurev1.ErrorReason_ERROR_REASON_MEMBERSHIP_REFUSED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_MEMBER_EXISTS},
	},
	tenurev1.ErrorReason_ERROR_REASON_WATCHER_TOO_SLOW: {code: codes.Aborted, http: http.StatusGone},
	tenurev1.ErrorReason_ERROR_REASON_ATTEMPT_OUTDATED: {code: codes.FailedPrecondition, http: http.StatusConflict},
	tenurev1.ErrorReason_ERROR_REASON_RIGHTS_CHANGED: {
		code: codes.Unavailable, http: http.StatusServiceUnavailable, retry: 100 * time.Millisecond,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_DENY_REVISION_OLD},
	},
	tenurev1.ErrorReason_ERROR_REASON_POLICY_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_POLICY_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_TOKEN_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_TOKEN_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_AUTH_NOT_BOOTSTRAPPED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_AUTH_NOT_BOOTSTRAPPED},
	},
	tenurev1.ErrorReason_ERROR_REASON_AUTH_BOOTSTRAPPED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_AUTH_BOOTSTRAPPED},
	},
	tenurev1.ErrorReason_ERROR_REASON_AUTH_UNSAFE: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_AUTH_UNSAFE},
	},
	tenurev1.ErrorReason_ERROR_REASON_AUDIT_UNAVAILABLE: {code: codes.Unavailable, http: http.StatusServiceUnavailable, retry: time.Second},
	tenurev1.ErrorReason_ERROR_REASON_LIMIT_IN_USE: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_LIMIT_IN_USE},
	},
	tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_NODE_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_SERVICE_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_SERVICE_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_CHECK_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND: {
		code: codes.NotFound, http: http.StatusNotFound,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_QUERY_NOT_FOUND},
	},
	tenurev1.ErrorReason_ERROR_REASON_CHECK_CRITICAL: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_CHECK_CRITICAL},
	},
	tenurev1.ErrorReason_ERROR_REASON_NODE_ID_CONFLICT: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_NODE_ID_CONFLICT},
	},
	tenurev1.ErrorReason_ERROR_REASON_SYNC_OUTDATED: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_SYNC_OUTDATED},
	},
	tenurev1.ErrorReason_ERROR_REASON_QUERY_NAME_TAKEN: {
		code: codes.FailedPrecondition, http: http.StatusConflict,
		failures: []storev1.FailureReason{storev1.FailureReason_FAILURE_REASON_QUERY_NAME_TAKEN},
	},
}

// rowOf returns what a reason means; one that is not in the table means what INTERNAL does.
func rowOf(reason tenurev1.ErrorReason) row {
	if r, ok := rows[reason]; ok {
		return r
	}
	return rows[tenurev1.ErrorReason_ERROR_REASON_INTERNAL]
}

// Code returns the gRPC code of a reason.
func Code(reason tenurev1.ErrorReason) codes.Code { return rowOf(reason).code }

// HTTPStatus returns the HTTP status of a reason.
func HTTPStatus(reason tenurev1.ErrorReason) int { return rowOf(reason).http }

// ofFailure returns the reason that a broken rule of the state machine has; INTERNAL for one that must not be broken.
func ofFailure(failure storev1.FailureReason) tenurev1.ErrorReason {
	for reason, r := range rows {
		if slices.Contains(r.failures, failure) {
			return reason
		}
	}
	return tenurev1.ErrorReason_ERROR_REASON_INTERNAL
}
