package relayed_test

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/relayed"
)

// bounds are how long what has a bound of its own may be, by the last part of its path; all else may have 64 bytes.
var bounds = map[string]int{
	"key": 1024, "prefix": 1024, "value": 512 << 10, "put": 512 << 10, "name": 256, "node": 256, "owner": 256, "to_owner": 256,
	"reason": 1024, "by": 256, "peer_address": 256, "metadata.name": 4096, "metadata.value": 4096,
	"meta.name": 4096, "meta.value": 4096, "tagged_addresses.name": 4096, "tagged_addresses.value": 4096, "service_id": 256, "check_id": 256, "entry_id": 256,
	"check_ids": 256, "delete_services": 256, "delete_checks": 256, "tags": 256, "address": 256, "gossip_address": 512, "zone": 128,
	"service": 256, "ignore_checks": 256, "near": 256, "regexp": 1024,
	"node_meta.name": 4096, "node_meta.value": 4096, "service_meta.name": 4096, "service_meta.value": 4096,
	"output": 4096, "notes": 4096, "definition": 16 << 10,
	"principal": 2048, "rules": 64 << 10, "policies": 256, "delete_policy": 256, "delete_binding": 256, "created_by": 256,
	"delete_provider": 256, "issuer": 512, "audiences": 256, "jwks": 64 << 10, "jwks_url": 1024, "ca_certificates": 16 << 10,
}

// boundOf returns how long a text may be at a path.
func boundOf(path string) int {
	parts := strings.Split(path, ".")
	last := parts[len(parts)-1]
	if len(parts) > 1 {
		if n, ok := bounds[parts[len(parts)-2]+"."+last]; ok {
			return n
		}
	}
	if n, ok := bounds[last]; ok {
		return n
	}
	return 64
}

// texts calls visit at each place of a message where a text or bytes may be, with what sets it.
func texts(t *testing.T, m protoreflect.Message, at string, visit func(path string, set func(length int))) {
	t.Helper()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.IsMap() {
			t.Fatalf("%s is a map, and nothing bounds those", field.FullName())
		}
		path := at + string(field.Name())
		set := func(v protoreflect.Value) { m.Set(field, v) }
		if field.IsList() {
			set = func(v protoreflect.Value) {
				list := m.NewField(field)
				list.List().Append(v)
				m.Set(field, list)
			}
		}
		switch field.Kind() {
		case protoreflect.StringKind:
			visit(path, func(n int) { set(protoreflect.ValueOfString(strings.Repeat("a", n))) })
		case protoreflect.BytesKind:
			visit(path, func(n int) { set(protoreflect.ValueOfBytes(bytes.Repeat([]byte("a"), n))) })
		case protoreflect.MessageKind:
			child := m.NewField(field)
			if field.IsList() {
				child = child.List().NewElement()
			}
			set(child)
			if field.IsList() {
				child = m.Get(field).List().Get(0)
			}
			texts(t, child.Message(), path+".", visit)
		default:
			continue
		}
		m.Clear(field)
	}
}

// TestEveryTextThatIsRelayedHasABound puts a text as long as it may be, and one that is longer, in every place of everything that
// members relay.
func TestEveryTextThatIsRelayedHasABound(t *testing.T) {
	places := 0
	for _, m := range []proto.Message{&peerv1.ProposeRequest{}, &peerv1.ChangeMembersRequest{}, &peerv1.AttachRequest{}} {
		texts(t, m.ProtoReflect(), "", func(path string, set func(int)) {
			places++
			most := boundOf(path)
			set(most)
			if err := relayed.Check(m); err != nil {
				t.Errorf("%T: %s of %d bytes: %v", m, path, most, err)
			}
			set(most + 1)
			e := reason.Of(relayed.Check(m))
			if e == nil || len(e.Violations) != 1 || !strings.HasPrefix(path, e.Violations[0].GetField()) {
				t.Errorf("%T: %s of %d bytes: got %v, want it refused by name", m, path, most+1, e)
			}
		})
	}
	if places < 80 {
		t.Errorf("found %d places of texts, want at least 80", places)
	}
}

func TestMetadataHasABoundAsAWhole(t *testing.T) {
	create := &storev1.CreateSession{}
	relay := &peerv1.ProposeRequest{Command: &storev1.Command{Kind: &storev1.Command_CreateSession{CreateSession: create}}}
	for n := range 5 {
		create.Metadata = append(create.Metadata, &storev1.MetadataEntry{Name: "a", Value: strings.Repeat("b", 1023)})
		if err := relayed.Check(relay); (err != nil) != (n == 4) {
			t.Errorf("%d entries of 1 024 bytes: got %v", n+1, err)
		}
	}
}
