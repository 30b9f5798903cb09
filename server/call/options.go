package call

import (
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/reason"
)

// OptionUse says which options a request has a use for; the others are refused rather than ignored.
type OptionUse struct {
	// Session means session_secret and epoch: the request acts as a session. One that takes a request id does when it is
	// given.
	Session bool
	Owner   bool
	Force   bool
	Reason  bool
	Guards  bool
	Request bool // request_id
	Key     bool // idempotency_key
}

// CheckOptions refuses options that the request has no use for, and malformed ones.
func CheckOptions(o *tenurev1.CallOptions, use OptionUse) error {
	if o == nil {
		return nil
	}
	session := use.Session || use.Request && o.GetRequestId() != nil
	for _, option := range []struct {
		name        string
		given, used bool
	}{
		{"session_secret", len(o.GetSessionSecret()) > 0, session},
		{"epoch", o.GetEpoch() != 0, session},
		{"request_id", o.GetRequestId() != nil, use.Request},
		{"idempotency_key", len(o.GetIdempotencyKey()) > 0, use.Key},
		{"guards", len(o.GetGuards()) > 0, use.Guards},
		{"owner", o.GetOwner() != "", use.Owner},
		{"force", o.GetForce(), use.Force},
		{"reason", o.GetReason() != "", use.Reason},
	} {
		if option.given && !option.used {
			return reason.Invalid("options."+option.name, "has no effect in this request")
		}
	}
	if n := len(o.GetSessionSecret()); n != 0 && n != gate.SecretBytes {
		return reason.Invalid("options.session_secret", "must be exactly %d bytes", gate.SecretBytes)
	}
	if err := CheckText("options.owner", o.GetOwner(), OwnerBytesMax); err != nil {
		return err
	}
	if n := len(o.GetGuards()); n > GuardsMax {
		return reason.Invalid("options.guards", "has %d entries; at most %d are allowed", n, GuardsMax)
	}
	if o.GetRequestId() != nil && len(o.GetIdempotencyKey()) > 0 {
		return reason.Invalid("options.idempotency_key", "must not be given together with request_id")
	}
	if n := len(o.GetIdempotencyKey()); n != 0 && (n < IdempotencyKeyBytesMin || n > IdempotencyKeyBytesMax) {
		return reason.Invalid("options.idempotency_key", "must be %d to %d bytes, random", IdempotencyKeyBytesMin, IdempotencyKeyBytesMax)
	}
	return nil
}

// OpOptions returns the options of an operation of a transaction, completed by the transaction's own where the operation
// uses them. What belongs to the transaction as a whole must not stand with one operation.
func OpOptions(outer, inner *tenurev1.CallOptions, use OptionUse) (*tenurev1.CallOptions, error) {
	if len(inner.GetGuards()) > 0 {
		return nil, reason.Invalid("options.guards", "belong to the transaction, or to a check operation")
	}
	if err := CheckOptions(inner, use); err != nil {
		return nil, err
	}
	out := &tenurev1.CallOptions{
		SessionSecret: inner.GetSessionSecret(), Epoch: inner.GetEpoch(), Owner: inner.GetOwner(),
		Force: inner.GetForce(), Reason: inner.GetReason(),
		RequestId: outer.GetRequestId(), IdempotencyKey: outer.GetIdempotencyKey(),
	}
	if !use.Session {
		return out, nil
	}
	if len(out.GetSessionSecret()) == 0 {
		out.SessionSecret = outer.GetSessionSecret()
	}
	if out.GetEpoch() == 0 {
		out.Epoch = outer.GetEpoch()
	}
	return out, nil
}
