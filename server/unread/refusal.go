package unread

import (
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// Refusal is the error for an answer that is more than its caller's share.
func Refusal() error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_REQUESTS,
		"this member keeps as many answers that were not read as it may").With("limit", "answer_bytes_max")
}
