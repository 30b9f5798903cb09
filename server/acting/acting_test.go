package acting_test

import (
	"bytes"
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/acting"
)

var session = bytes.Repeat([]byte{7}, 16)

// places returns a command for each place of a message type where a session may be named as its user, by name.
func places(m protoreflect.Message, name string, build func() *storev1.Command, depth int) map[string]*storev1.Command {
	all := map[string]*storev1.Command{}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() == nil || field.IsMap() || depth == 0 {
			continue
		}
		at := name + "." + string(field.Name())
		var child protoreflect.Message
		if field.IsList() {
			list := m.Mutable(field).List()
			child = list.AppendMutable().Message()
		} else {
			child = m.Mutable(field).Message()
		}
		if field.Message().FullName() == "tenure.store.v1.SessionRef" {
			child.Set(field.Message().Fields().ByName("session_id"), protoreflect.ValueOfBytes(session))
			all[at] = build()
		}
		maps.Copy(all, places(child, at, build, depth-1))
		m.Clear(field)
	}
	return all
}

// TestEverySessionThatACommandActsAsIsFound puts a session in every place of every command that may name one as its user.
func TestEverySessionThatACommandActsAsIsFound(t *testing.T) {
	c := &storev1.Command{}
	all := places(c.ProtoReflect(), "command", func() *storev1.Command { return proto.CloneOf(c) }, 5)
	all["command.request_id"] = &storev1.Command{RequestId: &storev1.RequestID{SessionId: session}}
	all["command.take_over_session"] = &storev1.Command{Kind: &storev1.Command_TakeOverSession{
		TakeOverSession: &storev1.TakeOverSession{SessionId: session},
	}}
	if len(all) < 19 {
		t.Errorf("found %d places of a session in a command, want at least 19", len(all))
	}
	for name, c := range all {
		if got := acting.Sessions(c); len(got) != 1 || !bytes.Equal(got[0], session) {
			t.Errorf("%s: got sessions %x, want %x", name, got, session)
		}
	}
}

func TestSessionsThatACommandOnlyNames(t *testing.T) {
	ref := &storev1.SessionRef{SessionId: session}
	for name, c := range map[string]*storev1.Command{
		"destroyed by an operator":        {Kind: &storev1.Command_DestroySession{DestroySession: &storev1.DestroySession{Session: ref, Force: true}}},
		"released by an operator":         {Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{Session: ref, Force: true}}},
		"put and released by an operator": {Kind: &storev1.Command_Put{Put: &storev1.Put{Release: ref, Force: true}}},
		"broken":                          {Kind: &storev1.Command_BreakLock{BreakLock: &storev1.BreakLock{SessionId: session}}},
		"a candidate":                     {Kind: &storev1.Command_Resign{Resign: &storev1.Resign{ToSessionId: session}}},
		"opened":                          {Kind: &storev1.Command_CreateSession{CreateSession: &storev1.CreateSession{SessionId: session}}},
		"asked in a guard":                {Guards: []*storev1.Guard{{Condition: &storev1.Guard_SessionAlive{SessionAlive: session}}}},
	} {
		if got := acting.Sessions(c); len(got) != 0 {
			t.Errorf("%s: got sessions %x, want none", name, got)
		}
	}
}
