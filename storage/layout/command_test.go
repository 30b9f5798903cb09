package layout_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/layout"
)

// handKinds are the commands that are read and written by hand.
var handKinds = []protoreflect.Name{"put", "acquire_lock", "release_lock"}

// randomCommand returns a command with random fields: most are of a kind that is read and written by hand.
func randomCommand(r *rand.Rand) *storev1.Command {
	cmd := &storev1.Command{}
	m := cmd.ProtoReflect()
	fill(r, m, 4)
	if r.IntN(4) > 0 {
		m.Clear(m.Descriptor().Fields().ByName("guards"))
		kind := m.Descriptor().Fields().ByName(handKinds[r.IntN(len(handKinds))])
		m.Clear(m.Descriptor().Oneofs().ByName("kind").Fields().Get(0))
		fill(r, m.Mutable(kind).Message(), 3)
	}
	return cmd
}

// envelopeAsProto compares what is read of an envelope with what proto reads. It returns the envelope; nil if it is refused.
func envelopeAsProto(t *testing.T, data []byte) *storev1.Envelope {
	t.Helper()
	want := &storev1.Envelope{}
	wantErr := proto.Unmarshal(data, want)
	if wantErr == nil {
		wantErr = layout.CheckEnvelope(want)
	}
	got, err := layout.DecodeEnvelope(data)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("the envelope %x: %v; want %v", data, err, wantErr)
	}
	if err != nil && got != nil {
		t.Fatalf("the envelope %x is refused and returned", data)
	}
	if err == nil && !proto.Equal(got, want) {
		t.Fatalf("the envelope %x is read as\n%v, want\n%v", data, got, want)
	}
	return got
}

// commandAsProto compares what a command is written as with what proto writes. It returns the bytes; nil if the command is refused.
func commandAsProto(t *testing.T, cmd *storev1.Command) []byte {
	t.Helper()
	want, wantErr := proto.MarshalOptions{Deterministic: true}.Marshal(cmd)
	if wantErr == nil {
		wantErr = layout.CheckEnvelope(&storev1.Envelope{FormatVersion: 1, Commands: []*storev1.Command{cmd}})
	}
	got, err := layout.EncodeCommand(cmd)
	if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
		t.Fatalf("%v\nis written as %x, %v\nwant          %x, %v", cmd, got, err, want, wantErr)
	}
	return got
}

// TestCommandsAreProtos writes random commands, and reads random envelopes, as proto does.
func TestCommandsAreProtos(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	taken, refused := 0, 0
	for range 4000 {
		env := &storev1.Envelope{FormatVersion: 1, Proposer: r.Uint64() >> r.IntN(64), Sequence: r.Uint64() >> r.IntN(64)}
		for range r.IntN(4) {
			cmd := randomCommand(r)
			if len(env.GetCommands()) > 0 && r.IntN(2) == 0 {
				cmd.Principal = env.GetCommands()[0].GetPrincipal()
			}
			commandAsProto(t, cmd)
			env.Commands = append(env.Commands, cmd)
		}
		if r.IntN(40) == 0 {
			env.ProtoReflect().SetUnknown([]byte{0xf8, 0x7f, 1})
		}
		data, err := proto.Marshal(env)
		if err != nil {
			continue
		}
		if envelopeAsProto(t, data) != nil {
			taken++
		} else {
			refused++
		}
		if len(data) > 0 { // Damage is read, or refused, as by proto.
			damaged := bytes.Clone(data)
			damaged[r.IntN(len(damaged))] ^= 1 << r.IntN(8)
			envelopeAsProto(t, damaged)
			envelopeAsProto(t, append(damaged, data...))
			envelopeAsProto(t, twice(r, env))
		}
	}
	if taken < 1000 || refused < 200 {
		t.Errorf("%d envelopes were taken and %d refused", taken, refused)
	}
}

// twice returns an envelope with one command whose fields are there twice, as two commands have them, and perhaps damaged.
func twice(r *rand.Rand, env *storev1.Envelope) []byte {
	var command []byte
	for range 2 {
		if n := len(env.GetCommands()); n > 0 {
			data, err := proto.Marshal(env.GetCommands()[r.IntN(n)])
			if err == nil && len(data) > 0 && r.IntN(2) == 0 {
				data[r.IntN(len(data))] ^= 1 << r.IntN(8)
			}
			command = append(command, data...)
		}
	}
	data := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	return protowire.AppendBytes(protowire.AppendTag(data, 4, protowire.BytesType), command)
}

// TestAFieldThatIsThereTwice has texts twice in one message, of which the first is not UTF-8: proto refuses both.
func TestAFieldThatIsThereTwice(t *testing.T) {
	put := []byte{0xa2, 1, 3, 0x0a, 1, 'k'}
	for name, command := range map[string][]byte{
		"principal": append([]byte{0x12, 1, 0xff, 0x12, 1, 'a'}, put...),
		"key":       {0xa2, 1, 6, 0x0a, 1, 0xff, 0x0a, 1, 'k'},
	} {
		data := append([]byte{8, 1, 0x22, byte(len(command))}, command...)
		if envelopeAsProto(t, data) != nil {
			t.Errorf("the %s is taken", name)
		}
	}
}

// FuzzEnvelope reads bytes as proto does, and writes the commands that they hold as proto does.
func FuzzEnvelope(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		env := &storev1.Envelope{FormatVersion: 1, Commands: []*storev1.Command{randomCommand(r), randomCommand(r)}}
		if data, err := proto.Marshal(env); err == nil {
			f.Add(data)
			f.Add(twice(r, env))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, cmd := range envelopeAsProto(t, data).GetCommands() {
			commandAsProto(t, cmd)
		}
	})
}

// TestCommandsAreReadByHand holds that the commands of which there are most go through the codecs made by hand: proto takes more allocations.
func TestCommandsAreReadByHand(t *testing.T) {
	id, digest, request := make([]byte, 16), make([]byte, 32), &storev1.RequestID{SessionId: make([]byte, 16), Epoch: 1, Sequence: 7}
	ref := &storev1.SessionRef{SessionId: id, Epoch: 1}
	principal := "token:0d1f2c3a-8a5e-4f1e-9f1a-8a5e4f1e9f1a"
	for _, c := range []struct {
		command *storev1.Command
		reads   float64 // allocations for what it holds, besides the envelope, its list and the principal
	}{
		{&storev1.Command{Kind: &storev1.Command_Put{Put: &storev1.Put{Key: "k", Value: make([]byte, 5000), IfRevision: new(uint64)}}}, 4},
		{&storev1.Command{Kind: &storev1.Command_AcquireLock{AcquireLock: &storev1.AcquireLock{
			Key: "k", Session: ref, Owner: "o", Mode: storev1.LockMode_LOCK_MODE_EXCLUSIVE, Value: []byte{},
		}}}, 4},
		{&storev1.Command{Kind: &storev1.Command_ReleaseLock{ReleaseLock: &storev1.ReleaseLock{Key: "k", Session: ref, Owner: "o"}}}, 4},
	} {
		c.command.Principal, c.command.AuthorisedBelow = principal, 8
		for _, with := range []bool{false, true} {
			if with {
				c.command.RequestId, c.command.RequestDigest = request, digest
				c.reads++
			}
			if got := testing.AllocsPerRun(10, func() {
				if _, err := layout.EncodeCommand(c.command); err != nil {
					t.Error(err)
				}
			}); got > 1 {
				t.Errorf("%v is written with %v allocations, want 1", c.command.GetKind(), got)
			}
			data, err := proto.Marshal(&storev1.Envelope{FormatVersion: 1, Commands: []*storev1.Command{c.command}})
			if err != nil {
				t.Fatal(err)
			}
			if got := testing.AllocsPerRun(10, func() {
				if _, err := layout.DecodeEnvelope(data); err != nil {
					t.Error(err)
				}
			}); got > 3+c.reads {
				t.Errorf("%v is read with %v allocations, want %v", c.command.GetKind(), got, 3+c.reads)
			}
		}
	}
}
