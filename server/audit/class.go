package audit

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
)

// Class is a kind of lines that can be asked for.
type Class string

// The classes.
const (
	// Denied are calls and handshakes that were refused for want of a right or of a credential, and, in mode warn, calls that would be.
	Denied Class = "denied"
	// Admin is what operators and administrators change, and backups.
	Admin Class = "admin"
	// Changes are all other changes, and sessions that end by themselves.
	Changes Class = "changes"
	// Reads is everything else but renewals.
	Reads Class = "reads"
	// renewals are no lines unless they are denied.
	renewals Class = "renewals"
)

// ErrClass says that a text names no class.
var ErrClass = errors.New("must be a list of denied, admin, changes and reads")

// Classes are what is written down.
type Classes map[Class]bool

// Default returns the classes that are written down unless others are asked for.
func Default() Classes { return Classes{Denied: true, Admin: true, Changes: true} }

// ParseClasses reads the value of --audit. None means the default.
func ParseClasses(names []string) (Classes, error) {
	if len(names) == 0 {
		return Default(), nil
	}
	all := Classes{}
	for _, name := range names {
		switch c := Class(name); c {
		case Denied, Admin, Changes, Reads:
			all[c] = true
		default:
			return nil, ErrClass
		}
	}
	return all, nil
}

// authPrefix begins the methods about tokens and policies.
const authPrefix = "/tenure.v1.AuthService/"

// authReads are those of them that change nothing.
var authReads = []string{"Get", "List", "Check", "WhoAmI"}

// classOf returns the class of a call by what it needs. What a call is that has no row is not known, so it is not overlooked.
func classOf(method string, needs []authz.Need, known bool) Class {
	switch {
	case method == tenurev1.SessionService_KeepAlive_FullMethodName, method == tenurev1.SessionService_RenewSession_FullMethodName:
		return renewals
	case method == tenurev1.LineService_Line_FullMethodName: // Its calls are lines of their own.
		return renewals
	case strings.HasPrefix(method, "/grpc."): // Health and reflection have no rows, and change nothing.
		return Reads
	case strings.HasPrefix(method, authPrefix):
		for _, name := range authReads {
			if strings.HasPrefix(method[len(authPrefix):], name) {
				return Reads
			}
		}
		return Admin
	case !known:
		return Admin
	}
	class := Reads
	for _, n := range needs {
		switch n.Verb {
		case authz.Write, authz.Lock, authz.Break, authz.Backup:
		default:
			continue
		}
		if n.Kind == authz.Operator || n.Kind == authz.Admin {
			return Admin
		}
		class = Changes
	}
	return class
}

// gives reports whether a change only gives back what its session has: such a call is made although its line would be lost.
func gives(method string) bool {
	switch method {
	case tenurev1.LockService_ReleaseLock_FullMethodName, tenurev1.LockService_CancelWait_FullMethodName,
		tenurev1.ElectionService_Resign_FullMethodName, tenurev1.SessionService_DestroySession_FullMethodName:
		return true
	default:
		return false
	}
}

// needsOf returns what a message needs, and whether the table knows it.
func needsOf(table *authz.Table, request any) ([]authz.Need, bool) {
	m, ok := request.(proto.Message)
	if !ok {
		return nil, false
	}
	needs, err := table.Needs(m)
	return needs, err == nil
}
