package renewal

import (
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/access"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/renewal/core"
	"github.com/tenure-io/tenure/storage"
)

const (
	// sessionTextBytes is the length of a session id as text.
	sessionTextBytes = 36
	// echoedSessionBytesMax is how much is echoed of a text in the place of a session id that is none.
	echoedSessionBytesMax = 64
)

// askedRenewals returns what a stream keeps of a client's message until it is answered. It is small, whatever the client sent:
// of a text that is too long for a session id the beginning, and of a secret of a wrong length, which is wrong for every
// session that has one, nothing. grant says which of them are denied, and
// below when that was decided.
func askedRenewals(request *tenurev1.KeepAliveRequest, grant *access.Grant, below uint64) []core.Asked {
	asked := make([]core.Asked, len(request.GetRenewals()))
	for i, r := range request.GetRenewals() {
		id, ok := storage.SessionIDOf(r.GetSessionId())
		asked[i] = core.Asked{Session: r.GetSessionId(), ID: id, Invalid: !ok, Number: r.GetNumber(), Epoch: r.GetEpoch()}
		asked[i].Denied, asked[i].AuthorisedBelow = grant.Denies(r.GetSessionId()), below
		if len(r.GetSessionId()) > sessionTextBytes {
			short := r.GetSessionId()[:min(len(r.GetSessionId()), echoedSessionBytesMax)]
			asked[i].Session = strings.ToValidUTF8(strings.Clone(short), "")
		}
		if len(r.GetSecret()) == gate.SecretBytes {
			asked[i].Secret = r.GetSecret()
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

// guarded makes an error of a panic of a goroutine that serves a call.
func guarded(log *zap.Logger, serve func() error) (err error) {
	defer gate.Recovered(log, "a stream", &err)
	return serve()
}
