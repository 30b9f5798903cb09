package consulhttp

import (
	"context"
	"net/http"
	"strings"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

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

// results returns what a transaction shows: nothing for some operations, and many rows for others. One that wrote is done, so nothing that cannot be
// shown of it is an error.
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
