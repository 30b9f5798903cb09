package stores

import (
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// WithMarked returns a store with a session that the end list has ended, because a transaction deleted its node. It has no TTL, and
// what it holds is not freed yet: the first hold of a lock.
func WithMarked(t testing.TB, session storage.SessionID, lock string) *storage.Store {
	t.Helper()
	_, newest := storage.ClusterVersions()
	return With(t,
		&storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: newest}}},
		&storev1.Command{Kind: &storev1.Command_RegisterNode{RegisterNode: &storev1.RegisterNode{
			Node: &storev1.Node{Name: "n"}, DrawnNodeId: make([]byte, 16),
			Checks: []*storev1.Check{{CheckId: "c", Name: "c", Status: storev1.CheckStatus_CHECK_STATUS_PASSING}},
		}}},
		&storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{
			SessionId: session[:], Node: "n", Checks: &storev1.SessionChecks{CheckIds: []string{"c"}},
			Behavior: storev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE,
		}}},
		&storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: lock, Session: &storev1.SessionRef{SessionId: session[:]}, Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
		}}},
		&storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: []*storev1.Op{{Kind: &storev1.Op_Catalog{
			Catalog: &storev1.CatalogOp{Kind: &storev1.CatalogOp_Delete{Delete: &storev1.CatalogName{Node: "n"}}},
		}}}}}},
	)
}
