package kv

import (
	"strings"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// TestWordsOfEnumsBecomeNames replaces words where they stand for values of enums, and nothing else.
func TestWordsOfEnumsBecomeNames(t *testing.T) {
	for raw, want := range map[string]string{
		`{"compares": [{"operator" :"less", "text": "less"}]}`:                                 `{"compares": [{"operator" :"COMPARE_OPERATOR_LESS", "text": "less"}]}`,
		`{"compares":[{"operator":"\u006cess"},{"operator":"equal"}]}`:                         `{"compares":[{"operator":"COMPARE_OPERATOR_LESS"},{"operator":"COMPARE_OPERATOR_EQUAL"}]}`,
		`{"then":[{"acquireLock":{"mode":"shared","key":"shared"}}]}`:                          `{"then":[{"acquireLock":{"mode":"LOCK_MODE_SHARED","key":"shared"}}]}`,
		`{"then":[{"put":{"text":"\ud800 less"}}], "when": {"operator": "less"}}`:              `{"then":[{"put":{"text":"\ud800 less"}}], "when": {"operator": "less"}}`,
		`{"compares":[{"operator":"COMPARE_OPERATOR_LESS"},{"operator":3},{"operator":null}]}`: `{"compares":[{"operator":"COMPARE_OPERATOR_LESS"},{"operator":3},{"operator":null}]}`,
		`{"compares": [{"operator": "less"`:                                                    `{"compares": [{"operator": "COMPARE_OPERATOR_LESS"`,
		`[`:                                                                                    `[`, ``: ``, `"less"`: `"less"`, `{"compares"`: `{"compares"`, `{"a":1}}`: `{"a":1}}`,
	} {
		got, err := cli.EnumNames([]byte(raw), (&tenurev1.TxnRequest{}).ProtoReflect().Descriptor())
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", raw, got, err, want)
		}
	}
	deep := strings.Repeat("[", requestBytesMax)
	if got, err := cli.EnumNames([]byte(deep), (&tenurev1.TxnRequest{}).ProtoReflect().Descriptor()); err != nil || string(got) != deep {
		t.Errorf("%d lists in each other: got %d bytes, %v", len(deep), len(got), err)
	}
	for raw, want := range map[string]string{
		`{"compares":[{"operator":"more"}]}`:              `"more" is none of equal, not-equal, less and greater`,
		`{"compares":[{"operator":"unspecified"}]}`:       `"unspecified" is none of equal, not-equal, less and greater`,
		`{"otherwise":[{"acquireLock":{"mode":"LESS"}}]}`: `"LESS" is none of exclusive, shared and semaphore`,
	} {
		if _, err := cli.EnumNames([]byte(raw), (&tenurev1.TxnRequest{}).ProtoReflect().Descriptor()); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
}
