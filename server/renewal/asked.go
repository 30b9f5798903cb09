package renewal

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/gate"
)

const (
	// sessionTextBytes is the length of a session id as text.
	sessionTextBytes = 36
	// echoedSessionBytesMax is how much is echoed of a text in the place of a session id that is none.
	echoedSessionBytesMax = 64
)

// askedRenewal is what a stream keeps of a renewal until it is answered. It is small, whatever the client sent.
type askedRenewal struct {
	session       string // as the client wrote it, so that it finds its own; the beginning of it if it is too long
	number, epoch uint64
	secret        []byte // nil for one of a wrong length, which is wrong for every session that has one
}

// askedRenewals returns what a stream keeps of a message.
func askedRenewals(request *tenurev1.KeepAliveRequest) []askedRenewal {
	asked := make([]askedRenewal, len(request.GetRenewals()))
	for i, r := range request.GetRenewals() {
		asked[i] = askedRenewal{session: r.GetSessionId(), number: r.GetNumber(), epoch: r.GetEpoch()}
		if len(r.GetSessionId()) > sessionTextBytes {
			short := r.GetSessionId()[:min(len(r.GetSessionId()), echoedSessionBytesMax)]
			asked[i].session = strings.ToValidUTF8(strings.Clone(short), "")
		}
		if len(r.GetSecret()) == gate.SecretBytes {
			asked[i].secret = r.GetSecret()
		}
	}
	return asked
}

// unreadAlarm rings when a client has left a message unread for too long. One goroutine sends.
type unreadAlarm struct {
	patience time.Duration
	rang     chan struct{} // closed when it rings
	timer    *time.Timer
}

func newUnreadAlarm(patience time.Duration) *unreadAlarm {
	u := &unreadAlarm{patience: patience, rang: make(chan struct{})}
	ring := sync.OnceFunc(func() { close(u.rang) })
	u.timer = time.AfterFunc(patience, ring)
	u.timer.Stop()
	return u
}

// during sends a message; the alarm rings if that takes too long.
func (u *unreadAlarm) during(send func() error) error {
	u.timer.Reset(u.patience)
	defer u.timer.Stop()
	return send()
}

// stop keeps the alarm from ringing.
func (u *unreadAlarm) stop() { u.timer.Stop() }

// transmit sends an answer.
func (k *keeper) transmit(answer *tenurev1.KeepAliveResponse) error {
	return k.unread.during(func() error { return k.stream.Send(answer) })
}

// guarded makes an error of a panic of a goroutine that serves a call.
func guarded(log *zap.Logger, serve func() error) (err error) {
	defer gate.Recovered(log, "a stream", &err)
	return serve()
}
