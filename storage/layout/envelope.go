package layout

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

// envelopeFormat is the format of the log's envelopes; no other exists yet.
const envelopeFormat = 1

// EncodeEnvelope marshals an envelope for the log in the present format. It refuses what no member could decode.
func EncodeEnvelope(env *storev1.Envelope) ([]byte, error) {
	env.FormatVersion = envelopeFormat
	if err := checkEnvelope(env); err != nil {
		return nil, fmt.Errorf("encode envelope: %w", err)
	}
	return Encode(env)
}

// EncodeCommand marshals a command for an envelope. It refuses with ErrUnknownFormat what DecodeEnvelope would refuse, so
// that nothing is proposed that no member could apply.
func EncodeCommand(cmd *storev1.Command) ([]byte, error) {
	if data, ok := encodeCommand(cmd); ok {
		return data, nil
	}
	if err := checkCommand(cmd); err != nil {
		return nil, err
	}
	data, err := proto.Marshal(cmd)
	if err != nil {
		return nil, fmt.Errorf("%w: command: %w", ErrUnknownFormat, err)
	}
	return data, nil
}

// DecodeEnvelope unmarshals an envelope. Anything in it that this program does not know, a format, a command kind, a
// field or an enum value, is ErrUnknownFormat: guessing would make members differ.
func DecodeEnvelope(data []byte) (*storev1.Envelope, error) {
	env := &storev1.Envelope{}
	if ok, err := cutEnvelope(data, env); ok {
		if err == nil {
			err = checkEnvelopeItself(env)
		}
		if err != nil {
			return nil, err
		}
		return env, nil
	}
	proto.Reset(env)
	if err := proto.Unmarshal(data, env); err != nil {
		return nil, fmt.Errorf("%w: envelope: %w", ErrUnknownFormat, err)
	}
	if err := checkEnvelope(env); err != nil {
		return nil, err
	}
	return env, nil
}

// checkEnvelope refuses an envelope that this program cannot apply.
func checkEnvelope(env *storev1.Envelope) error {
	if err := checkEnvelopeItself(env); err != nil {
		return err
	}
	for i, cmd := range env.GetCommands() {
		if err := checkCommand(cmd); err != nil {
			return fmt.Errorf("command %d: %w", i, err)
		}
	}
	return nil
}

// checkEnvelopeItself is checkEnvelope but for the commands.
func checkEnvelopeItself(env *storev1.Envelope) error {
	if v := env.GetFormatVersion(); v != envelopeFormat {
		return fmt.Errorf("%w: envelope of format %d", ErrUnknownFormat, v)
	}
	if len(env.GetCommands()) == 0 {
		return fmt.Errorf("%w: envelope without commands", ErrUnknownFormat)
	}
	if len(env.ProtoReflect().GetUnknown()) > 0 {
		return fmt.Errorf("%w: field of Envelope", ErrUnknownFormat)
	}
	return nil
}

// checkCommand refuses a command that this program cannot apply. Whoever proposes one calls it as apply does.
func checkCommand(cmd *storev1.Command) error {
	if err := checkKnown(cmd.ProtoReflect()); err != nil {
		return err
	}
	if cmd.GetKind() == nil {
		return fmt.Errorf("%w: a command has no known kind", ErrUnknownFormat)
	}
	return nil
}

// checkKnown refuses a message that holds a field or an enum value this program does not know, at any depth.
func checkKnown(m protoreflect.Message) error {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("%w: field of %s", ErrUnknownFormat, m.Descriptor().Name())
	}
	var err error
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && (f.Message() != nil || f.Enum() != nil):
			for i := range v.List().Len() {
				if err = checkKnownValue(f, v.List().Get(i)); err != nil {
					break
				}
			}
		case !f.IsList():
			err = checkKnownValue(f, v)
		}
		return err == nil
	})
	return err
}

func checkKnownValue(f protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch {
	case f.Message() != nil:
		return checkKnown(v.Message())
	case f.Enum() != nil && f.Enum().Values().ByNumber(v.Enum()) == nil:
		return fmt.Errorf("%w: value %d of %s", ErrUnknownFormat, v.Enum(), f.Enum().Name())
	default:
		return nil
	}
}
