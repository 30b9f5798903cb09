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
	&storev1.RequestRecord{}, &storev1.RequestWindowRecord{}, &storev1.AppliedRecord{}, &storev1.SessionRecord{},
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
	if h, ok := want.(*storev1.LockHead); ok {
		pastAsProto(t, data, proto.CloneOf(h))
	}
	return want
}

// pastAsProto compares what is read of the head of a lock without its past holds, and written again with one more, with what proto makes of it. The
// head is what proto reads from data.
func pastAsProto(t *testing.T, data []byte, head *storev1.LockHead) {
	t.Helper()
	use, short := &storev1.LockHead{}, proto.CloneOf(head)
	short.Past = nil
	past, err := layout.DecodeLock(data, use)
	if err != nil || !proto.Equal(use, short) {
		t.Fatalf("the head without past holds from %x: %v, %v; want %v", data, use, err, short)
	}
	holds, err := past.Holds()
	if short.Past = holds; err != nil || !proto.Equal(short, head) {
		t.Fatalf("the past holds from %x: %v, %v; want %v", data, holds, err, head)
	}
	want, err := proto.MarshalOptions{Deterministic: true}.Marshal(head)
	if err != nil || !bytes.Equal(want, data) {
		return // A fuzzer made it. Our encoder writes the fields in another order.
	}
	const most = 3
	for i := range most + 3 {
		if got, encodeErr := layout.EncodeLock(use, past); encodeErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("the head with %d more past holds is written as %x, %v; want %x", i, got, encodeErr, want)
		}
		var added []*storev1.PastHold
		for n := range i {
			added = append(added, &storev1.PastHold{Owner: "o", LockIndex: uint64(n)})
		}
		if past, err = past.Add(added, most); err != nil {
			t.Fatal(err)
		}
		head.Past = append(head.GetPast(), added...)
		head.Past = head.GetPast()[max(0, len(head.GetPast())-most):]
		if want, err = (proto.MarshalOptions{Deterministic: true}).Marshal(head); err != nil {
			t.Fatal(err)
		}
	}
}

// coded are the fields of a oneof whose messages have codecs.
var coded = map[protoreflect.Name]bool{
	"key_put": true, "key_deleted": true, "lock_granted": true, "lock_released": true, "put": true, "acquire_lock": true, "release_lock": true, "hold": true,
}

// fill gives the fields of a message random values, at random.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		odds := 3 // that it has none
		switch {
		case f.ContainingOneof() == nil:
		case coded[f.Name()]:
			odds = 2
		default:
			odds = 1
			if r.IntN(20) == 0 {
				odds = 3
			}
		}
		if r.IntN(odds) == 0 {
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
		&storev1.RequestRecord{FormatVersion: 1, Digest: digest, Caller: "token:x", Result: &storev1.Result{
			Revision: 7, Kind: &storev1.Result_Put{Put: &storev1.PutResult{Key: "k", State: state}},
		}},
		&storev1.HistoryRecord{FormatVersion: 1, Event: &storev1.Event{
			Revision: 7, Kind: &storev1.Event_KeyPut{KeyPut: &storev1.KeyPut{Key: "k", Previous: &storev1.PreviousValue{Revision: 3}}},
		}},
		&storev1.HistoryRecord{FormatVersion: 1, Event: &storev1.Event{
			Revision: 7, Kind: &storev1.Event_KeyDeleted{KeyDeleted: &storev1.KeyDeleted{Key: "k", Previous: &storev1.PreviousValue{Revision: 3}}},
		}},
		&storev1.HistoryRecord{FormatVersion: 1, Event: &storev1.Event{
			Revision: 7, Kind: &storev1.Event_LockGranted{LockGranted: &storev1.LockGranted{Key: "k", SessionId: id, Owner: "o"}},
		}},
		&storev1.HistoryRecord{FormatVersion: 1, Event: &storev1.Event{
			Revision: 7, Kind: &storev1.Event_LockReleased{LockReleased: &storev1.LockReleased{Key: "k", SessionId: id, Owner: "o"}},
		}},
		&storev1.RequestRecord{FormatVersion: 1, Digest: digest, Result: &storev1.Result{
			Revision: 7, Kind: &storev1.Result_AcquireLock{AcquireLock: &storev1.AcquireLockResult{
				Outcome: &storev1.AcquireLockResult_Hold{Hold: &storev1.HoldState{Key: "k", SessionId: id, Owner: "o"}},
			}},
		}},
		&storev1.RequestRecord{FormatVersion: 1, Digest: digest, Result: &storev1.Result{
			Revision: 7, Kind: &storev1.Result_ReleaseLock{ReleaseLock: &storev1.ReleaseLockResult{Released: true}},
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
