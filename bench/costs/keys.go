package main

import (
	"fmt"
	"slices"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	tooManyKeys   = storev1.FailureReason_FAILURE_REASON_TOO_MANY_KEYS
	compareFailed = storev1.FailureReason_FAILURE_REASON_COMPARE_FAILED
)

// keyCases are commands about keys.
func keyCases() []cost {
	deletePrefix := func() *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: "p/"}}}
	}
	return []cost{
		{kind: "put", name: "512 KiB over 512 KiB, bound and acquired", build: func(b *builder) *storev1.Command {
			b.apply(put(&storev1.Put{Key: longKey("k", 0), Value: make([]byte, valueBytes)}))
			s := b.session()
			return put(&storev1.Put{Key: longKey("k", 0), Value: make([]byte, valueBytes), Acquire: s, BindSession: s})
		}},
		{kind: "put", name: "under a key that makes 1 024 others forgotten", build: func(b *builder) *storev1.Command {
			return b.forgetting(put(&storev1.Put{Key: longKey("k", 0), Value: make([]byte, valueBytes)}))
		}},
		{kind: "put", name: "under a request id below which 1 024 are done", build: marking},
		{kind: "put", name: "releases 4 095 holds of a session by force", build: func(b *builder) *storev1.Command {
			key, s := b.sharedHolds(longKey("k", 0), b.n(sessionObjects-1))
			b.queue(1, func(int) string { return key }, b.n(grants))
			return put(&storev1.Put{Key: key, Value: make([]byte, valueBytes), Release: s, Force: true, Reason: longReason})
		}},
		{kind: "delete", name: "512 KiB", build: func(b *builder) *storev1.Command {
			b.apply(put(&storev1.Put{Key: longKey("k", 0), Value: make([]byte, valueBytes), BindSession: b.session()}))
			return &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: longKey("k", 0)}}}
		}},
		{kind: "delete_prefix", name: "10 000 keys, bound and locked", build: func(b *builder) *storev1.Command {
			b.boundKeys(b.n(prefixKeys))
			return deletePrefix()
		}},
		{kind: "delete_prefix", name: "16 MiB of keys, longest names", build: func(b *builder) *storev1.Command {
			b.many(b.n(7_000), func(i int) *storev1.Command { return put(&storev1.Put{Key: longKey("p", i), Value: []byte("v")}) })
			return deletePrefix()
		}},
		{kind: "delete_prefix", name: "16 MiB of values", build: func(b *builder) *storev1.Command {
			b.largeValues()
			return deletePrefix()
		}},
		{kind: "delete_prefix", name: "refused: 10 001 keys", refused: tooManyKeys, build: func(b *builder) *storev1.Command {
			b.many(prefixKeys+1, func(i int) *storev1.Command { return put(&storev1.Put{Key: fmt.Sprint("p/", i), Value: []byte("v")}) })
			return deletePrefix()
		}},
		{kind: "txn", name: "10 000 keys by prefix, bound and locked", build: func(b *builder) *storev1.Command {
			b.boundKeys(b.n(prefixKeys))
			ops := []*storev1.Op{{Kind: &storev1.Op_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: "p/"}}}}
			return txn(append(ops, b.puts(25)...))
		}},
		{kind: "txn", name: "releases 128 locks, 256 grants with 4 MiB of values", build: releases},
		{kind: "txn", name: "lists as many keys as a result has room for", build: func(b *builder) *storev1.Command {
			b.many(1000, func(i int) *storev1.Command { return put(&storev1.Put{Key: fmt.Sprint("p/", i)}) })
			return txn(slices.Repeat([]*storev1.Op{listOp("p/")}, 15))
		}},
		{kind: "txn", name: "10 000 keys by prefix, then fails", refused: compareFailed, build: func(b *builder) *storev1.Command {
			b.boundKeys(b.n(prefixKeys))
			ops := []*storev1.Op{{Kind: &storev1.Op_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{Prefix: "p/"}}}}
			return txn(append(ops, deleteIf(longKey("none", 0))))
		}},
		{kind: "txn", name: "compares 16 MiB of values", build: func(b *builder) *storev1.Command {
			b.largeValues()
			command := txn(b.puts(25))
			for i := range 30 {
				command.GetTxn().Compares = append(command.GetTxn().Compares, &storev1.Compare{
					Key: fmt.Sprint("p/", i), Operator: storev1.CompareOperator_COMPARE_OPERATOR_EQUAL,
					Operand: &storev1.Compare_Version{Version: 1},
				})
			}
			return command
		}},
		{kind: "txn", name: "128 operations that fail", refused: storev1.FailureReason_FAILURE_REASON_LOCK_HELD, build: func(b *builder) *storev1.Command {
			s := b.holder(longHolds)
			var ops []*storev1.Op
			for i := range b.n(txnOps) {
				ops = append(ops, &storev1.Op{Kind: &storev1.Op_AcquireLock{AcquireLock: &storev1.AcquireLock{
					Key: longHolds.key(i), Session: s, Owner: "other", Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE,
				}}})
			}
			return txn(ops)
		}},
	}
}

func txn(ops []*storev1.Op) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_Txn{Txn: &storev1.Txn{ThenOps: ops}}}
}

func listOp(prefix string) *storev1.Op {
	return &storev1.Op{Kind: &storev1.Op_List{List: &storev1.ListOp{Prefix: prefix, Limit: 1000}}}
}

// deleteIf is an operation that fails where the key is missing.
func deleteIf(key string) *storev1.Op {
	return &storev1.Op{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: key, IfRevision: new(uint64(1))}}}
}

// puts writes as many keys with the longest names.
func (b *builder) puts(n int) (ops []*storev1.Op) {
	for i := range n {
		ops = append(ops, &storev1.Op{Kind: &storev1.Op_Put{Put: &storev1.Put{Key: longKey("new", i), Value: make([]byte, 8<<10)}}})
	}
	return ops
}

// boundKeys makes keys that are ephemeral, locked, and have short names, so that most rows go into the budget.
func (b *builder) boundKeys(n int) {
	const each = 2000 // A bound key and its hold are two objects.
	var s *storev1.SessionRef
	b.many(n, func(i int) *storev1.Command {
		if i%each == 0 {
			s = b.session()
		}
		return put(&storev1.Put{Key: fmt.Sprint("p/", i), Value: []byte("v"), Acquire: s, BindSession: s})
	})
}

// largeValues makes keys whose values are as many bytes as a command may read.
func (b *builder) largeValues() {
	b.many(31, func(i int) *storev1.Command {
		return put(&storev1.Put{Key: fmt.Sprint("p/", i), Value: make([]byte, valueBytes)})
	})
}

// marking fills a window of request ids, and says with the next one that all are done.
func marking(b *builder) *storev1.Command {
	s := b.session()
	b.apply(put(&storev1.Put{Key: "result", Value: make([]byte, 700)}))
	b.many(b.n(1000), func(i int) *storev1.Command {
		command := txn([]*storev1.Op{
			{Kind: &storev1.Op_Get{Get: &storev1.GetOp{Key: "result"}}},
			{Kind: &storev1.Op_Delete{Delete: &storev1.Delete{Key: "none"}}},
		})
		return requested(s, uint64(i+1), 0, command)
	})
	sequence := uint64(b.n(1000) + 1)
	return requested(s, sequence, sequence, put(&storev1.Put{Key: longKey("k", 0), Value: make([]byte, valueBytes)}))
}

// requested gives a command a request id.
func requested(s *storev1.SessionRef, sequence, doneBelow uint64, command *storev1.Command) *storev1.Command {
	command.RequestId = &storev1.RequestID{SessionId: s.GetSessionId(), Epoch: 1, Sequence: sequence, DoneBelow: doneBelow}
	command.RequestDigest = make([]byte, 32)
	return command
}

// releases gives 128 locks back, for each of which 2 wait with values.
func releases(b *builder) *storev1.Command {
	s := b.session()
	locks := b.n(txnOps)
	b.many(locks, func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{Key: longHolds.key(i), Session: s, Owner: longOwner(0)})
	})
	waiter := b.session()
	b.many(locks*2, func(i int) *storev1.Command {
		return acquire(&storev1.AcquireLock{
			Key: longHolds.key(i / 2), Session: waiter, Owner: longOwner(i), Value: make([]byte, grantBytes/grants),
			Mode: storev1.LockMode_LOCK_MODE_SHARED,
		})
	})
	var ops []*storev1.Op
	for i := range locks {
		ops = append(ops, &storev1.Op{Kind: &storev1.Op_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{
			Key: longHolds.key(i), Session: s, Owner: longOwner(0), ValueOp: &storev1.ReleaseLock_Put{Put: make([]byte, 8<<10)},
		}}})
	}
	return txn(ops)
}
