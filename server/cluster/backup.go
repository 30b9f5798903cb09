package cluster

import (
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/storage"
)

// backupPartBytes is how large a part of a backup is at most.
const backupPartBytes = 256 << 10

// Backup serves ClusterService. It sends what was committed when the call came, while the member goes on; the store keeps
// that until the call ends: a client that does not read is given up.
func (a *Service) Backup(_ *tenurev1.BackupRequest, stream grpc.ServerStreamingServer[tenurev1.BackupResponse]) error {
	ctx := stream.Context()
	s, err := a.Reader(ctx, nil)
	if err != nil {
		return err
	}
	defer a.CloseSnapshot(s)
	began := time.Now()
	sender := call.NewHeldSender(stream.Send, a.PatienceWithClients())
	defer sender.Close()
	out := &backupParts{header: a.Header(s.At), send: func(part *tenurev1.BackupResponse) error { return sender.Send(ctx, part) }}
	err = storage.WriteBackup(out, s.Reader, storage.BackupMeta{
		CreateTimeMs: began.UnixMilli(), BinaryVersion: a.self.Version, Member: a.self.Name,
	})
	if err != nil {
		return err
	}
	a.Log.Info("backup taken", zap.Uint64("revision", s.At.Revision), zap.Int64("bytes", out.bytes),
		zap.Duration("took", time.Since(began)), zap.String("by", gate.Address(ctx)))
	return nil
}

// backupParts sends what is written to it in parts.
type backupParts struct {
	send   func(*tenurev1.BackupResponse) error
	header *tenurev1.ResponseHeader // of the first part; nil after
	bytes  int64
}

// Write sends data, and returns when it may be used again.
func (b *backupParts) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := min(len(rest), backupPartBytes)
		if err := b.send(&tenurev1.BackupResponse{Header: b.header, Data: rest[:n]}); err != nil {
			return len(data) - len(rest), err
		}
		b.header, rest = nil, rest[n:]
		b.bytes += int64(n)
	}
	return len(data), nil
}
