package rest

import (
	"bytes"
	"encoding/json"
	"testing"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// FuzzUnspaced compares with what the standard library takes out of the same text.
func FuzzUnspaced(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a": 1, "b" :"x y", "c":[ true , null,{} ]}`, `"\"a b\" \\"`, `["\\\\\" ", "\\\\", " "]`, `"`, `"\`, `""`, ` " \" " `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want bytes.Buffer
		known := json.Compact(&want, text) == nil && !bytes.ContainsAny(text, "\n\t\r")
		if got := unspaced(bytes.Clone(text)); known && !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%q becomes %q, want %q", text, got, want.Bytes())
		}
	})
}

// BenchmarkLine makes the line of a list of large values.
func BenchmarkLine(b *testing.B) {
	answer := &tenurev1.ListResponse{}
	for range 64 {
		answer.Kvs = append(answer.Kvs, &tenurev1.KeyValue{Key: "key", Value: make([]byte, 16<<10)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (jsonMarshaler{}).Marshal(answer); err != nil {
			b.Fatal(err)
		}
	}
}
