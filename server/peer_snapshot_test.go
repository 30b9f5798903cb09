package server_test

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
)

// sendSnapshot sends requests on a stream of a snapshot, and returns how the member ended it.
func (p peerCaller) sendSnapshot(ctx context.Context, requests ...*peerv1.SendSnapshotRequest) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := peerv1.NewPeerServiceClient(p.conn).SendSnapshot(ctx)
	if err != nil {
		return err
	}
	for _, r := range requests {
		_ = stream.Send(r) // What fails is seen when it is read.
	}
	_ = stream.CloseSend() // The same.
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
}

// snapshotMessage is the raft message that announces a snapshot of an index in a term.
func (p peerCaller) snapshotMessage(t *testing.T, index, term uint64) []byte {
	t.Helper()
	md, _ := metadata.FromOutgoingContext(p.ctx)
	to, err := strconv.ParseUint(md.Get("tenure-peer-to")[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	number := func(raw []byte, field protowire.Number, n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(raw, field, protowire.VarintType), n)
	}
	inside := func(raw []byte, field protowire.Number, message []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(raw, field, protowire.BytesType), message)
	}
	meta := number(number(nil, 2, index), 3, term)
	// A raftpb.Message: type (7 is a snapshot), to, term, and the snapshot with its metadata.
	return inside(number(number(number(nil, 1, 7), 2, to), 4, term), 9, inside(nil, 2, meta))
}

// snapshotManifest is a manifest of one file, with its checksum.
func snapshotManifest(t *testing.T, index, term uint64, file string) []byte {
	t.Helper()
	m := &checkpoint.Manifest{Format: 1, Index: index, Term: term, Files: []checkpoint.File{{Name: file, SizeBytes: 1}}}
	var raw []byte
	for range 2 { // The checksum is that of the manifest with a zero in its place.
		m.CRC32C = crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli))
		var err error
		if raw, err = json.MarshalIndent(m, "", " "); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// TestMalformedSnapshotsAreRefused offers snapshots that are none to a member, as another member: it refuses them as what
// they are, shortly, and goes on.
func TestMalformedSnapshotsAreRefused(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	p := c.asFollower(t)
	const index = 1 << 40
	message, long := p.snapshotMessage(t, index, 1), strings.Repeat("f", 1<<20)
	for name, requests := range map[string][]*peerv1.SendSnapshotRequest{
		"nothing":                    nil,
		"an empty request":           {{}},
		"a message that is none":     {{Message: []byte{0xff}}},
		"a message without manifest": {{Message: message}},
		"a manifest that is none":    {{Message: message, Manifest: []byte("{")}},
		"a manifest of another index": {{
			Message: message, Manifest: snapshotManifest(t, index+1, 1, "f"),
		}},
		"a file that is elsewhere": {{Message: message, Manifest: snapshotManifest(t, index, 1, "../"+long)}},
		"a chunk of another file": {
			{Message: message, Manifest: snapshotManifest(t, index, 1, "f")}, {File: long, Data: []byte("x"), Last: true},
		},
		"no chunks": {{Message: message, Manifest: snapshotManifest(t, index, 1, "f")}},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.sendSnapshot(p.ctx, requests...)
			if status.Code(err) != codes.InvalidArgument || len(status.Convert(err).Message()) > 1024 {
				t.Errorf("got %.2000v, want a short %v", err, codes.InvalidArgument)
			}
		})
	}
	if _, err := p.leader.GetStatus(t.Context(), &tenurev1.GetStatusRequest{}); err != nil {
		t.Errorf("the member: %v", err)
	}
}
