package records

import (
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// KeyState describes a key with its lock.
func KeyState(key string, k *storev1.KeyRecord, head *storev1.LockHead) *storev1.KeyState {
	return &storev1.KeyState{
		Key:            strings.Clone(key),
		Value:          k.GetValue(),
		Flags:          k.GetFlags(),
		CreateRevision: k.GetCreateRevision(),
		ModRevision:    k.GetModRevision(),
		Version:        k.GetVersion(),
		LockIndex:      head.GetLockIndex(),
		SessionId:      head.GetExclusiveSessionId(),
		BoundSessionId: k.GetBoundSessionId(),
		CreateTimeMs:   k.GetCreateTimeMs(),
		ModTimeMs:      k.GetModTimeMs(),
	}
}
