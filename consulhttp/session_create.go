package consulhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// What becomes of the keys of a session that ends, in Consul's words.
const (
	behaviorRelease = "release"
	behaviorDelete  = "delete"
)

const (
	lockDelayMax = 60 * time.Second
	// lockDelayUnit is what a lock-delay below it, in nanoseconds, counts: Consul takes such small ones for seconds.
	lockDelayUnit = 1000
	ttlBytesMax   = 64
)

// sessionBody is the body of a request to create a session.
type sessionBody struct {
	Name          string
	Node          string
	LockDelay     json.RawMessage
	Checks        json.RawMessage
	NodeChecks    *[]string
	ServiceChecks []serviceCheckJSON
	Behavior      string
	TTL           string
}

// createSession serves PUT /v1/session/create.
func (e *sessionEndpoints) createSession(ctx context.Context, q *request) (*reply.Answer, error) {
	data, err := q.Content()
	if err != nil {
		return nil, err
	}
	var body sessionBody
	if len(data) > 0 {
		if err = json.Unmarshal(data, &body); err != nil {
			return nil, reply.Refusal(http.StatusBadRequest, "Request decode failed: the body must be a JSON object as for Consul.")
		}
	}
	create := &tenurev1.CreateSessionRequest{Name: body.Name}
	if create.LockDelay, err = lockDelayOf(body.LockDelay); err != nil {
		return nil, err
	}
	if err = e.addTTL(create, body.TTL); err != nil {
		return nil, err
	}
	switch body.Behavior {
	case "", behaviorRelease:
		create.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE
	case behaviorDelete:
		create.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE
	default:
		return nil, reply.Refusal(http.StatusBadRequest, "Invalid Behavior setting '%s': it must be release or delete.", reply.Shown(body.Behavior))
	}
	if err = e.catalog.bind(ctx, &body, create); err != nil {
		return nil, err
	}
	created, err := e.sessions.CreateSession(ctx, create)
	if err != nil {
		return nil, unbound(create, err)
	}
	return &reply.Answer{JSON: struct{ ID string }{created.GetSessionId()}}, nil
}

// addTTL adds the TTL that a session asks for, and the one that it gets: clients count on Consul's doubling.
func (e *sessionEndpoints) addTTL(create *tenurev1.CreateSessionRequest, text string) error {
	if text == "" {
		return nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || len(text) > ttlBytesMax || ttl != 0 && (ttl < e.options.SessionTTLMin || ttl > sessionTTLMax) {
		return reply.Known(reply.Refusal(http.StatusInternalServerError, "Invalid Session TTL '%s': it must be a duration from %v to %v",
			reply.Shown(text), e.options.SessionTTLMin, sessionTTLMax))
	}
	create.Metadata = map[string]string{metadataTTL: text}
	if ttl != 0 {
		granted := time.Duration(math.Ceil(float64(ttl) * e.options.TTLFactor))
		create.Ttl = durationpb.New(min(granted, sessionTTLMax))
	}
	return nil
}

// lockDelayOf returns a lock-delay as clients of Consul write it; nil is the default.
func lockDelayOf(text json.RawMessage) (*durationpb.Duration, error) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	refused := reply.Refusal(http.StatusBadRequest, "Request decode failed: LockDelay must be a duration such as 15s, or a number of nanoseconds.")
	var delay time.Duration
	var written string
	var number float64
	switch {
	case json.Unmarshal(text, &written) == nil:
		if written == "" {
			return nil, nil
		}
		var err error
		if delay, err = time.ParseDuration(written); err != nil {
			return nil, refused
		}
	case json.Unmarshal(text, &number) == nil:
		if number < 0 || number > math.MaxInt64/2 {
			return nil, refused
		}
		delay = time.Duration(number)
	default:
		return nil, refused
	}
	switch {
	case delay < 0:
		return nil, refused
	case delay < lockDelayUnit:
		delay = time.Duration(delay.Nanoseconds()) * time.Second
	}
	delay = min(delay, lockDelayMax)
	// It is kept in milliseconds, and must not become none.
	return durationpb.New((delay + time.Millisecond - 1).Truncate(time.Millisecond)), nil
}
