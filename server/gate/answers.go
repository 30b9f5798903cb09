package gate

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/identity"
	"github.com/tenure-io/tenure/server/unread"
)

// answerConn is a connection that counts the answers that its client does not read.
type answerConn interface {
	unread.Conn
	unread.Holder
	// Cut closes it.
	Cut()
}

// answerInfo is what the handshake of such a connection leaves for its calls. Calls inside this process have none: theirs are of many clients.
type answerInfo struct {
	credentials.AuthInfo
	conn   answerConn
	caller *identity.Memory
}

// WithAnswers returns what the handshake of a connection leaves for its calls, so that their answers count on it until they are
// read.
func WithAnswers(info credentials.AuthInfo, conn net.Conn) credentials.AuthInfo {
	if counts, ok := conn.(answerConn); ok {
		return answerInfo{AuthInfo: info, conn: counts, caller: &identity.Memory{}}
	}
	return info
}

// answersOf returns the connection on which the answers to a call count; nil for calls inside this process.
func answersOf(ctx context.Context) answerConn {
	from, _ := peer.FromContext(ctx)
	if from == nil {
		return nil
	}
	info, _ := from.AuthInfo.(answerInfo)
	return info.conn
}

// counted returns an answer as it is sent on its connection, where it counts until the client takes it. Calls inside this
// process have none.
func counted(ctx context.Context, method string, response any) (any, error) {
	conn := answersOf(ctx)
	message, ok := response.(proto.Message)
	if conn == nil || !ok {
		return response, nil
	}
	answer, ok := unread.New(conn, message)
	if ok {
		return answer, nil
	}
	return nil, overShare(conn, method)
}

// overShare refuses an answer that is more than its caller's share.
func overShare(conn answerConn, method string) error {
	if !onlyReads(method) {
		conn.Cut() // The client sees a lost connection, and knows that the outcome is unknown.
	}
	return unread.Refusal()
}

// buildsMuch reports whether the answer to a method may have as much in it as fits in one, a page or the results of a transaction, or a large
// value: those that wait for the same round of ReadIndex are all built at once.
func buildsMuch(method string) bool {
	switch method {
	case tenurev1.KVService_Get_FullMethodName, tenurev1.KVService_List_FullMethodName, tenurev1.KVService_Txn_FullMethodName,
		tenurev1.SessionService_GetSession_FullMethodName, tenurev1.SessionService_ListSessions_FullMethodName,
		tenurev1.SessionService_AttachSession_FullMethodName,
		tenurev1.LockService_GetLock_FullMethodName, tenurev1.LockService_ListLocks_FullMethodName,
		tenurev1.ElectionService_GetLeader_FullMethodName:
		return true
	default:
		return false
	}
}

// onlyReads reports whether a method changes nothing.
func onlyReads(method string) bool {
	name := method[strings.LastIndexByte(method, '/')+1:]
	return strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List")
}
