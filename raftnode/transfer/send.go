package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	peerv1 "github.com/tenure-io/tenure/gen/go/tenure/peer/v1"
	"github.com/tenure-io/tenure/raftnode/checkpoint"
)

const (
	// chunkBytesMax bounds the data of one message.
	chunkBytesMax = 256 << 10
	// burst is how far a sender may be ahead of its pace.
	burst = 100 * time.Millisecond
	// stallMax is how long one step of the other side may take.
	stallMax = 30 * time.Second
	// verifyBytesPerSecond is the slowest a receiver is expected to check what it received.
	verifyBytesPerSecond = 8 << 20
)

// Stream is the sender's end of a transfer.
type Stream interface {
	Send(m *peerv1.SendSnapshotRequest) error
	Recv() (*peerv1.SendSnapshotResponse, error)
	CloseSend() error
}

// Source is what a sender sends.
type Source struct {
	// FS holds the checkpoint, Dir is its directory.
	FS  vfs.FS
	Dir string
	// Message announces the snapshot; opaque here.
	Message []byte
	// BytesPerSecond is the pace; 0 is none.
	BytesPerSecond int64
	// Sent is told of every chunk.
	Sent func(bytes int)
	// Begun is told once how much of the snapshot the receiver has already.
	Begun func(present int64)
}

// Send carries a checkpoint over a stream whose context is ctx, and returns once the receiver has it on stable storage.
// cancel ends the stream; Send calls it when the other side stalls.
func Send(ctx context.Context, cancel context.CancelCauseFunc, s Stream, src Source) error {
	raw, m, err := checkpoint.ReadManifestRaw(src.FS, src.Dir)
	if err != nil {
		return err
	}
	w := time.AfterFunc(stallMax, func() { cancel(ErrStalled) })
	defer w.Stop()
	c := &sender{ctx: ctx, stream: s, src: src, watchdog: w, pace: pace{bytesPerSecond: src.BytesPerSecond}}
	if err = c.send(&peerv1.SendSnapshotRequest{Message: src.Message, Manifest: raw}); err != nil {
		return err
	}
	// A receiver that installs the snapshot before takes this one up when it is done, so that it has that to begin with.
	whole := stallMax + time.Duration(m.SizeBytes()/verifyBytesPerSecond)*time.Second
	answer, err := c.recv(whole)
	if err != nil {
		return err
	}
	have, present := map[string]uint64{}, int64(0)
	for _, f := range answer.GetHave() {
		have[f.GetFile()] = f.GetSizeBytes()
		present += int64(f.GetSizeBytes())
	}
	if src.Begun != nil {
		src.Begun(present)
	}
	for _, f := range m.Files {
		if err = c.file(f, have); err != nil {
			return err
		}
	}
	if err = s.CloseSend(); err != nil {
		return fmt.Errorf("end snapshot: %w", err)
	}
	c.allow(whole)
	for !answer.GetStored() {
		if answer, err = s.Recv(); err != nil {
			return c.explain("wait for the receiver", err)
		}
	}
	return nil
}

// sender is one transfer under way.
type sender struct {
	ctx      context.Context //nolint:containedctx // It lives as long as one call of Send.
	stream   Stream
	src      Source
	watchdog *time.Timer
	pace     pace
}

// allow gives the other side so much time for its next step.
func (c *sender) allow(d time.Duration) { c.watchdog.Reset(d) }

func (c *sender) send(m *peerv1.SendSnapshotRequest) error {
	c.allow(stallMax)
	err := c.stream.Send(m)
	if errors.Is(err, io.EOF) {
		// The receiver ended the stream; why is in its last answer.
		for err = nil; err == nil; {
			_, err = c.stream.Recv()
		}
	}
	if err != nil {
		return c.explain("send", err)
	}
	return nil
}

func (c *sender) recv(allowed time.Duration) (*peerv1.SendSnapshotResponse, error) {
	c.allow(allowed)
	m, err := c.stream.Recv()
	if err != nil {
		return nil, c.explain("wait for the receiver", err)
	}
	return m, nil
}

// explain says why a stream that was cancelled was.
func (c *sender) explain(what string, err error) error {
	if cause := context.Cause(c.ctx); cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// file sends what the receiver does not have of one file.
func (c *sender) file(f checkpoint.File, have map[string]uint64) (err error) {
	size := uint64(f.SizeBytes)
	offset, begun := have[f.Name]
	if begun && offset == size {
		return nil
	}
	in, err := c.src.FS.Open(c.src.FS.PathJoin(checkpoint.DataPath(c.src.FS, c.src.Dir), f.Name))
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	buf := make([]byte, min(size, chunkBytesMax))
	for done := false; !done; {
		data := buf[:min(size-min(offset, size), uint64(len(buf)))]
		if len(data) > 0 {
			if _, err := in.ReadAt(data, int64(offset)); err != nil {
				return fmt.Errorf("read %s: %w", f.Name, err)
			}
		}
		if err := c.pace.wait(c.ctx, len(data)); err != nil {
			return c.explain("wait", err)
		}
		done = offset+uint64(len(data)) >= size
		// A stream may keep the message after Send, so each has bytes of its own.
		err := c.send(&peerv1.SendSnapshotRequest{
			File: f.Name, Offset: offset, Data: append([]byte(nil), data...), Crc32C: crc32.Checksum(data, castagnoli), Last: done,
		})
		if err != nil {
			return err
		}
		offset += uint64(len(data))
		if c.src.Sent != nil {
			c.src.Sent(len(data))
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pace spreads bytes over time.
type pace struct {
	bytesPerSecond int64
	due            time.Time // when what was sent so far should have been
}

// wait returns when so many more bytes may go.
func (p *pace) wait(ctx context.Context, bytes int) error {
	if p.bytesPerSecond <= 0 {
		return ctx.Err()
	}
	now := time.Now()
	if p.due.Before(now) {
		p.due = now
	}
	p.due = p.due.Add(time.Duration(int64(bytes) * int64(time.Second) / p.bytesPerSecond))
	ahead := p.due.Sub(now) - burst
	if ahead <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(ahead)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
