package watch_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/watch"
	"github.com/tenure-io/tenure/storage"
)

// TestRecentEventsCountWhatTheyTake publishes an event of every kind with long texts in it, and looks what the hub says
// they take. A kind that counts too little lets the memory grow beyond its bound.
func TestRecentEventsCountWhatTheyTake(t *testing.T) {
	kinds := (&storev1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	for i := range kinds.Len() {
		kind := kinds.Get(i)
		t.Run(string(kind.Name()), func(t *testing.T) {
			registry := prometheus.NewRegistry()
			f := newFeed(t, watch.Options{Registerer: registry})
			e := &storev1.Event{Revision: 1, Count: 1}
			fillTexts(e.ProtoReflect().Mutable(kind).Message())
			before := gauge(t, registry, "tenure_watch_ring_bytes")
			f.hub.Publish(storage.Outcome{Events: []*storev1.Event{e}, Applied: storage.Applied{Revision: 1}})
			if got, want := gauge(t, registry, "tenure_watch_ring_bytes")-before, float64(proto.Size(e)); got < want {
				t.Errorf("it counts %v bytes, and says %v", got, want)
			}
		})
	}
}

// fillTexts sets every text of a message that a client chooses.
func fillTexts(m protoreflect.Message) {
	const long = 1 << 10
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		value := strings.Repeat("x", long)
		switch {
		case strings.HasSuffix(string(field.Name()), "session_id"):
			value = value[:16]
		case field.Name() == "value":
			value = strings.Repeat("x", 512*long)
		}
		switch {
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			for range 64 {
				m.Mutable(field).List().Append(protoreflect.ValueOfString(value))
			}
		case field.IsList() || field.IsMap():
		case field.Kind() == protoreflect.StringKind:
			m.Set(field, protoreflect.ValueOfString(value))
		case field.Kind() == protoreflect.BytesKind:
			m.Set(field, protoreflect.ValueOfBytes([]byte(value)))
		}
	}
}
