package line

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestFields compares the fields that are read and written by hand with line.proto.
func TestFields(t *testing.T) {
	for field, want := range map[protoreflect.FullName]protowire.Number{
		"tenure.v1.LineRequest.credentials":      fieldCredentials,
		"tenure.v1.LineRequest.calls":            fieldCalls,
		"tenure.v1.LineRequest.cancels":          fieldCancels,
		"tenure.v1.LineCredential.number":        fieldNumber,
		"tenure.v1.LineCredential.token":         fieldToken,
		"tenure.v1.LineCall.number":              fieldNumber,
		"tenure.v1.LineCall.remaining_time":      fieldRemaining,
		"tenure.v1.LineCall.credential":          fieldCredential,
		"tenure.v1.LineResponse.limits":          fieldLimits,
		"tenure.v1.LineResponse.answers":         fieldAnswers,
		"tenure.v1.LineResponse.drain":           fieldDrain,
		"tenure.v1.LineAnswer.number":            fieldNumber,
		"tenure.v1.LineAnswer.status":            fieldStatus,
		"tenure.v1.LineDrain.up_to":              fieldNumber,
		"tenure.v1.LineDrain.status":             fieldStatus,
		"tenure.v1.LineLimits.calls_max":         fieldCallsMax,
		"tenure.v1.LineLimits.request_bytes_max": fieldBytesMax,
		"tenure.v1.LineLimits.waits_max":         fieldWaitsMax,
		"tenure.v1.LineRequest.credits":          fieldCredits,
		"tenure.v1.LineCredit.number":            fieldNumber,
		"tenure.v1.LineCredit.messages":          fieldMessages,
		"tenure.v1.LineCredit.bytes":             fieldBytes,
		"tenure.v1.LineCall.credit_messages":     fieldCreditMessages,
		"tenure.v1.LineCall.credit_bytes":        fieldCreditBytes,
		"tenure.v1.LineResponse.parts":           fieldParts,
		"tenure.v1.LinePart.numbers":             fieldNumbers,
	} {
		message := tenurev1.File_tenure_v1_line_proto.Messages().ByName(field.Parent().Name())
		if f := message.Fields().ByName(field.Name()); f == nil || f.Number() != want {
			t.Errorf("%s: got %v, want %d", field, f, want)
		}
	}
	call := tenurev1.File_tenure_v1_line_proto.Messages().ByName("LineCall").Oneofs().ByName("request").Fields()
	answer := tenurev1.File_tenure_v1_line_proto.Messages().ByName("LineAnswer").Oneofs().ByName("response").Fields()
	part := tenurev1.File_tenure_v1_line_proto.Messages().ByName("LinePart").Oneofs().ByName("message").Fields()
	if call.Len() != len(verbs)+len(longs) || answer.Len() != len(verbs) || part.Len() != len(longs) {
		t.Errorf("there are %d requests, %d responses and %d parts for %d and %d methods", call.Len(), answer.Len(), part.Len(), len(verbs), len(longs))
	}
	for _, kind := range []struct {
		methods   map[string]protowire.Number
		responses protoreflect.FieldDescriptors
	}{{verbs, answer}, {longs, part}} {
		for method, field := range kind.methods {
			verb := protoreflect.Name(method[strings.LastIndexByte(method, '/')+1:])
			request, response := call.ByNumber(field), kind.responses.ByNumber(field)
			if request == nil || response == nil || request.Message().Name() != verb+"Request" || response.Message().Name() != verb+"Response" {
				t.Errorf("%s: field %d is %v and %v", verb, field, request, response)
			}
		}
	}
}

// FuzzAnswers reads what a member sends as protobuf reads it.
func FuzzAnswers(f *testing.F) {
	for _, a := range []*tenurev1.LineAnswer{
		{Number: 1, Response: &tenurev1.LineAnswer_Put{Put: &tenurev1.PutResponse{Header: &tenurev1.ResponseHeader{Revision: 7}}}},
		{Number: 1 << 40, Status: &tenurev1.LineStatus{Code: 5, Message: "none"}},
		{},
	} {
		data, err := proto.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want tenurev1.LineAnswer
		number, out, err := answerOf(data)
		if proto.Unmarshal(data, &want) != nil || err != nil {
			return // Either is free to refuse.
		}
		if number != want.GetNumber() || want.GetStatus() != nil && out.err == nil {
			t.Errorf("got %d, %v; want %v", number, out, &want)
		}
	})
}
