package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

// backup answers with the bytes of a backup file. If it breaks in the middle so does the connection; a file that is cut
// off is found by `tenure backup verify`.
func (g *gateway) backup(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	caller := g.callers.OfText(r.RemoteAddr)
	if !g.streams.Take(caller, 1) {
		writeError(w, reason.Exceeds("rest_streams_max", restStreamsMax,
			"this member has no room for another stream over REST of %s now; all callers share %d", caller, restStreamsMax), g.log)
		return
	}
	defer g.streams.Give(caller, 1)
	ctx, cancel := context.WithCancelCause(outgoing(ctx, r))
	defer cancel(nil)
	defer endStream(r, cancel)()
	header, control := w.Header(), http.NewResponseController(w)
	// With HTTP/2 the server's own time for an answer would end a backup whose first part takes longer. Not every writer can tell.
	_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	stream, err := tenurev1.NewClusterServiceClient(g.conn).Backup(ctx, &tenurev1.BackupRequest{})
	var part *tenurev1.BackupResponse
	if err == nil {
		part, err = stream.Recv()
	}
	if err != nil {
		writeError(w, err, g.log)
		return
	}
	setRevision(header, part)
	header.Set("Content-Type", contentTypeBinary)
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", fmt.Sprintf("tenure-%d.backup", part.GetHeader().GetRevision())))
	for err == nil {
		// What a client leaves unread for too long is over.
		_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
		if _, err = w.Write(part.GetData()); err == nil {
			part, err = stream.Recv()
		}
	}
	if !errors.Is(err, io.EOF) {
		g.log.Debug("backup over REST broke", zap.Error(err))
		panic(http.ErrAbortHandler) // The one way to tell a client that the answer is not whole.
	}
}
