package consulhttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Verbs of a transaction.
const (
	verbSet            = "set"
	verbCAS            = "cas"
	verbLock           = "lock"
	verbUnlock         = "unlock"
	verbDelete         = "delete"
	verbDeleteCAS      = "delete-cas"
	verbDeleteTree     = "delete-tree"
	verbGet            = "get"
	verbGetOrEmpty     = "get-or-empty"
	verbGetTree        = "get-tree"
	verbCheckSession   = "check-session"
	verbCheckIndex     = "check-index"
	verbCheckNotExists = "check-not-exists"
)

// nativeOp returns the operation that one of Consul's is, or what is wrong with it. An error is one of the whole request.
func nativeOp(op *txnKeyJSON) (native *tenurev1.Op, what string, err error) {
	if op.Key == "" && op.Verb != verbDeleteTree {
		return nil, "Must provide key", checkVerb(op)
	}
	yes := true
	switch op.Verb {
	case verbSet:
		return putOp(op, &tenurev1.PutRequest{}), "", nil
	case verbCAS:
		return putOp(op, &tenurev1.PutRequest{IfRevision: &op.Index}), "", nil
	case verbLock, verbUnlock, verbCheckSession:
		return sessionOp(op)
	case verbDelete:
		return &tenurev1.Op{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: op.Key, DropHolds: true}}}, "", nil
	case verbDeleteCAS:
		return deleteCASOp(op), "", nil
	case verbDeleteTree:
		return &tenurev1.Op{Kind: &tenurev1.Op_DeletePrefix{DeletePrefix: &tenurev1.DeletePrefixRequest{
			Prefix: op.Key, All: op.Key == "", DropHolds: true,
		}}}, "", nil
	case verbGet, verbGetOrEmpty:
		return &tenurev1.Op{Kind: &tenurev1.Op_Get{Get: &tenurev1.GetRequest{Key: op.Key, MustExist: op.Verb == verbGet}}}, "", nil
	case verbGetTree:
		return &tenurev1.Op{Kind: &tenurev1.Op_List{List: &tenurev1.ListRequest{Prefix: op.Key, PageSize: txnListMax}}}, "", nil
	case verbCheckIndex:
		return checkOp(&tenurev1.KeyCondition{Key: op.Key, Exists: &yes, ModRevision: &op.Index}), "", nil
	case verbCheckNotExists:
		return checkOp(&tenurev1.KeyCondition{Key: op.Key, Exists: new(bool)}), "", nil
	default:
		return nil, "", unknownVerb(op)
	}
}

// checkVerb refuses a verb that does not exist.
func checkVerb(op *txnKeyJSON) error {
	switch op.Verb {
	case verbSet, verbCAS, verbLock, verbUnlock, verbDelete, verbDeleteCAS, verbDeleteTree, verbGet, verbGetOrEmpty,
		verbGetTree, verbCheckSession, verbCheckIndex, verbCheckNotExists:
		return nil
	default:
		return unknownVerb(op)
	}
}

// unknownVerb refuses a verb that does not exist.
func unknownVerb(op *txnKeyJSON) error {
	return reply.Refusal(http.StatusBadRequest, "unknown KV verb %q", reply.Shown(op.Verb))
}

// putOp returns a put of the operation's value.
func putOp(op *txnKeyJSON, put *tenurev1.PutRequest) *tenurev1.Op {
	put.Key, put.Flags = op.Key, op.Flags
	put.Content = &tenurev1.PutRequest_Value{Value: op.Value}
	return &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: put}}
}

// deleteCASOp returns a delete of a key that is there, at an index.
func deleteCASOp(op *txnKeyJSON) *tenurev1.Op {
	return &tenurev1.Op{Kind: &tenurev1.Op_Delete{
		Delete: &tenurev1.DeleteRequest{Key: op.Key, IfRevision: &op.Index, DropHolds: true},
	}}
}

// sessionOp returns an operation that names a session.
func sessionOp(op *txnKeyJSON) (native *tenurev1.Op, what string, err error) {
	switch {
	case op.Session == "" && op.Verb != verbCheckSession:
		return nil, textNoSession, nil
	case op.Verb == verbLock:
		return putOp(op, &tenurev1.PutRequest{Acquire: op.Session}), "", nil
	case op.Verb == verbUnlock:
		return putOp(op, &tenurev1.PutRequest{Release: op.Session}), "", nil
	case op.Session != "" && !wire.UUIDShaped(op.Session):
		return nil, whatOf(op, tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED), nil
	default:
		yes := true
		return checkOp(&tenurev1.KeyCondition{Key: op.Key, Exists: &yes, HeldBy: &op.Session}), "", nil
	}
}

// whatOf says why an operation fails.
func whatOf(op *txnKeyJSON, why tenurev1.ErrorReason) string {
	key := reply.Shown(op.Key)
	switch why {
	case tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND:
		return fmt.Sprintf("key %q doesn't exist", key)
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_HELD, tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH,
		tenurev1.ErrorReason_ERROR_REASON_FROZEN:
		return fmt.Sprintf("failed to lock key %q, lock is already held", key)
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAYED:
		return fmt.Sprintf("failed to lock key %q due to lock delay", key)
	case tenurev1.ErrorReason_ERROR_REASON_LOCK_NOT_HELD:
		return textNotHeld(op)
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED:
		if op.Verb == verbUnlock {
			return textNotHeld(op)
		}
		return fmt.Sprintf("%s %q", textBadSession, reply.Shown(op.Session))
	case tenurev1.ErrorReason_ERROR_REASON_TOO_MANY_KEYS:
		return fmt.Sprintf("failed to delete prefix %q, it has more than %d keys", key, deletePrefixKeysMax)
	default:
		return whatOfVerb(op)
	}
}

// whatOfVerb says what failed where the reason says no more than that.
func whatOfVerb(op *txnKeyJSON) string {
	key := reply.Shown(op.Key)
	switch op.Verb {
	case verbCheckSession:
		return fmt.Sprintf("failed session check for key %q, it does not exist or is not held by %q", key, reply.Shown(op.Session))
	case verbCheckIndex:
		return fmt.Sprintf("failed index check for key %q, it does not exist or its index is not %d", key, op.Index)
	case verbCheckNotExists:
		return fmt.Sprintf("key %q exists", key)
	case verbDeleteCAS:
		return fmt.Sprintf("failed to delete key %q, index is stale", key)
	case verbCAS:
		return fmt.Sprintf("failed to set key %q, index is stale", key)
	default:
		return fmt.Sprintf("failed to %s key %q", op.Verb, key)
	}
}

// textNotHeld says that a key cannot be unlocked.
func textNotHeld(op *txnKeyJSON) string {
	return fmt.Sprintf("failed to unlock key %q, lock isn't held, or is held by another session", reply.Shown(op.Key))
}

// txnListMax is how many keys one get-tree returns.
const txnListMax = 1000

// resultOf returns the result that shows a key.
func resultOf(k keyJSON) txnResultJSON { return txnResultJSON{KV: &k} }

// largeTree refuses a get-tree.
func largeTree(op *txnKeyJSON) error {
	return reply.Refusal(http.StatusRequestEntityTooLarge,
		"Prefix %q has more than %d keys; read it with ?recurse.", reply.Shown(op.Key), txnListMax)
}

// checkTrees refuses a transaction that writes and has a get-tree of too many keys, before anything is written. One that only reads is refused when
// it has read them.
func (t *transaction) checkTrees(ctx context.Context) error {
	if !t.writes() || len(t.errors(nil)) > 0 {
		return nil // Nothing is written.
	}
	for i := range t.ops {
		op := &t.ops[i]
		if op.Verb != verbGetTree || t.emptied(op.Key, i) {
			continue
		}
		page, err := t.core.kv.List(ctx, &tenurev1.ListRequest{Prefix: op.Key, PageSize: txnListMax, KeysOnly: true})
		switch {
		case err != nil:
			return err
		case page.GetNextPageToken() != "":
			return largeTree(op)
		}
	}
	return nil
}

// emptied reports whether the operations before one delete all keys with a prefix.
func (t *transaction) emptied(prefix string, before int) bool {
	for i := range t.ops[:before] {
		if op := &t.ops[i]; op.Verb == verbDeleteTree && strings.HasPrefix(prefix, op.Key) {
			return true
		}
	}
	return false
}

// results returns what a transaction shows: nothing for some operations, and many rows for others. One that wrote is done: what cannot be shown of
// it is left out, without an error.
func (t *transaction) results(ctx context.Context, response *tenurev1.TxnResponse) ([]txnResultJSON, error) {
	out := []txnResultJSON{}
	for i, r := range response.GetResponses() {
		if entry := t.entries[i]; entry != nil {
			out = append(out, entry.results(r.GetCatalog(), t.core.options.Datacenter)...)
			continue
		}
		op := &t.ops[i]
		switch op.Verb {
		case verbSet, verbCAS, verbLock, verbUnlock:
			out = append(out, resultOf(keyOf(r.GetPut().GetKv())))
		case verbGet, verbGetOrEmpty:
			row := keyJSON{Key: op.Key, Flags: op.Flags, Session: op.Session}
			if r.GetGet().GetKv() != nil {
				row = keyOf(r.GetGet().GetKv())
			}
			out = append(out, resultOf(row))
		case verbGetTree:
			kvs, err := t.tree(ctx, op, r.GetList())
			if err != nil {
				return nil, err
			}
			for _, kv := range kvs {
				out = append(out, resultOf(keyOf(kv)))
			}
		case verbCheckSession, verbCheckIndex:
			out = append(out, resultOf(t.checked(ctx, op)))
		}
	}
	return out, nil
}

// tree returns the keys of a get-tree. A transaction that wrote may have more of them than fit one list: it wrote some itself, and others came since
// checkTrees. They are read as they are now.
func (t *transaction) tree(ctx context.Context, op *txnKeyJSON, list *tenurev1.ListResponse) ([]*tenurev1.KeyValue, error) {
	switch {
	case list.GetNextPageToken() == "":
		return list.GetKvs(), nil
	case !t.writes():
		return nil, largeTree(op)
	}
	rest, err := t.core.kv.List(ctx, &tenurev1.ListRequest{Prefix: op.Key, PageToken: list.GetNextPageToken()})
	if err != nil {
		return list.GetKvs(), nil //nolint:nilerr // The transaction is done.
	}
	return append(list.GetKvs(), rest.GetKvs()...), nil
}

// checked returns a key that was checked, as it is now, or, if it has changed since or cannot be read, what the check has shown of it. To read it
// takes the right that the check took.
func (t *transaction) checked(ctx context.Context, op *txnKeyJSON) keyJSON {
	found, err := t.core.kv.Get(ctx, &tenurev1.GetRequest{Key: op.Key})
	kv := found.GetKv()
	same := op.Verb == verbCheckIndex && kv.GetModRevision() == op.Index ||
		op.Verb == verbCheckSession && kv.GetSessionId() == op.Session
	if err != nil || !same {
		return keyJSON{Key: op.Key, Session: op.Session, ModifyIndex: op.Index}
	}
	row := keyOf(kv)
	row.Value = nil
	return row
}
