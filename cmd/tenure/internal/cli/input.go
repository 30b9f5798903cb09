package cli

import (
	"context"
	"io"
)

// inputPartBytes is how much of standard input is read at a time.
const inputPartBytes = 32 << 10

// Input returns standard input for a command that reads it itself. When ctx ends, so does a read, with an ExitError that says no more.
func (e *Environment) Input(ctx context.Context) io.Reader {
	return &input{ctx: ctx, from: e.Stdin, part: make([]byte, inputPartBytes)}
}

// input is standard input until a context ends.
type input struct {
	ctx  context.Context //nolint:containedctx // The command's, which reads nothing else after it.
	from io.Reader
	part []byte // Belongs to the read that is under way, also after ctx ended.
}

// Read waits for the next part. Nothing can stop a read of a terminal or pipe: it is left alone when ctx ends, and the program ends without it.
func (i *input) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, SilentExit(ExitInterrupted)
	}
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	part := i.part[:min(len(p), len(i.part))]
	go func() {
		n, err := i.from.Read(part)
		done <- outcome{n, err}
	}()
	select {
	case o := <-done:
		return copy(p, part[:o.n]), o.err
	case <-i.ctx.Done():
		return 0, SilentExit(ExitInterrupted)
	}
}
