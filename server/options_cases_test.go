package server_test

import (
	"fmt"
	"maps"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// optionsCases are all calls that take options.
func optionsCases() map[string]optionsCase {
	all := map[string]optionsCase{}
	for _, some := range []map[string]optionsCase{
		sessionOptionsCases(), keyOptionsCases(), txnOptionsCases(), lockOptionsCases(), electionOptionsCases(), catalogOptionsCases(), queryOptionsCases(),
	} {
		maps.Copy(all, some)
	}
	return all
}

func sessionOptionsCases() map[string]optionsCase {
	return map[string]optionsCase{
		"CreateSession": {
			message: &tenurev1.CreateSessionRequest{}, uses: "idempotency_key guards",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.CreateSession(b.t.Context(), &tenurev1.CreateSessionRequest{Options: o})
				return "", err
			},
		},
		"RenewSession": {
			message: &tenurev1.RenewSessionRequest{}, acts: true, uses: "session_secret epoch",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.RenewSession(b.t.Context(), &tenurev1.RenewSessionRequest{SessionId: b.session, Options: o})
				return "", err
			},
		},
		"AttachSession": {
			message: &tenurev1.AttachSessionRequest{}, acts: true, uses: "session_secret epoch",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.AttachSession(b.t.Context(), &tenurev1.AttachSessionRequest{SessionId: b.session, Options: o})
				return "", err
			},
		},
		"AttachSession that takes over": {
			message: &tenurev1.AttachSessionRequest{}, acts: true, uses: "session_secret epoch guards",
			reasons: map[string]string{"epoch": "EPOCH_MISMATCH"},
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.AttachSession(b.t.Context(), &tenurev1.AttachSessionRequest{
					SessionId: b.session, TakeOver: true, Options: o,
				})
				return "", err
			},
		},
		"DestroySession": {
			message: &tenurev1.DestroySessionRequest{}, acts: true, uses: "session_secret epoch request_id guards force reason",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				if _, err := b.DestroySession(b.t.Context(), &tenurev1.DestroySessionRequest{SessionId: b.session, Options: o}); err != nil {
					return "", err
				}
				s, err := b.GetSession(b.t.Context(), &tenurev1.GetSessionRequest{SessionId: b.session})
				return s.GetSession().GetEnd().GetReason(), err
			},
		},
	}
}

// putCase is a put that names sessions or not.
func putCase(uses string, request func(*optionsBench) *tenurev1.PutRequest) optionsCase {
	return optionsCase{
		message: &tenurev1.PutRequest{}, uses: uses,
		call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
			r := request(b)
			r.Key, r.Options = b.key, o
			_, err := b.Put(b.t.Context(), r)
			return "", err
		},
	}
}

func keyOptionsCases() map[string]optionsCase {
	acts := func(c optionsCase) optionsCase { c.acts = true; return c }
	return map[string]optionsCase{
		"Put": putCase("request_id idempotency_key guards",
			func(*optionsBench) *tenurev1.PutRequest { return &tenurev1.PutRequest{} }),
		"Put that acquires": acts(putCase("session_secret epoch request_id idempotency_key guards",
			func(b *optionsBench) *tenurev1.PutRequest { return &tenurev1.PutRequest{Acquire: b.session} })),
		"Put that releases": acts(putCase("session_secret epoch request_id idempotency_key guards force",
			func(b *optionsBench) *tenurev1.PutRequest { return &tenurev1.PutRequest{Release: b.session} })),
		"Put that binds": acts(putCase("session_secret epoch request_id idempotency_key guards",
			func(b *optionsBench) *tenurev1.PutRequest { return &tenurev1.PutRequest{BindSession: b.session} })),
		"Delete": {
			message: &tenurev1.DeleteRequest{}, uses: "request_id idempotency_key guards",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.Delete(b.t.Context(), &tenurev1.DeleteRequest{Key: b.key, Options: o})
				return "", err
			},
		},
		"DeletePrefix": {
			message: &tenurev1.DeletePrefixRequest{}, uses: "request_id idempotency_key guards",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.DeletePrefix(b.t.Context(), &tenurev1.DeletePrefixRequest{Prefix: b.key + "/", Options: o})
				return "", err
			},
		},
	}
}

// txnCase is a transaction with its own options.
func txnCase(uses string, acts bool, ops func(*optionsBench) []*tenurev1.Op) optionsCase {
	return optionsCase{
		message: &tenurev1.TxnRequest{}, acts: acts, uses: uses,
		call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
			_, err := b.Txn(b.t.Context(), &tenurev1.TxnRequest{Then: ops(b), Options: o})
			return "", err
		},
	}
}

// opCase is a transaction of one operation that has options of its own.
func opCase(uses string, acts bool, op func(*optionsBench, *tenurev1.CallOptions) *tenurev1.Op) optionsCase {
	return optionsCase{
		message: &tenurev1.TxnRequest{}, acts: acts, uses: uses,
		call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
			got, err := b.Txn(b.t.Context(), &tenurev1.TxnRequest{Then: []*tenurev1.Op{op(b, o)}})
			if err != nil {
				return "", err
			}
			return got.GetResponses()[0].GetAcquireLock().GetHold().GetOwner(), nil
		},
	}
}

func txnOptionsCases() map[string]optionsCase {
	put := func(r *tenurev1.PutRequest) *tenurev1.Op { return &tenurev1.Op{Kind: &tenurev1.Op_Put{Put: r}} }
	release := func(b *optionsBench, o *tenurev1.CallOptions) *tenurev1.Op {
		return put(&tenurev1.PutRequest{Key: b.key, Release: b.session, Options: o})
	}
	held := func(c optionsCase) optionsCase {
		c.prepare = func(b *optionsBench) { b.hold(b.session, b.acting()) }
		return c
	}
	return map[string]optionsCase{
		"Txn": txnCase("request_id idempotency_key guards", false, func(b *optionsBench) []*tenurev1.Op {
			return []*tenurev1.Op{put(&tenurev1.PutRequest{Key: b.key})}
		}),
		"Txn that names a session": txnCase("session_secret epoch request_id idempotency_key guards", true,
			func(b *optionsBench) []*tenurev1.Op {
				return []*tenurev1.Op{
					put(&tenurev1.PutRequest{Key: b.key + "-other"}),
					put(&tenurev1.PutRequest{Key: b.key, Acquire: b.session}),
				}
			}),
		"put in a Txn": opCase("", false, func(b *optionsBench, o *tenurev1.CallOptions) *tenurev1.Op {
			return put(&tenurev1.PutRequest{Key: b.key, Options: o})
		}),
		"put that releases in a Txn": held(opCase("session_secret epoch force", true, release)),
		"delete in a Txn": opCase("", false, func(b *optionsBench, o *tenurev1.CallOptions) *tenurev1.Op {
			return &tenurev1.Op{Kind: &tenurev1.Op_Delete{Delete: &tenurev1.DeleteRequest{Key: b.key, Options: o}}}
		}),
		"delete of a prefix in a Txn": opCase("", false, func(b *optionsBench, o *tenurev1.CallOptions) *tenurev1.Op {
			return &tenurev1.Op{Kind: &tenurev1.Op_DeletePrefix{
				DeletePrefix: &tenurev1.DeletePrefixRequest{Prefix: b.key, Options: o},
			}}
		}),
		"acquire in a Txn": opCase("session_secret epoch owner", true,
			func(b *optionsBench, o *tenurev1.CallOptions) *tenurev1.Op {
				return &tenurev1.Op{Kind: &tenurev1.Op_AcquireLock{
					AcquireLock: &tenurev1.TryAcquireLockRequest{Key: b.key, SessionId: b.session, Options: o},
				}}
			}),
	}
}

func lockOptionsCases() map[string]optionsCase {
	held := func(b *optionsBench) { b.hold(b.session, b.acting()) }
	return map[string]optionsCase{
		"AcquireLock": {
			message: &tenurev1.AcquireLockRequest{}, acts: true,
			uses: "session_secret epoch request_id idempotency_key guards owner",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				step, err := firstStep(b.AcquireLock(b.t.Context(), &tenurev1.AcquireLockRequest{
					Key: b.key, SessionId: b.session, Options: o,
				}))
				return step.GetGranted().GetOwner(), err
			},
		},
		"TryAcquireLock": {
			message: &tenurev1.TryAcquireLockRequest{}, acts: true,
			uses: "session_secret epoch request_id idempotency_key guards owner",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				r, err := b.TryAcquireLock(b.t.Context(), &tenurev1.TryAcquireLockRequest{
					Key: b.key, SessionId: b.session, Options: o,
				})
				return r.GetHold().GetOwner(), err
			},
		},
		"CancelWait": {
			message: &tenurev1.CancelWaitRequest{}, acts: true, uses: "session_secret epoch request_id guards owner",
			prepare: func(b *optionsBench) {
				b.hold(b.openSession(b.t, "holder"), nil)
				_, err := firstStep(b.AcquireLock(b.t.Context(), &tenurev1.AcquireLockRequest{
					Key: b.key, SessionId: b.session, Options: b.acting(),
				}))
				if err != nil {
					b.t.Fatal(err)
				}
			},
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				r, err := b.CancelWait(b.t.Context(), &tenurev1.CancelWaitRequest{Key: b.key, SessionId: b.session, Options: o})
				return fmt.Sprint(r.GetCancelled()), err
			},
		},
		"ReleaseLock": {
			message: &tenurev1.ReleaseLockRequest{}, acts: true, prepare: held,
			uses: "session_secret epoch request_id idempotency_key guards owner force",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				r, err := b.ReleaseLock(b.t.Context(), &tenurev1.ReleaseLockRequest{Key: b.key, SessionId: b.session, Options: o})
				return fmt.Sprint(r.GetReleased()), err
			},
		},
		"BreakLock": {
			message: &tenurev1.BreakLockRequest{}, prepare: held, uses: "idempotency_key guards",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := b.BreakLock(b.t.Context(), &tenurev1.BreakLockRequest{Key: b.key, Reason: "stuck", Options: o})
				return "", err
			},
		},
	}
}

func electionOptionsCases() map[string]optionsCase {
	elections := func(b *optionsBench) tenurev1.ElectionServiceClient { return tenurev1.NewElectionServiceClient(b.conn) }
	return map[string]optionsCase{
		"Campaign": {
			message: &tenurev1.CampaignRequest{}, acts: true,
			uses: "session_secret epoch request_id idempotency_key guards owner",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				step, err := firstStep(elections(b).Campaign(b.t.Context(), &tenurev1.CampaignRequest{
					Key: b.key, SessionId: b.session, Options: o,
				}))
				return step.GetElected().GetOwner(), err
			},
		},
		"Proclaim": {
			message: &tenurev1.ProclaimRequest{}, acts: true, uses: "session_secret epoch request_id guards",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := elections(b).Proclaim(b.t.Context(), &tenurev1.ProclaimRequest{
					Key: b.key, Sequencer: b.hold(b.session, b.acting()), Options: o,
				})
				return "", err
			},
		},
		"Resign": {
			message: &tenurev1.ResignRequest{}, acts: true, uses: "session_secret epoch request_id guards owner",
			prepare: func(b *optionsBench) { b.hold(b.session, b.acting()) },
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				r, err := elections(b).Resign(b.t.Context(), &tenurev1.ResignRequest{Key: b.key, SessionId: b.session, Options: o})
				return fmt.Sprint(r.GetResigned()), err
			},
		},
	}
}

func catalogOptionsCases() map[string]optionsCase {
	const uses = "idempotency_key guards"
	catalog := func(b *optionsBench) tenurev1.CatalogServiceClient { return tenurev1.NewCatalogServiceClient(b.conn) }
	registered := func(b *optionsBench) {
		if _, err := catalog(b).RegisterNode(b.t.Context(), &tenurev1.RegisterNodeRequest{
			Node: &tenurev1.Node{Name: "web1"}, Checks: []*tenurev1.Check{{Name: "up"}},
		}); err != nil {
			b.t.Fatal(err)
		}
	}
	return map[string]optionsCase{
		"RegisterNode": {
			message: &tenurev1.RegisterNodeRequest{}, uses: uses,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := catalog(b).RegisterNode(b.t.Context(), &tenurev1.RegisterNodeRequest{Node: &tenurev1.Node{Name: "web1"}, Options: o})
				return "", err
			},
		},
		"UpdateCheck": {
			message: &tenurev1.UpdateCheckRequest{}, uses: uses, prepare: registered,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := catalog(b).UpdateCheck(b.t.Context(), &tenurev1.UpdateCheckRequest{
					Node: "web1", CheckId: "up", Status: tenurev1.CheckStatus_CHECK_STATUS_PASSING, Options: o,
				})
				return "", err
			},
		},
		"DeregisterNode": {
			message: &tenurev1.DeregisterNodeRequest{}, uses: uses,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := catalog(b).DeregisterNode(b.t.Context(), &tenurev1.DeregisterNodeRequest{Node: "web1", Options: o})
				return "", err
			},
		},
		"DeregisterService": {
			message: &tenurev1.DeregisterServiceRequest{}, uses: uses,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := catalog(b).DeregisterService(b.t.Context(), &tenurev1.DeregisterServiceRequest{
					Node: "web1", ServiceId: "web", Options: o,
				})
				return "", err
			},
		},
		"DeregisterCheck": {
			message: &tenurev1.DeregisterCheckRequest{}, uses: uses,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := catalog(b).DeregisterCheck(b.t.Context(), &tenurev1.DeregisterCheckRequest{Node: "web1", CheckId: "up", Options: o})
				return "", err
			},
		},
	}
}

func queryOptionsCases() map[string]optionsCase {
	queries := func(b *optionsBench) tenurev1.QueryServiceClient { return tenurev1.NewQueryServiceClient(b.conn) }
	id := ""
	created := func(b *optionsBench) {
		q, err := queries(b).CreateQuery(b.t.Context(), &tenurev1.CreateQueryRequest{Query: &tenurev1.Query{Service: "web"}})
		if err != nil {
			b.t.Fatal(err)
		}
		id = q.GetQueryId()
	}
	return map[string]optionsCase{
		"CreateQuery": {
			message: &tenurev1.CreateQueryRequest{}, acts: true, uses: "session_secret epoch request_id idempotency_key guards",
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := queries(b).CreateQuery(b.t.Context(), &tenurev1.CreateQueryRequest{
					Query: &tenurev1.Query{Service: "web", SessionId: b.session}, Options: o,
				})
				return "", err
			},
		},
		"UpdateQuery": {
			message: &tenurev1.UpdateQueryRequest{}, acts: true, uses: "session_secret epoch request_id idempotency_key guards", prepare: created,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := queries(b).UpdateQuery(b.t.Context(), &tenurev1.UpdateQueryRequest{
					QueryId: id, Query: &tenurev1.Query{Service: "db", SessionId: b.session}, Options: o,
				})
				return "", err
			},
		},
		"DeleteQuery": {
			message: &tenurev1.DeleteQueryRequest{}, uses: "request_id idempotency_key guards", prepare: created,
			call: func(b *optionsBench, o *tenurev1.CallOptions) (string, error) {
				_, err := queries(b).DeleteQuery(b.t.Context(), &tenurev1.DeleteQueryRequest{QueryId: id, Options: o})
				return "", err
			},
		},
	}
}
