package rule

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// CheckTerm refuses a decision of a leader's timers that reached the log in another term: its timers have started again since.
func CheckTerm(decided, term uint64) error {
	if decided != term {
		return Broken(storev1.FailureReason_FAILURE_REASON_TERM_MISMATCH, storev1.FailureDetail_FAILURE_DETAIL_OTHER_TERM, decided, term)
	}
	return nil
}

// NeedVersion2 refuses commands of cluster version 2 before the version is raised.
func NeedVersion2(version uint32) error {
	if version < layout.Version2 {
		return Broken(storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED,
			storev1.FailureDetail_FAILURE_DETAIL_CLUSTER_VERSION_BELOW, layout.Version2)
	}
	return nil
}

// NeedVersion3 refuses commands of cluster version 3 before the version is raised.
func NeedVersion3(version uint32) error {
	if version < layout.Version3 {
		return Broken(storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED,
			storev1.FailureDetail_FAILURE_DETAIL_CLUSTER_VERSION_BELOW, layout.Version3)
	}
	return nil
}

// SessionID returns the id that b holds, or why it is none.
func SessionID(b []byte) (layout.SessionID, error) {
	id, err := layout.SessionIDFromBytes(b)
	if err != nil {
		return layout.SessionID{}, Invalid(storev1.FailureDetail_FAILURE_DETAIL_SESSION_ID_LENGTH)
	}
	return id, nil
}
