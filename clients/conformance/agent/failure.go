package main

import (
	"context"
	"errors"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// failure returns an error as the protocol says it.
func failure(err error) map[string]any {
	applied := tenure.AppliedOf(err)
	kind := kindOf(err)
	if kind == "protocol" {
		applied = tenure.AppliedNo
	}
	return map[string]any{"kind": kind, "applied": applied, "message": err.Error()}
}

// kindOf returns the protocol's name of an error.
func kindOf(err error) string {
	switch {
	case errors.Is(err, errProtocol):
		return "protocol"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, tenure.ErrWaitTimedOut):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	kinds := []struct {
		err  error
		kind string
	}{
		{tenure.ErrSessionExpired, "session_expired"},
		{tenure.ErrSessionSuperseded, "session_superseded"},
		{tenure.ErrSessionClosed, "session_closed"},
		{tenure.ErrClientClosed, "client_closed"},
		{tenure.ErrAuth, "auth_failed"},
		{tenure.ErrKeyNotFound, "key_not_found"},
		{tenure.ErrLockNotFound, "lock_not_found"},
		{tenure.ErrSessionNotFound, "session_not_found"},
		{tenure.ErrNodeNotFound, "node_not_found"},
		{tenure.ErrServiceNotFound, "service_not_found"},
		{tenure.ErrCheckNotFound, "check_not_found"},
		{tenure.ErrCheckCritical, "check_critical"},
		{tenure.ErrQueryNotFound, "query_not_found"},
		{tenure.ErrQueryNameTaken, "query_name_taken"},
		{tenure.ErrCompareFailed, "compare_failed"},
		{tenure.ErrLockHeld, "lock_held"},
		{tenure.ErrLockDelayed, "lock_delayed"},
		{tenure.ErrNotHeld, "not_held"},
		{tenure.ErrLockLost, "not_held"},
		{tenure.ErrStaleToken, "stale_token"},
		{tenure.ErrModeMismatch, "mode_mismatch"},
		{tenure.ErrWaitEnded, "wait_ended"},
		{tenure.ErrCandidateNotFound, "candidate_not_found"},
		{tenure.ErrCompacted, "compacted"},
		{tenure.ErrFutureRevision, "future_revision"},
		{tenure.ErrHistoryChanged, "history_changed"},
		{tenure.ErrTooSlow, "too_slow"},
		{tenure.ErrTokenInvalid, "token_invalid"},
		{tenure.ErrTLSFailed, "tls_failed"},
		{tenure.ErrUnavailable, "unavailable"},
		{tenure.ErrOutcomeUnknown, "outcome_unknown"},
		{tenure.ErrLimit, "limit"},
		{tenure.ErrInvalidArgument, "invalid_argument"},
		{tenure.ErrFrozen, "frozen"},
		{tenure.ErrNotSupported, "not_supported"},
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return "internal"
}
