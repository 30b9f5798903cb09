package consulhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// What becomes of the keys of a session that ends, in Consul's words.
const (
	behaviorRelease = "release"
	behaviorDelete  = "delete"
)

// checkLiveness is the check of a node that gossip makes, by Consul's name.
const checkLiveness = "serfHealth"

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
func (h *handler) createSession(ctx context.Context, q *request) (*answer, error) {
	data, err := q.body()
	if err != nil {
		return nil, err
	}
	var body sessionBody
	if len(data) > 0 {
		if err = json.Unmarshal(data, &body); err != nil {
			return nil, refusal(http.StatusBadRequest, "Request decode failed: the body must be a JSON object as for Consul.")
		}
	}
	create := &tenurev1.CreateSessionRequest{Name: body.Name, Checks: &tenurev1.SessionChecks{}}
	if create.LockDelay, err = lockDelayOf(body.LockDelay); err != nil {
		return nil, err
	}
	if err = h.addTTL(create, body.TTL); err != nil {
		return nil, err
	}
	switch body.Behavior {
	case "", behaviorRelease:
		create.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_RELEASE
	case behaviorDelete:
		create.Behavior = tenurev1.SessionBehavior_SESSION_BEHAVIOR_DELETE
	default:
		return nil, refusal(http.StatusBadRequest, "Invalid Behavior setting '%s': it must be release or delete.", shown(body.Behavior))
	}
	if create.Node, err = h.nodeOf(ctx, body.Node); err != nil {
		return nil, err
	}
	checks, err := checksOf(&body)
	if err != nil {
		return nil, err
	}
	if len(checks) > 0 {
		// There are no checks yet, so none of them is registered.
		return nil, known(refusal(http.StatusInternalServerError, "Missing check '%s' registration", shown(checks[0])))
	}
	created, err := h.sessions.CreateSession(ctx, create)
	if err != nil {
		return nil, err
	}
	return &answer{json: struct{ ID string }{created.GetSessionId()}}, nil
}

// nodeOf returns the name of the node that a session belongs to; this one's if none is named.
func (h *handler) nodeOf(ctx context.Context, node string) (string, error) {
	members, err := h.members(ctx)
	if err != nil {
		return "", err
	}
	if node == "" {
		return members.self.GetName(), nil
	}
	for _, m := range members.all {
		if strings.EqualFold(m.GetName(), node) {
			return m.GetName(), nil
		}
	}
	return "", known(refusal(http.StatusInternalServerError, "Missing node registration"))
}

// nodeNamed returns a node's name as it is written in sessions.
func (h *handler) nodeNamed(ctx context.Context, node string) (string, error) {
	members, err := h.members(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range members.all {
		if strings.EqualFold(m.GetName(), node) {
			return m.GetName(), nil
		}
	}
	return node, nil
}

// addTTL adds the TTL that a session asks for, and the one that it gets: clients count on Consul's doubling.
func (h *handler) addTTL(create *tenurev1.CreateSessionRequest, text string) error {
	if text == "" {
		return nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || len(text) > ttlBytesMax || ttl != 0 && (ttl < h.options.SessionTTLMin || ttl > sessionTTLMax) {
		return known(refusal(http.StatusInternalServerError, "Invalid Session TTL '%s': it must be a duration from %v to %v",
			shown(text), h.options.SessionTTLMin, sessionTTLMax))
	}
	create.Metadata = map[string]string{metadataTTL: text}
	if ttl != 0 {
		granted := time.Duration(math.Ceil(float64(ttl) * h.options.TTLFactor))
		create.Ttl = durationpb.New(min(granted, sessionTTLMax))
	}
	return nil
}

// lockDelayOf returns a lock-delay as clients of Consul write it; nil is the default.
func lockDelayOf(text json.RawMessage) (*durationpb.Duration, error) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	refused := refusal(http.StatusBadRequest, "Request decode failed: LockDelay must be a duration such as 15s, or a number of nanoseconds.")
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

// checksOf returns the checks that a session names. Without gossip, the check that Consul adds to those who name none does
// not exist, and is left out.
func checksOf(body *sessionBody) ([]string, error) {
	var legacy []string
	given := len(body.Checks) > 0
	if given {
		if err := json.Unmarshal(body.Checks, &legacy); err != nil {
			return nil, refusal(http.StatusBadRequest, "Request decode failed: Checks must be a list of names.")
		}
	}
	var node []string
	if body.NodeChecks != nil {
		node = *body.NodeChecks
	}
	var checks []string
	switch {
	case given && len(legacy) == 0:
	case !given:
		checks = node
	case len(legacy) == 1 && legacy[0] == checkLiveness:
		checks = node
		if body.NodeChecks == nil {
			checks = legacy
		}
	case body.NodeChecks != nil && len(node) == 0:
	default:
		checks = append(legacy, node...)
	}
	for _, c := range body.ServiceChecks {
		checks = append(checks, c.ID)
	}
	return checks, nil
}
