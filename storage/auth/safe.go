package auth

import (
	"fmt"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
	"github.com/tenure-io/tenure/storage/rule"
)

// checkListeners refuses tokens, and a stricter mode, while a member takes clients in a way in which others can read their tokens, or other
// members in a way in which any process can speak for one, and so for every client.
func (c *Change) checkListeners() error {
	return c.Rows.Scan([]byte{layout.RowMember}, []byte{layout.RowMember + 1}, func(_, value []byte) (bool, error) {
		r := &storev1.MemberRecord{}
		if err := layout.Decode(value, r); err != nil {
			return false, fmt.Errorf("member: %w", err)
		}
		return true, checkListenersOf(r.GetMember())
	})
}

func checkListenersOf(m *storev1.Member) error {
	unsafe := func(detail storev1.FailureDetail) error {
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_AUTH_UNSAFE, detail, m.GetName())
	}
	switch m.GetClientSecurity() {
	case storev1.ListenerSecurity_LISTENER_SECURITY_TLS, storev1.ListenerSecurity_LISTENER_SECURITY_LOOPBACK,
		storev1.ListenerSecurity_LISTENER_SECURITY_OFF:
	case storev1.ListenerSecurity_LISTENER_SECURITY_UNSPECIFIED:
		return rule.Broken(storev1.FailureReason_FAILURE_REASON_FEATURE_NOT_ENABLED,
			storev1.FailureDetail_FAILURE_DETAIL_LISTENERS_UNKNOWN, m.GetName())
	default:
		return unsafe(storev1.FailureDetail_FAILURE_DETAIL_CLIENTS_WITHOUT_TLS)
	}
	switch m.GetPeerSecurity() {
	case storev1.ListenerSecurity_LISTENER_SECURITY_TLS, storev1.ListenerSecurity_LISTENER_SECURITY_OFF:
		return nil
	default:
		return unsafe(storev1.FailureDetail_FAILURE_DETAIL_PEERS_WITHOUT_TLS)
	}
}
