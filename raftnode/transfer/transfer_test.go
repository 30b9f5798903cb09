package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
	"github.com/tenure-io/tenure/raftnode/datadir"
	"github.com/tenure-io/tenure/raftnode/transfer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is a checkpoint on a disk of its own.
func made(t *testing.T, index uint64, files map[string][]byte) (fs vfs.FS, dir string, raw []byte) {
	t.Helper()
	fs = vfs.NewMem()
	if err := fs.MkdirAll("/snap", 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenCatalogue(fs, "/snap")
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Make(func(dir string) (*checkpoint.Manifest, error) {
		if err = fs.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for name, data := range files {
			if err = datadir.WriteFile(fs, dir, name, data); err != nil {
				return nil, err
			}
		}
		return &checkpoint.Manifest{Index: index, Term: 1, ConfState: []byte("members")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err = checkpoint.ReadManifestRaw(fs, made.Path())
	if err != nil {
		t.Fatal(err)
	}
	return fs, made.Path(), raw
}

func inbox(t *testing.T) (*transfer.Inbox, vfs.FS) {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/", 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := transfer.OpenInbox(fs, "/in", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	return in, fs
}

func chunk(file string, offset int, data []byte, last bool) *peerv1.SendSnapshotRequest {
	return &peerv1.SendSnapshotRequest{
		File: file, Offset: uint64(offset), Data: data, Last: last,
		Crc32C: crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)),
	}
}

func TestChunksThatDoNotFitAreRefused(t *testing.T) {
	changed := chunk("a", 0, []byte("abcdef"), true)
	changed.Data = []byte("abXdef")
	tests := map[string]*peerv1.SendSnapshotRequest{
		"changed on its way":      changed,
		"not where the file ends": chunk("a", 3, []byte("def"), true),
		"longer than the file":    chunk("a", 0, []byte("abcdefg"), true),
		"the end too early":       chunk("a", 0, []byte("abc"), true),
		"no end":                  chunk("a", 0, []byte("abcdef"), false),
		"of an unknown file":      chunk("../a", 0, []byte("abcdef"), true),
	}
	_, _, raw := made(t, 7, map[string][]byte{"a": []byte("abcdef"), "b": nil})
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			in, _ := inbox(t)
			r, err := in.Begin(raw)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Chunk(m); !errors.Is(err, transfer.ErrBadChunk) {
				t.Errorf("got %v, want %v", err, transfer.ErrBadChunk)
			}
			// What was received before counts, and the right one is taken.
			if err := r.Chunk(chunk("a", 0, []byte("abcdef"), true)); err != nil {
				t.Errorf("the right chunk: %v", err)
			}
			if _, err := r.Finish(); !errors.Is(err, transfer.ErrIncomplete) {
				t.Errorf("finish without b: got %v, want %v", err, transfer.ErrIncomplete)
			}
			if err := r.Chunk(chunk("b", 0, nil, true)); err != nil {
				t.Errorf("an empty file: %v", err)
			}
			if name, err := r.Finish(); err != nil || name == "" {
				t.Errorf("finish: got %q %v", name, err)
			}
		})
	}
}

func TestAStreamGoesOnWhereAnotherBroke(t *testing.T) {
	_, _, raw := made(t, 7, map[string][]byte{"a": []byte("abcdef"), "b": []byte("b")})
	in, fs := inbox(t)
	first, err := in.Begin(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err = first.Chunk(chunk("a", 0, []byte("abc"), false)); err != nil {
		t.Fatal(err)
	}
	second, err := in.Begin(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(second.Have) != 1 || second.Have[0].GetFile() != "a" || second.Have[0].GetSizeBytes() != 3 {
		t.Errorf("have: got %v, want 3 bytes of a", second.Have)
	}
	if err = first.Chunk(chunk("a", 3, []byte("def"), true)); !errors.Is(err, transfer.ErrSuperseded) {
		t.Errorf("the broken stream: got %v, want %v", err, transfer.ErrSuperseded)
	}
	if err = errors.Join(second.Chunk(chunk("a", 3, []byte("def"), true)), second.Chunk(chunk("b", 0, []byte("b"), true))); err != nil {
		t.Fatal(err)
	}
	name, err := second.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if _, err = checkpoint.Verify(fs, "/in/"+name); err != nil {
		t.Error(err)
	}
	// Another snapshot begins anew, and does not touch the one that is complete unless told to.
	_, _, other := made(t, 9, map[string][]byte{"a": []byte("x")})
	r, err := in.Begin(other)
	if err != nil || len(r.Have) != 0 {
		t.Fatalf("another snapshot: have %v, %v", r.Have, err)
	}
	names, err := fs.List("/in")
	if err != nil || len(names) != 2 {
		t.Errorf("in the inbox: got %v %v, want two", names, err)
	}
	if err = in.Clean(7); err != nil {
		t.Fatal(err)
	}
	if names, err = fs.List("/in"); err != nil || len(names) != 1 || slices.Contains(names, name) {
		t.Errorf("after cleaning: got %v %v, want the one under way", names, err)
	}
	damaged := bytes.Replace(raw, []byte(`"index": 7`), []byte(`"index": 8`), 1)
	if _, err = in.Begin(damaged); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("a damaged manifest: got %v, want %v", err, checkpoint.ErrInvalid)
	}
}

// stream hands what a sender sends to a function.
type stream struct {
	ctx  context.Context
	take func(m *peerv1.SendSnapshotRequest) error
	have []*peerv1.SnapshotFileProgress
	sent bool
	ends bool
}

func (s *stream) Send(m *peerv1.SendSnapshotRequest) error { return s.take(m) }

func (s *stream) CloseSend() error {
	s.ends = true
	return nil
}

func (s *stream) Recv() (*peerv1.SendSnapshotResponse, error) {
	if !s.sent {
		s.sent = true
		return &peerv1.SendSnapshotResponse{Have: s.have}, nil
	}
	if s.ends {
		return &peerv1.SendSnapshotResponse{Stored: true}, nil
	}
	<-s.ctx.Done()
	return nil, io.ErrUnexpectedEOF
}

// A snapshot that is complete belongs to whoever was told its name: another stream that brings the same one does not touch
// it, and it stays until the state has passed it.
func TestACompleteSnapshotStaysUntilItIsPassed(t *testing.T) {
	_, _, raw := made(t, 7, map[string][]byte{"a": []byte("abcdef")})
	in, fs := inbox(t)
	r, err := in.Begin(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err = r.Chunk(chunk("a", 0, []byte("abcdef"), true)); err != nil {
		t.Fatal(err)
	}
	first, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if r, err = in.Begin(raw); err != nil || r.MissingBytes != 0 {
		t.Fatalf("the same again: %d bytes are missing, %v, want none", r.MissingBytes, err)
	}
	second, err := r.Finish()
	if err != nil || second == first {
		t.Fatalf("got %q, %v, want another name than %q", second, err, first)
	}
	if err = in.Clean(6); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{first, second} {
		if _, err = checkpoint.Verify(fs, "/in/"+name); err != nil {
			t.Errorf("not passed yet: %v", err)
		}
	}
	if err = in.Clean(7); err != nil {
		t.Fatal(err)
	}
	if names, err := fs.List("/in"); err != nil || len(names) != 0 {
		t.Errorf("passed: got %v, %v, want nothing", names, err)
	}
}

// A sender skips what the receiver has, and is no faster than its pace.
func TestSendKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB
		fs, dir, _ := made(t, 7, map[string][]byte{"big": big, "done": []byte("d"), "empty": nil})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var got []byte
		var names []string
		s := &stream{ctx: ctx, have: []*peerv1.SnapshotFileProgress{
			{File: "done", SizeBytes: 1}, {File: "big", SizeBytes: 16},
		}}
		s.take = func(m *peerv1.SendSnapshotRequest) error {
			if len(m.GetManifest()) == 0 {
				names = append(names, m.GetFile())
				got = append(got, m.GetData()...)
			}
			return nil
		}
		begin := time.Now()
		err := transfer.Send(ctx, cancel, s, transfer.Source{FS: fs, Dir: dir, BytesPerSecond: 128 << 10})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, big[16:]) || slices.Contains(names, "done") || !slices.Contains(names, "empty") {
			t.Errorf("sent %d bytes of %v", len(got), slices.Compact(names))
		}
		if took := time.Since(begin); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("1 MiB at 128 KiB/s took %v", took)
		}
	})
}

// A receiver that takes nothing any more does not keep the sender for ever.
func TestSendGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, dir, _ := made(t, 7, map[string][]byte{"a": []byte("abcdef")})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		s := &stream{ctx: ctx, take: func(m *peerv1.SendSnapshotRequest) error {
			if len(m.GetData()) > 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		err := transfer.Send(ctx, cancel, s, transfer.Source{FS: fs, Dir: dir})
		if !errors.Is(err, transfer.ErrStalled) {
			t.Errorf("got %v, want %v", err, transfer.ErrStalled)
		}
	})
}
