package transfer_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/transfer"
)

// TestStreamsThatComeTogether begins many streams of one snapshot, each of which goes on where the others came. All but the last are
// cut off at some point, and the snapshot is whole.
func TestStreamsThatComeTogether(t *testing.T) {
	const text = "abcdefgh"
	_, _, raw := made(t, 7, map[string][]byte{"a": []byte(text)})
	in, fs := inbox(t)
	bring := func() (string, error) {
		r, err := in.Begin(raw)
		if err != nil {
			return "", err
		}
		from := 0
		if len(r.Have) > 0 {
			from = int(r.Have[0].GetSizeBytes())
		}
		for ; from < len(text); from++ {
			if err = r.Chunk(chunk("a", from, []byte(text[from:from+1]), from+1 == len(text))); err != nil {
				return "", err
			}
		}
		return r.Finish()
	}
	names := make(chan string, 8)
	var ended sync.WaitGroup
	for range cap(names) {
		ended.Go(func() {
			name, err := bring()
			switch {
			case err == nil:
				names <- name
			case !errors.Is(err, transfer.ErrSuperseded):
				t.Error(err)
			}
		})
	}
	ended.Wait()
	close(names)
	whole := 0
	for name := range names {
		if _, err := checkpoint.Verify(fs, "/in/"+name); err != nil {
			t.Error(err)
		}
		whole++
	}
	if whole == 0 {
		t.Error("no stream brought the snapshot")
	}
}
