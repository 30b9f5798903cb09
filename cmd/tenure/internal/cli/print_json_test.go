package cli

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestJSONHasTheWordsThatTextHas(t *testing.T) {
	document, err := marshal(&tenurev1.ListSessionsResponse{Sessions: []*tenurev1.Session{
		{Name: "SESSION_BEHAVIOR_DELETE", Metadata: map[string]string{"behavior": "SESSION_BEHAVIOR_RELEASE"}, CreateRevision: 1<<63 + 1},
		{Name: "<&>", Behavior: tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE, Ttl: durationpb.New(1), End: &tenurev1.SessionEnd{
			Cause: tenurev1.SessionEndCause_SESSION_END_CAUSE_NODE_DEREGISTERED,
		}},
		{Behavior: 99},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":"SESSION_BEHAVIOR_DELETE"`, `"metadata":{"behavior":"SESSION_BEHAVIOR_RELEASE"}`, `"behavior":"unspecified"`,
		`"createRevision":"9223372036854775809"`, `"name":"<&>"`, `"behavior":"delete"`, `"ttl":"0.000000001s"`, `"cause":"node-deregistered"`,
		`"behavior":99`, `"hasSecret":false`, `"metadata":{}`, `"objects":0`,
	} {
		if !strings.Contains(string(document), want) {
			t.Errorf("%s is missing in %s", want, document)
		}
	}
}
