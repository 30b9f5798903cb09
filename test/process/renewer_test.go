package process_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// renewer renews many sessions over one KeepAlive stream, each about three times in a TTL.
type renewer struct {
	stream   grpc.BidiStreamingClient[tenurev1.KeepAliveRequest, tenurev1.KeepAliveResponse]
	interval time.Duration
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	mu       sync.Mutex // guards what follows
	sessions map[string]*renewedSession
	dropped  map[string]*renewedSession
	rounds   map[uint64]time.Time // when the renewals of a round were sent
	round    uint64
	renewed  int
	refused  []string
	err      error
}

func startRenewer(ctx context.Context, t *testing.T, conn *grpc.ClientConn, ttl time.Duration) *renewer {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	stream, err := tenurev1.NewSessionServiceClient(conn).KeepAlive(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	r := &renewer{
		stream: stream, interval: ttl / 3, cancel: cancel,
		sessions: map[string]*renewedSession{}, dropped: map[string]*renewedSession{}, rounds: map[uint64]time.Time{},
	}
	r.wg.Go(func() { r.fail(r.send(ctx)) })
	r.wg.Go(func() { r.fail(r.receive()) })
	t.Cleanup(func() { cancel(); r.wg.Wait() })
	return r
}

func (r *renewer) add(s renewedSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[s.id] = &s
}

// drop stops renewing one session and returns its id. A renewal of it that is under way still counts; see last.
func (r *renewer) drop() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.sessions {
		delete(r.sessions, id)
		r.dropped[id] = s
		return id
	}
	return ""
}

// last returns what is known of a dropped session's last acknowledged renewal.
func (r *renewer) last(id string) renewedSession {
	r.mu.Lock()
	defer r.mu.Unlock()
	return *r.dropped[id]
}

func (r *renewer) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.renewed
}

// stop ends the stream and returns what went wrong with it, if anything did.
func (r *renewer) stop() error {
	r.cancel()
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.refused) > 0 {
		return errors.New("renewals were refused: " + r.refused[0])
	}
	return r.err
}

func (r *renewer) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

func (r *renewer) send(ctx context.Context) error {
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for {
		for _, msg := range r.nextRound() {
			if err := r.stream.Send(msg); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r.stream.CloseSend()
		}
	}
}

// nextRound makes the messages that renew every session once.
func (r *renewer) nextRound() []*tenurev1.KeepAliveRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round++
	r.rounds[r.round] = time.Now()
	var out []*tenurev1.KeepAliveRequest
	msg := &tenurev1.KeepAliveRequest{}
	for id := range r.sessions {
		msg.Renewals = append(msg.Renewals, &tenurev1.SessionRenewal{SessionId: id, Number: r.round})
		if len(msg.GetRenewals()) == sessionsPerMessage {
			out, msg = append(out, msg), &tenurev1.KeepAliveRequest{}
		}
	}
	if len(msg.GetRenewals()) > 0 {
		out = append(out, msg)
	}
	return out
}

func (r *renewer) receive() error {
	for {
		msg, err := r.stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) || r.stream.Context().Err() != nil {
				err = nil
			}
			return err
		}
		r.note(msg, time.Now())
	}
}

func (r *renewer) note(msg *tenurev1.KeepAliveResponse, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range msg.GetVerdicts() {
		if v.GetRefused() != tenurev1.ErrorReason_ERROR_REASON_UNSPECIFIED {
			r.refused = append(r.refused, v.GetSessionId()+": "+v.GetRefused().String())
			continue
		}
		r.renewed++
		s := r.sessions[v.GetSessionId()]
		if s == nil {
			s = r.dropped[v.GetSessionId()]
		}
		if s != nil {
			s.sent, s.answered = r.rounds[v.GetNumber()], now
		}
	}
}
