package kv

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

func TestListFollowsPages(t *testing.T) {
	member := &fake.Member{OnList: func(r *tenurev1.ListRequest) (*tenurev1.ListResponse, error) {
		pages := map[string]string{"": "b", "b": "c", "c": ""}
		next, known := pages[r.GetPageToken()]
		if !known || r.GetPrefix() != "p" || !r.GetKeysOnly() {
			return nil, fmt.Errorf("unexpected %v", r)
		}
		return &tenurev1.ListResponse{
			Kvs:           []*tenurev1.KeyValue{{Key: "p1" + r.GetPageToken()}, {Key: "p2" + r.GetPageToken()}},
			NextPageToken: next,
		}, nil
	}}
	for output, want := range map[string]int{cli.OutputText: 0, cli.OutputJSON: 1} {
		t.Run(output, func(t *testing.T) {
			var out bytes.Buffer
			env := &cli.Environment{Stdout: &out, Output: output}
			err := listKeys(t.Context(), env, fake.ClientAt(t, member.Serve(t)), &keyListing{request: &tenurev1.ListRequest{Prefix: "p", KeysOnly: true}})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"p1", "p2", "p1b", "p2b", "p1c", "p2c"} {
				if !strings.Contains(out.String(), key) {
					t.Errorf("key %s is missing in %s", key, out.String())
				}
			}
			if got := strings.Count(out.String(), "nextPageToken"); got != want {
				t.Errorf("got %d documents, want %d", got, want)
			}
		})
	}
}
