package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage"
)

// cases are all commands that are measured: at least one of every kind.
func cases() []cost {
	return slices.Concat(sessionCases(), keyCases(), lockCases(), catalogCases(), queryCases(), clusterCases())
}

// clusterCases are commands about the history, the limits and the members.
func clusterCases() []cost {
	compact := func(b *builder) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: b.store.Applied().Revision}}}
	}
	return []cost{
		{kind: "compact", name: "4 096 events of locks that are forgotten", build: func(b *builder) *storev1.Command {
			s := b.session()
			b.empty()
			for i := range b.n(2048) {
				key := longHolds.key(i)
				b.apply(put(&storev1.Put{Key: key, Acquire: s}),
					put(&storev1.Put{Key: key, Release: s}),
					&storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: key}}})
			}
			return compact(b)
		}},
		{kind: "compact", name: "16 MiB of values", build: func(b *builder) *storev1.Command {
			b.empty()
			b.largeValues()
			b.largeValues()
			return compact(b)
		}},
		{kind: "compact", name: "and 1 024 results of each kind, and records of sessions", build: compactsMemory},
		{kind: "set_limits", name: "raises the holders of 256 locks", build: func(b *builder) *storev1.Command {
			b.apply(limits(&storev1.Limits{HoldersMax: new(uint32(1))}))
			for range 2 {
				s := b.session()
				b.many(b.n(2*grants), func(i int) *storev1.Command {
					return acquire(&storev1.AcquireLock{
						Key: longHolds.key(i), Session: s, Owner: longOwner(i), Mode: storev1.LockMode_LOCK_MODE_SHARED, WaitMs: 3_600_000,
					})
				})
			}
			return limits(&storev1.Limits{HoldersMax: new(uint32(2))})
		}},
		{kind: "set_cluster_version", name: "7 members", build: func(b *builder) *storev1.Command {
			b.members()
			_, version := storage.ClusterVersions()
			return &storev1.Command{Kind: &storev1.Command_SetClusterVersion{SetClusterVersion: &storev1.SetClusterVersion{Version: version}}}
		}},
		{kind: "put_member", name: "7 members", build: func(b *builder) *storev1.Command {
			b.members()
			return &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: member(100)}}}
		}},
		{kind: "delete_member", name: "7 members", build: func(b *builder) *storev1.Command {
			b.members()
			return &storev1.Command{Kind: &storev1.Command_DeleteMember{DeleteMember: &storev1.DeleteMember{Id: 1}}}
		}},
		{kind: "make_join_token", name: "7 members", build: func(b *builder) *storev1.Command {
			b.members()
			return makeToken(100)
		}},
		{kind: "change_auth", name: "a policy of 64 KiB", build: func(b *builder) *storev1.Command {
			b.apply(changeAuth(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
				Mode: storev1.AuthMode_AUTH_MODE_ENFORCE,
				Token: &storev1.TokenRecord{
					Accessor: make([]byte, 16), TokenSha256: make([]byte, 32), Name: "first", Policies: []string{"admin"},
				},
			}}}))
			return changeAuth(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_PutPolicy{
				PutPolicy: &storev1.PolicyRecord{Name: "p", Rules: strings.Repeat("#", 64<<10)},
			}})
		}},
		{kind: "end_tokens", name: "256 tokens with 16 policies, longest names", build: endsTokens},
		{kind: "join_member", name: "7 members", build: func(b *builder) *storev1.Command {
			b.members()
			b.apply(makeToken(100))
			return &storev1.Command{Kind: &storev1.Command_JoinMember{JoinMember: &storev1.JoinMember{Member: member(100), TokenSha256: make([]byte, 32)}}}
		}},
		{kind: "end_join_tokens", name: "7 members", build: func(b *builder) *storev1.Command {
			b.members()
			b.apply(makeToken(100))
			return &storev1.Command{Kind: &storev1.Command_EndJoinTokens{EndJoinTokens: &storev1.EndJoinTokens{
				Term: 1, Tokens: []*storev1.JoinTokenRef{{Name: member(100).GetName(), TokenSha256: make([]byte, 32)}},
			}}}
		}},
	}
}

// endsTokens deletes as many tokens as one command may.
func endsTokens(b *builder) *storev1.Command {
	b.apply(changeAuth(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_Bootstrap{Bootstrap: &storev1.Bootstrap{
		Mode: storev1.AuthMode_AUTH_MODE_ENFORCE, Token: longToken(0, 0),
	}}}))
	end := &storev1.EndTokens{Term: 1}
	for i := range 256 {
		t := longToken(i+1, 9)
		end.Tokens = append(end.Tokens, &storev1.EndedToken{Accessor: t.GetAccessor(), ExpireTimeMs: 9})
		b.apply(changeAuth(&storev1.ChangeAuth{Change: &storev1.ChangeAuth_CreateToken{CreateToken: t}}))
	}
	return &storev1.Command{Kind: &storev1.Command_EndTokens{EndTokens: end}}
}

// longToken returns a token that is as long as one can be, but for its policies; one without an end is a first one.
func longToken(n int, endMs int64) *storev1.TokenRecord {
	t := &storev1.TokenRecord{
		Accessor: binary.BigEndian.AppendUint64(make([]byte, 8), uint64(n)), Name: strings.Repeat("n", 128), Node: strings.Repeat("h", 256),
		Policies: []string{"admin"}, ExpireTimeMs: endMs,
	}
	sum := sha256.Sum256(t.GetAccessor())
	t.TokenSha256 = sum[:]
	if endMs != 0 {
		t.Policies = slices.Repeat(t.GetPolicies(), 16)
	}
	return t
}

// empty forgets all history.
func (b *builder) empty() {
	for b.err == nil {
		command := &storev1.Compact{Revision: b.store.Applied().Revision}
		results := b.apply(&storev1.Command{Kind: &storev1.Command_Compact{Compact: command}})
		if len(results) == 0 || !results[0].GetCompact().GetMore() {
			return
		}
	}
}

// compactsMemory has a Compact forget as much as it may of all that it forgets.
func compactsMemory(b *builder) *storev1.Command {
	for range b.n(forgotten) + 1 {
		b.apply(destroy(b.session()))
	}
	marking(b)
	b.empty()
	for i := range b.n(2048) {
		b.apply(put(&storev1.Put{Key: longKey("k", i)}),
			&storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{Key: longKey("k", i)}}})
	}
	b.apply(destroy(&storev1.SessionRef{SessionId: newSession(b.sessions).GetSessionId()}))
	b.forgetting(put(&storev1.Put{}))
	b.apply(limits(&storev1.Limits{EndedSessionsMax: new(uint32(1)), TombstoneBytesMax: new(uint64(1))}))
	return &storev1.Command{Kind: &storev1.Command_Compact{Compact: &storev1.Compact{Revision: b.store.Applied().Revision}}}
}

func member(id uint64) *storev1.Member {
	oldest, newest := storage.ClusterVersions()
	return &storev1.Member{
		Id: id, Incarnation: id, Name: fmt.Sprint("member-", id), PeerAddress: fmt.Sprint("127.0.0.1:", id),
		ClientAddress: "127.0.0.1:1", HttpAddress: "127.0.0.1:2", VersionMin: oldest, VersionMax: newest, Starts: 1, Learner: true,
	}
}

// members records as many members as a cluster may have.
func (b *builder) members() {
	b.many(7, func(i int) *storev1.Command {
		return &storev1.Command{Kind: &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: member(uint64(i + 1))}}}
	})
}

func changeAuth(change *storev1.ChangeAuth) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_ChangeAuth{ChangeAuth: change}}
}

func makeToken(id uint64) *storev1.Command {
	return &storev1.Command{Kind: &storev1.Command_MakeJoinToken{MakeJoinToken: &storev1.MakeJoinToken{
		Name: member(id).GetName(), TokenSha256: make([]byte, 32), TtlMs: 1000,
	}}}
}
