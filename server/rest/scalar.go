package rest

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// Messages that JSON and query parameters write as text.
const (
	durationName  protoreflect.FullName = "google.protobuf.Duration"
	timestampName protoreflect.FullName = "google.protobuf.Timestamp"
)

// isText tells whether JSON and query parameters write a field's values as a text or number, and not as an object.
func isText(field protoreflect.FieldDescriptor) bool {
	message := field.Message()
	return message == nil || message.FullName() == durationName || message.FullName() == timestampName
}

// namesSession tells whether a field that is empty when unset names a session to act as. Given, but empty, it is most
// likely a variable that a script forgot to set; to go on without it would, for one, write without the lock.
func namesSession(field protoreflect.FieldDescriptor) bool {
	return slices.Contains([]protoreflect.Name{"session_id", "session_ids", "acquire", "release", "bind_session", "to_session_id"},
		field.Name())
}

// checkGiven refuses a text that is empty where it must not be: with an empty resume token a watch would begin now, and miss
// what the token stood for.
func checkGiven(field protoreflect.FieldDescriptor, name, text string) *restError {
	switch {
	case text != "":
		return nil
	case namesSession(field):
		return refused(tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID, name, "is given but empty; it must be a UUID")
	case field.Name() == "resume_token":
		return refused(tenurev1.ErrorReason_ERROR_REASON_RESUME_TOKEN_INVALID, name,
			"it is given but empty; leave it out to watch from now on")
	default:
		return nil
	}
}

// checkQueryText refuses a query parameter or variable of the path that is no value of its field.
func checkQueryText(field protoreflect.FieldDescriptor, name, text string) *restError {
	if !utf8.ValidString(text) {
		return malformed(name, "it is not valid UTF-8")
	}
	if e := checkGiven(field, name, text); e != nil {
		return e
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return malformed(name, "%.64q is neither true nor false", text)
		}
	case protoreflect.MessageKind:
		if field.Message().FullName() == durationName {
			if _, err := time.ParseDuration(text); err != nil {
				return wrongDuration(field, name, text)
			}
			return nil
		}
		return checkTimestamp(name, text)
	case protoreflect.StringKind:
	default:
		return checkScalar(field, name, text)
	}
	return nil
}

// checkJSONText refuses a text in JSON that is no value of its field.
func checkJSONText(field protoreflect.FieldDescriptor, name, text string) *restError {
	if e := checkGiven(field, name, text); e != nil {
		return e
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		return malformed(name, "it must be true or false, without quotes")
	case protoreflect.MessageKind:
		if !isText(field) {
			return malformed(name, "it must be an object")
		}
		if field.Message().FullName() == durationName {
			if protojson.Unmarshal(strconv.AppendQuote(nil, text), new(durationpb.Duration)) != nil {
				return wrongDuration(field, name, text)
			}
			return nil
		}
		return checkTimestamp(name, text)
	case protoreflect.StringKind:
		return nil
	default:
		return checkScalar(field, name, text)
	}
}

// wrongDuration is the error for a text that is not a duration, or a longer one than there can be.
func wrongDuration(field protoreflect.FieldDescriptor, name, text string) *restError {
	why := tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT
	if !isSeconds(text) {
		return refused(why, name, `%.64q is not a duration; write seconds, such as "15s" or "0.5s"`, text)
	}
	switch field.Name() {
	case "ttl":
		why = tenurev1.ErrorReason_ERROR_REASON_TTL_OUT_OF_RANGE
	case "lock_delay":
		why = tenurev1.ErrorReason_ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE
	}
	return refused(why, name, "%.64q is out of range", text)
}

// isSeconds reports whether a text is a whole number of seconds. One that is not a duration has too many.
func isSeconds(text string) bool {
	digits, ok := strings.CutSuffix(strings.TrimPrefix(text, "-"), "s")
	return ok && digits != "" && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

// checkTimestamp refuses a text that is no timestamp.
func checkTimestamp(name, text string) *restError {
	if protojson.Unmarshal(strconv.AppendQuote(nil, text), new(timestamppb.Timestamp)) != nil {
		return malformed(name, `%.64q is not a time; write it as "2006-01-02T15:04:05Z"`, text)
	}
	return nil
}

// checkScalar refuses a text that is no number, enum value or base64.
func checkScalar(field protoreflect.FieldDescriptor, name, text string) *restError {
	var err error
	switch field.Kind() {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		_, err = strconv.ParseInt(text, 10, 32)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		_, err = strconv.ParseInt(text, 10, 64)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		_, err = strconv.ParseUint(text, 10, 32)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		_, err = strconv.ParseUint(text, 10, 64)
	case protoreflect.EnumKind:
		return checkEnum(field.Enum(), name, text)
	case protoreflect.BytesKind:
		if !isBase64(text) {
			return malformed(name, "it is not base64")
		}
	default:
		return malformed(name, "it cannot be given here")
	}
	if err != nil {
		return malformed(name, "%.64q is not a %v", text, field.Kind())
	}
	return nil
}

// checkEnum refuses a text that is neither the name nor the number of an enum value.
func checkEnum(enum protoreflect.EnumDescriptor, name, text string) *restError {
	values := enum.Values()
	if values.ByName(protoreflect.Name(text)) != nil {
		return nil
	}
	if number, err := strconv.ParseInt(text, 10, 32); err == nil && values.ByNumber(protoreflect.EnumNumber(number)) != nil {
		return nil
	}
	known := make([]string, 0, values.Len())
	for i := range values.Len() {
		known = append(known, string(values.Get(i).Name()))
	}
	return malformed(name, "%.64q is not one of %s", text, strings.Join(known, ", "))
}

// isBase64 tells whether a text is base64 as protobuf's JSON reads it: of either alphabet, padded or not.
func isBase64(text string) bool {
	encoding := base64.StdEncoding
	if strings.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if len(text)%4 != 0 {
		encoding = encoding.WithPadding(base64.NoPadding)
	}
	_, err := encoding.DecodeString(text)
	return err == nil
}
