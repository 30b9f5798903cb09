package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// An agent gives an idempotency key to the requests that take one, and to no others, which would refuse it. A member says of every call
// with options which of both it is: a key that is too short, or one that has no effect.
func TestAnAgentKnowsWhichRequestsTakeAKey(t *testing.T) {
	conn := dialMemberInMemory(t)
	asked := 0
	for _, method := range unaryMethods(t) {
		kind, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
		if err != nil {
			t.Fatal(err)
		}
		field := method.Input().Fields().ByName("options")
		if field == nil || field.Message() == nil || field.Message().FullName() != (&tenurev1.CallOptions{}).ProtoReflect().Descriptor().FullName() {
			continue
		}
		asked++
		request := kind.New().Interface()
		takes := takesKey(request)
		fill(request.ProtoReflect())
		options := (&tenurev1.CallOptions{IdempotencyKey: []byte("short")}).ProtoReflect()
		request.ProtoReflect().Set(field, protoreflect.ValueOfMessage(options))
		name := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
		err = conn.Invoke(t.Context(), name, request, &tenurev1.ResponseHeader{})
		text := status.Convert(err).Message()
		switch {
		case strings.Contains(text, "idempotency_key: must be"):
			if !takes {
				t.Errorf("%s takes an idempotency key, and an agent gives it none", name)
			}
		case strings.Contains(text, "idempotency_key: has no effect"):
			if takes {
				t.Errorf("%s takes no idempotency key, and an agent gives it one", name)
			}
		default:
			t.Errorf("%s: the member said %v, want what it says of the key", name, err)
		}
	}
	if asked < 10 {
		t.Errorf("%d calls have options, want more", asked)
	}
}

// fill gives a request what a member looks at before it looks at the options.
func fill(m protoreflect.Message) {
	const id = "00000000-0000-4000-8000-000000000001"
	texts := map[protoreflect.Name]string{
		"key": "k", "prefix": "p", "node": "n", "name": "n", "address": "10.0.0.1", "service_id": "s", "check_id": "c", "session_id": id, "query_id": id,
		"sequencer": "",
	}
	for i := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(i)
		text, known := texts[field.Name()]
		switch {
		case known && field.Kind() == protoreflect.StringKind:
			m.Set(field, protoreflect.ValueOfString(text))
		case known && field.Kind() == protoreflect.MessageKind && !field.IsList() && !field.IsMap():
			fill(m.Mutable(field).Message())
		case field.Kind() == protoreflect.EnumKind && !field.IsList():
			m.Set(field, protoreflect.ValueOfEnum(1))
		}
	}
}

// unaryMethods returns the calls of tenure.v1 with one request and one answer.
func unaryMethods(t *testing.T) []protoreflect.MethodDescriptor {
	t.Helper()
	var all []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("tenure.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				if m := methods.Get(j); !m.IsStreamingClient() && !m.IsStreamingServer() && m.Parent().Name() != "AgentService" {
					all = append(all, m)
				}
			}
		}
		return true
	})
	return all
}

// dialMemberInMemory runs a member on a file system in memory, until the test ends, and returns a connection to it.
func dialMemberInMemory(t *testing.T) *grpc.ClientConn {
	t.Helper()
	s, err := server.New(server.Config{
		DataDir: "data", FS: storage.NewMemFS(), Name: "one", Version: "test",
		ListenAddr: "127.0.0.1:0", HTTPAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if end := <-ended; end != nil {
			t.Error(end)
		}
	})
	select {
	case <-s.Ready():
	case err = <-ended:
		ended <- nil
		t.Fatalf("the member ended: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("the member is not ready")
	}
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
