package storage_test

import (
	"crypto/sha256"
	"strings"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// parseMemberCommand reads a command about members. A join token is written as a word, of which the command has the hash.
func parseMemberCommand(w *words, verb string, cmd *storev1.Command) bool {
	w.t.Helper()
	switch verb {
	case "member":
		cmd.Kind = &storev1.Command_PutMember{PutMember: &storev1.PutMember{Member: parseMember(w)}}
	case "delete-member":
		cmd.Kind = &storev1.Command_DeleteMember{DeleteMember: &storev1.DeleteMember{Id: parseNumber(w.t, w.next())}}
	case "make-join-token":
		cmd.Kind = &storev1.Command_MakeJoinToken{MakeJoinToken: &storev1.MakeJoinToken{
			TtlMs: w.ms("ttl"), Replaces: w.num("replaces"), StayLearner: w.flag("stay-learner"), Force: w.flag("force"),
			Name: w.next(), TokenSha256: tokenHash(w.next()),
		}}
	case "join":
		j := &storev1.JoinMember{TokenSha256: tokenHash(w.str("token"))}
		j.Member = parseMember(w)
		cmd.Kind = &storev1.Command_JoinMember{JoinMember: j}
	case "end-join-tokens":
		e := &storev1.EndJoinTokens{Term: w.num("term")}
		for len(w.pos) > 0 {
			name, token, _ := strings.Cut(w.next(), "@")
			e.Tokens = append(e.Tokens, &storev1.JoinTokenRef{Name: name, TokenSha256: tokenHash(token)})
		}
		cmd.Kind = &storev1.Command_EndJoinTokens{EndJoinTokens: e}
	default:
		return parseKeyCommand(w, verb, cmd)
	}
	return true
}

func parseMember(w *words) *storev1.Member {
	w.t.Helper()
	return &storev1.Member{
		Name: w.str("name"), PeerAddress: w.str("peer"), Incarnation: w.num("incarnation"), ClientAddress: w.str("client"),
		VersionMin: uint32(w.num("version-min")), VersionMax: uint32(w.num("version-max")), StayLearner: w.flag("learner"),
		Id: parseNumber(w.t, w.next()),
	}
}

// tokenHash returns the hash of a token; that of "none" is empty.
func tokenHash(token string) []byte {
	if token == "none" {
		return nil
	}
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}
