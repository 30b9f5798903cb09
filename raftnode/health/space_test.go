package health

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// What each kind of command, operation and change of rights does to the size of the state. A new kind has to be named here, and is to
// be thought of in grows.
func TestWhatMakesTheStateGrow(t *testing.T) {
	release := &storev1.Put{Release: &storev1.SessionRef{}}
	known := []*storev1.Check{{CheckId: "known"}}
	growing := []proto.Message{
		&storev1.Command{Kind: &storev1.Command_CreateSession{}},
		&storev1.Command{Kind: &storev1.Command_AcquireLock{}},
		&storev1.Command{Kind: &storev1.Command_Put{}},
		&storev1.Command{Kind: &storev1.Command_RegisterNode{}},
		&storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{Node: &storev1.Node{}}}},
		&storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{Services: []*storev1.Service{{}}}}},
		&storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{Checks: append(known, &storev1.Check{CheckId: "new"})}}},
		&storev1.Command{Kind: &storev1.Command_PutQuery{}},
		&storev1.Op{Kind: &storev1.Op_Put{}},
		&storev1.Op{Kind: &storev1.Op_AcquireLock{}},
		&storev1.CatalogOp{Kind: &storev1.CatalogOp_PutNode{}},
		&storev1.CatalogOp{Kind: &storev1.CatalogOp_PutService{}},
		&storev1.CatalogOp{Kind: &storev1.CatalogOp_PutCheck{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutBinding{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutProvider{}},
	}
	others := []proto.Message{
		&storev1.Command{Kind: &storev1.Command_DestroySession{}},
		&storev1.Command{Kind: &storev1.Command_ExpireSessions{}},
		&storev1.Command{Kind: &storev1.Command_TakeOverSession{}},
		&storev1.Command{Kind: &storev1.Command_Put{Put: release}},
		&storev1.Command{Kind: &storev1.Command_Delete{}},
		&storev1.Command{Kind: &storev1.Command_DeletePrefix{}},
		&storev1.Command{Kind: &storev1.Command_Txn{}},
		&storev1.Command{Kind: &storev1.Command_CancelWait{}},
		&storev1.Command{Kind: &storev1.Command_EndWaits{}},
		&storev1.Command{Kind: &storev1.Command_ReleaseLock{}},
		&storev1.Command{Kind: &storev1.Command_BreakLock{}},
		&storev1.Command{Kind: &storev1.Command_EndDelays{}},
		&storev1.Command{Kind: &storev1.Command_GrantWaiters{}},
		&storev1.Command{Kind: &storev1.Command_Compact{}},
		&storev1.Command{Kind: &storev1.Command_SetLimits{}},
		&storev1.Command{Kind: &storev1.Command_SetClusterVersion{}},
		&storev1.Command{Kind: &storev1.Command_Resign{}},
		&storev1.Command{Kind: &storev1.Command_EndFreeze{}},
		&storev1.Command{Kind: &storev1.Command_PutMember{}},
		&storev1.Command{Kind: &storev1.Command_DeleteMember{}},
		&storev1.Command{Kind: &storev1.Command_ChangeAuth{}},
		&storev1.Command{Kind: &storev1.Command_EndTokens{}},
		&storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{DeleteServices: []string{"s"}, DeleteChecks: []string{"c"}}}},
		&storev1.Command{Kind: &storev1.Command_SyncNode{SyncNode: &storev1.SyncNode{Checks: known, DeleteChecks: []string{"c"}}}},
		&storev1.Command{Kind: &storev1.Command_UpdateCheck{}},
		&storev1.Command{Kind: &storev1.Command_Deregister{}},
		&storev1.Command{Kind: &storev1.Command_SetLiveness{}},
		&storev1.Command{Kind: &storev1.Command_EndMarked{}},
		&storev1.Command{Kind: &storev1.Command_DeleteQuery{}},
		&storev1.Command{Kind: &storev1.Command_MakeJoinToken{}},
		&storev1.Command{Kind: &storev1.Command_JoinMember{}},
		&storev1.Command{Kind: &storev1.Command_EndJoinTokens{}},
		&storev1.Op{Kind: &storev1.Op_Get{}},
		&storev1.Op{Kind: &storev1.Op_Put{Put: release}},
		&storev1.Op{Kind: &storev1.Op_Delete{}},
		&storev1.Op{Kind: &storev1.Op_DeletePrefix{}},
		&storev1.Op{Kind: &storev1.Op_ReleaseLock{}},
		&storev1.Op{Kind: &storev1.Op_Check{}},
		&storev1.Op{Kind: &storev1.Op_List{}},
		&storev1.Op{Kind: &storev1.Op_Catalog{}},
		&storev1.CatalogOp{Kind: &storev1.CatalogOp_Get{}},
		&storev1.CatalogOp{Kind: &storev1.CatalogOp_Delete{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_SetMode{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeletePolicy{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RotateToken{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_RevokeToken{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteBinding{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_MakeFirst{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_DeleteProvider{}},
		&storev1.ChangeAuth{Change: &storev1.ChangeAuth_TokensUsed{}},
	}
	isReport := func(_ []byte, k *storev1.Check) bool { return k.GetCheckId() == "known" }
	named := map[protoreflect.FullName]bool{}
	for _, m := range slices.Concat(growing, others) {
		r := m.ProtoReflect()
		named[r.WhichOneof(kindOf(r)).FullName()] = true
	}
	for _, m := range growing {
		for _, c := range commandsOf(m) {
			if !grows(c, isReport) {
				t.Errorf("%v does not count as growth", c)
			}
		}
	}
	for _, m := range others {
		for _, c := range commandsOf(m) {
			if grows(c, isReport) {
				t.Errorf("%v counts as growth", c)
			}
		}
	}
	for _, m := range []proto.Message{&storev1.Command{}, &storev1.Op{}, &storev1.CatalogOp{}, &storev1.ChangeAuth{}} {
		fields := kindOf(m.ProtoReflect()).Fields()
		for i := range fields.Len() {
			if name := fields.Get(i).FullName(); !named[name] {
				t.Errorf("%s is in neither list", name)
			}
		}
	}
}

// kindOf returns the oneof that says what a message does.
func kindOf(m protoreflect.Message) protoreflect.OneofDescriptor {
	of := m.Descriptor().Oneofs()
	if kind := of.ByName("kind"); kind != nil {
		return kind
	}
	return of.ByName("change")
}

// commandsOf returns the commands that do what a message says.
func commandsOf(m proto.Message) []*storev1.Command {
	switch m := m.(type) {
	case *storev1.Op:
		ops := []*storev1.Op{{Kind: &storev1.Op_Get{}}, m}
		return []*storev1.Command{
			{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: ops}}}, {Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ElseOps: ops}}},
		}
	case *storev1.CatalogOp:
		return commandsOf(&storev1.Op{Kind: &storev1.Op_Catalog{Catalog: m}})
	case *storev1.ChangeAuth:
		return []*storev1.Command{{Kind: &storev1.Command_ChangeAuth{ChangeAuth: m}}}
	case *storev1.Command:
		return []*storev1.Command{m}
	default:
		return nil
	}
}
