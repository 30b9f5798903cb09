package layout_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// records are those that have codecs of their own.
var records = []layout.Record{
	&storev1.KeyRecord{}, &storev1.HistoryRecord{}, &storev1.LockHead{}, &storev1.HoldRecord{},
	&storev1.RequestRecord{}, &storev1.RequestWindowRecord{}, &storev1.AppliedRecord{},
}

// emptyOf returns an empty record of the type of kind.
func emptyOf(kind layout.Record) layout.Record {
	m, ok := kind.ProtoReflect().New().Interface().(layout.Record)
	if !ok {
		panic("not a record")
	}
	return m
}

// sameAsProto compares what the codecs make of a record with what proto makes of it.
func sameAsProto(t *testing.T, m layout.Record) {
	t.Helper()
	want, wantErr := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	got, err := layout.Encode(m)
	if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
		t.Fatalf("%T %v\nencodes as %x, %v\nwant        %x, %v", m, m, got, err, want, wantErr)
	}
	if err == nil {
		decodedAsProto(t, m, want)
	}
}

// decodedAsProto compares what the codecs and proto read from bytes into a record of the type of kind. It returns the record; nil if
// there is none.
func decodedAsProto(t *testing.T, kind layout.Record, data []byte) layout.Record {
	t.Helper()
	want := emptyOf(kind)
	if proto.Unmarshal(data, want) != nil {
		if layout.Decode(data, emptyOf(kind)) == nil {
			t.Fatalf("%T decodes from %x, and not by proto", kind, data)
		}
		return nil
	}
	got := emptyOf(kind)
	err := layout.Decode(data, got)
	if known := want.GetFormatVersion() == layout.RecordFormat; (err == nil) != known {
		t.Fatalf("%T of format %d from %x: %v", kind, want.GetFormatVersion(), data, err)
	}
	if err != nil {
		return want
	}
	if !proto.Equal(got, want) {
		t.Fatalf("%T decodes from %x as\n%v, want\n%v", kind, data, got, want)
	}
	if k, ok := want.(*storev1.KeyRecord); ok {
		facts := &storev1.KeyRecord{}
		n, err := layout.DecodeKeyFacts(data, facts)
		size := len(k.GetValue())
		k.Value = nil
		if err != nil || n != size || !proto.Equal(facts, k) {
			t.Fatalf("facts from %x: %v, %d, %v; want %v, %d", data, facts, n, err, k, size)
		}
		return got
	}
	return want
}

// fill gives the fields of a message random values, at random.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if r.IntN(3) == 0 || f.ContainingOneof() != nil && f.Name() != "key_put" && f.Name() != "put" && r.IntN(20) > 0 {
			continue
		}
		switch {
		case f.IsList():
			for range r.IntN(3) {
				if v := m.Mutable(f).List().NewElement(); f.Message() != nil && depth > 0 {
					fill(r, v.Message(), depth-1)
					m.Mutable(f).List().Append(v)
				}
			}
		case f.Message() != nil:
			if depth > 0 && !f.IsMap() {
				fill(r, m.Mutable(f).Message(), depth-1)
			}
		default:
			m.Set(f, randomValue(r, f))
		}
	}
	if r.IntN(40) == 0 {
		m.SetUnknown([]byte{0xf8, 0x7f, 1})
	}
}

func randomValue(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	n := r.Uint64() >> r.IntN(64)
	content := make([]byte, n%300)
	for i := range content {
		content[i] = 'a' + byte(i%26)
	}
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n % 5))
	case protoreflect.StringKind:
		if r.IntN(50) == 0 {
			return protoreflect.ValueOfString("\xff")
		}
		return protoreflect.ValueOfString(string(content))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(content)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	default:
		return protoreflect.ValueOfUint64(n)
	}
}

// TestCodecsAreProtos encodes and decodes random records as proto does, to the byte.
func TestCodecsAreProtos(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		for _, kind := range records {
			like := emptyOf(kind)
			m := like.ProtoReflect()
			fill(r, m, 5)
			if r.IntN(4) > 0 {
				m.Set(m.Descriptor().Fields().ByName("format_version"), protoreflect.ValueOfUint32(layout.RecordFormat))
			}
			sameAsProto(t, like)
		}
	}
}

// FuzzCodecs decodes bytes as proto does, and encodes what they hold as proto does.
func FuzzCodecs(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for i, kind := range records {
		for range 8 {
			m := kind.ProtoReflect().New()
			fill(r, m, 4)
			if data, err := proto.Marshal(m.Interface()); err == nil {
				f.Add(uint8(i), data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		if m := decodedAsProto(t, records[int(kind)%len(records)], data); m != nil {
			sameAsProto(t, m)
		}
	})
}

// TestCodecsAllocateOnce holds that what every put reads and writes goes through the codecs made by hand: proto takes more allocations.
func TestCodecsAllocateOnce(t *testing.T) {
	id, digest := make([]byte, 16), make([]byte, 32)
	state := &storev1.KeyState{Key: "k", ModRevision: 7, SessionId: id}
	for _, m := range []layout.Record{
		&storev1.KeyRecord{FormatVersion: 1, Value: make([]byte, 300), ModRevision: 7},
		&storev1.KeyRecord{FormatVersion: 1, Value: make([]byte, 5000), ModRevision: 7},
		&storev1.LockHead{FormatVersion: 1, LockIndex: 7, Past: []*storev1.PastHold{{Owner: "o"}}},
		&storev1.HoldRecord{FormatVersion: 1, Owner: "o", SessionId: id},
		&storev1.RequestWindowRecord{FormatVersion: 1, Requests: 3},
		&storev1.AppliedRecord{FormatVersion: 1, Index: 1 << 40},
		&storev1.RequestRecord{FormatVersion: 1, Digest: digest, Result: &storev1.Result{
			Revision: 7, Kind: &storev1.Result_Put{Put: &storev1.PutResult{Key: "k", State: state}},
		}},
		&storev1.HistoryRecord{FormatVersion: 1, Event: &storev1.Event{
			Revision: 7, Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{Key: "k", Previous: &storev1.PreviousValue{Revision: 3}}},
		}},
	} {
		if got := testing.AllocsPerRun(10, func() {
			if _, err := layout.Encode(m); err != nil {
				t.Error(err)
			}
		}); got > 1 {
			t.Errorf("%T is encoded with %v allocations, want 1", m, got)
		}
	}
}
