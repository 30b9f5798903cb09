package consulhttp

import (
	"context"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// keyBytesMax is how long a key may be.
const keyBytesMax = 1024

// textNoKey is the text for a request that names no key.
const textNoKey = "Missing key name"

// keyJSON is a key as Consul shows it.
type keyJSON struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte // nil if it is empty: clients tell null and "" apart
	Session     string `json:",omitempty"`
	CreateIndex uint64
	ModifyIndex uint64
}

// keyOf returns a key as Consul shows it.
func keyOf(kv *tenurev1.KeyValue) keyJSON {
	k := keyJSON{
		LockIndex: kv.GetLockIndex(), Key: kv.GetKey(), Flags: kv.GetFlags(), Session: kv.GetSessionId(),
		CreateIndex: kv.GetCreateRevision(), ModifyIndex: kv.GetModRevision(),
	}
	if len(kv.GetValue()) > 0 {
		k.Value = kv.GetValue()
	}
	return k
}

// keyEndpoints serve keys.
type keyEndpoints struct{ *core }

// routes returns the paths of keys.
func (e *keyEndpoints) routes() []route {
	return []route{{path: "kv/", methods: map[string]serveFunc{
		http.MethodGet: e.getKeys, http.MethodPut: e.putKey, http.MethodDelete: e.deleteKeys,
	}}}
}

// getKeys serves GET /v1/kv/KEY.
func (e *keyEndpoints) getKeys(ctx context.Context, q *request) (*reply.Answer, error) {
	if err := checkKey(q.Rest); err != nil {
		return nil, err
	}
	r, err := q.read()
	if err != nil {
		return nil, err
	}
	switch {
	case q.Has("keys"):
		return e.listKeys(ctx, q, r)
	case q.Has("recurse"):
		return e.listRows(ctx, q, r)
	case q.Rest == "":
		return nil, reply.Refusal(http.StatusBadRequest, textNoKey)
	default:
		return e.getKey(ctx, q, r)
	}
}

// read returns what a request says about its read.
func (q *request) read() (read, error) {
	r := read{request: q}
	var err error
	if r.consistency, err = q.Consistency(); err != nil {
		return read{}, err
	}
	r.blocking, err = q.blocking()
	return r, err
}

// getKey answers with one key.
func (e *keyEndpoints) getKey(ctx context.Context, q *request, r read) (*reply.Answer, error) {
	r.selection = selection{request: &tenurev1.WatchRequest{Keys: []string{q.Rest}}}
	get := &tenurev1.GetRequest{Key: q.Rest, Read: ask.ReadOptions(r.consistency)}
	r.settled = func(ctx context.Context, index uint64) (uint64, error) {
		found, err := e.kv.Get(ctx, get)
		if err != nil || found.GetKv().GetModRevision() > index || found.GetHeader().GetRevision() < index {
			return 0, ignoring(err, tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND)
		}
		return found.GetHeader().GetRevision(), nil
	}
	return e.answered(ctx, r, func(ctx context.Context, waited outcome) (*reply.Answer, error) { return e.oneKey(ctx, r, get, waited) })
}

// oneKey answers with one key, after a wait.
func (e *keyEndpoints) oneKey(ctx context.Context, r read, get *tenurev1.GetRequest, waited outcome) (*reply.Answer, error) {
	found, err := e.kv.Get(ctx, get)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND {
		return e.notFound(ctx, r, waited, reply.RevisionOf(err))
	}
	if err != nil {
		return nil, err
	}
	if waited == unchanged && found.GetKv().GetModRevision() > r.blocking.index {
		waited = changed // It changed while it was read.
	}
	index := found.GetKv().GetModRevision()
	if r.blocking.index == indexEmpty {
		index = found.GetHeader().GetRevision() // With another index the next wait is as long as it should be.
	}
	s, err := e.stateAt(ctx, r, waited, at(index))
	if err != nil {
		return nil, err
	}
	if r.request.Has("raw") {
		a := &reply.Answer{Raw: append([]byte{}, found.GetKv().GetValue()...)}
		return a.Of(s).
			WithHeader("Content-Type", reply.ContentTypeText).
			WithHeader("X-Content-Type-Options", "nosniff").
			WithHeader("Content-Security-Policy", "sandbox"), nil
	}
	return (&reply.Answer{JSON: []keyJSON{keyOf(found.GetKv())}}).Of(s), nil
}

// notFound answers a read that finds nothing.
func (e *keyEndpoints) notFound(ctx context.Context, r read, waited outcome, revision uint64) (*reply.Answer, error) {
	s, err := e.stateAt(ctx, r, waited, at(revision))
	if err != nil {
		return nil, err
	}
	return (&reply.Answer{Status: http.StatusNotFound}).Of(s), nil
}

// ignoring returns an error unless it has one of the reasons.
func ignoring(err error, reasons ...tenurev1.ErrorReason) error {
	if err == nil {
		return nil
	}
	if slices.Contains(reasons, errorinfo.Reason(err)) {
		return nil
	}
	return err
}

// checkKey refuses what cannot be a key; the empty key is checked elsewhere.
func checkKey(key string) error {
	if len(key) > keyBytesMax {
		return reply.Refusal(http.StatusBadRequest, "The key is %d bytes long; at most %d are allowed.", len(key), keyBytesMax)
	}
	if !utf8.ValidString(key) {
		return reply.Refusal(http.StatusBadRequest, "The key is not valid UTF-8.")
	}
	return nil
}
