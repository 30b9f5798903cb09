package consulhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	"github.com/tenure-io/tenure/consulhttp/wire"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// registerMax is how long a session waits for the first registration of the node of its agent.
const registerMax = 5 * time.Second

// Texts that programs look for, about what a session is bound to.
const (
	textNoNode        = "Missing node registration"
	textNoCheck       = "Missing check '%s' registration"
	textCheckCritical = "Check '%s' is in critical state"
)

// bind adds the node and the checks that a new session is bound to.
func (c *catalog) bind(ctx context.Context, body *sessionBody, create *tenurev1.CreateSessionRequest) error {
	checks, byDefault, err := checksOf(body)
	if err != nil {
		return err
	}
	name := body.Node
	if name == "" {
		// Errors may name the node that answers, so that is for those who have any right.
		if _, err = c.members(ctx); err != nil {
			return err
		}
		if name, err = c.ownNode(ctx); err != nil {
			return err
		}
	}
	n, err := c.wholeNode(ctx, name, ask.Leader)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT {
		n, err = &wholeNode{}, nil // No node has such a name; a member may.
	}
	if err != nil {
		return err
	}
	if n.node == nil && body.Node == "" && c.options.Agent != nil {
		if n, err = c.registered(ctx, name); err != nil {
			return err
		}
	}
	create.Node = n.node.GetName()
	if n.node == nil {
		// A member belongs to the cluster without being registered.
		members, err := c.members(ctx)
		if err != nil {
			return err
		}
		member := members.named(name)
		switch {
		case member == "":
			return reply.Known(reply.Refusal(http.StatusInternalServerError, textNoNode))
		case len(checks) > 0:
			return reply.Known(reply.Refusal(http.StatusInternalServerError, textNoCheck, reply.Shown(wire.CheckName(checks[0]))))
		}
		create.Node = member
	}
	hasLiveness := slices.ContainsFunc(n.checks, func(k *tenurev1.Check) bool { return k.GetCheckId() == wire.Liveness })
	switch {
	case byDefault && len(checks) == 0:
		return nil // The cluster does the same.
	case byDefault && (hasLiveness || n.node.GetGossipAddress() != ""):
		checks = append(checks, wire.Liveness)
	}
	slices.Sort(checks)
	create.Checks = &tenurev1.SessionChecks{NodeChecks: slices.Compact(checks)}
	return nil
}

// registered waits for a while until the agent has registered its node for the first time.
func (c *catalog) registered(ctx context.Context, name string) (*wholeNode, error) {
	waiting, cancel := context.WithTimeout(ctx, registerMax)
	defer cancel()
	c.options.Agent.Settled(waiting)
	return c.wholeNode(ctx, name, ask.Leader)
}

// unbound returns the error of a session that could not be created, as Consul says it.
func unbound(create *tenurev1.CreateSessionRequest, err error) error {
	text := reply.MessageOf(err)
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_NODE_NOT_FOUND:
		return reply.Known(reply.Refusal(http.StatusInternalServerError, textNoNode))
	case tenurev1.ErrorReason_ERROR_REASON_CHECK_NOT_FOUND:
		check := named(create, func(id string) bool { return strings.HasSuffix(text, "no check "+strconv.Quote(id)) })
		return reply.Known(reply.Refusal(http.StatusInternalServerError, textNoCheck, check))
	case tenurev1.ErrorReason_ERROR_REASON_CHECK_CRITICAL:
		check := named(create, func(id string) bool { return strings.HasPrefix(text, "check "+strconv.Quote(id)) })
		return reply.Known(reply.Refusal(http.StatusInternalServerError, textCheckCritical, check))
	default:
		return err
	}
}

// named returns the check of a new session that an error is about; without one, it is what gossip says of the node.
func named(create *tenurev1.CreateSessionRequest, is func(id string) bool) string {
	for _, id := range create.GetChecks().GetNodeChecks() {
		if is(id) {
			return reply.Shown(wire.CheckName(id))
		}
	}
	return wire.SerfHealth
}

// checksOf returns the checks that a session names, by Tenure's ids, and whether what gossip says of its node is added to them.
func checksOf(body *sessionBody) (checks []string, byDefault bool, _ error) {
	var legacy []string
	given := len(body.Checks) > 0
	if given {
		if err := json.Unmarshal(body.Checks, &legacy); err != nil {
			return nil, false, reply.Refusal(http.StatusBadRequest, "Request decode failed: Checks must be a list of names.")
		}
	}
	var node []string
	if body.NodeChecks != nil {
		node = *body.NodeChecks
	}
	var names []string
	switch {
	case given && len(legacy) == 0:
	case !given:
		names, byDefault = node, body.NodeChecks == nil
	case len(legacy) == 1 && legacy[0] == wire.SerfHealth:
		names = node
		if body.NodeChecks == nil {
			names = legacy
		}
	case body.NodeChecks != nil && len(node) == 0:
	default:
		names, byDefault = slices.Concat(legacy, node), body.NodeChecks == nil
	}
	for _, k := range body.ServiceChecks {
		names = append(names, k.ID)
	}
	for _, name := range names {
		id, err := wire.CheckID(name)
		if err != nil {
			return nil, false, reply.Refusal(http.StatusBadRequest, "%v", err)
		}
		checks = append(checks, id)
	}
	return checks, byDefault, nil
}
