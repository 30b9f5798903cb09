package consulhttp

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/tenure-io/tenure/consulhttp/reply"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// deletePrefixKeysMax is how many keys go in one step of a delete of many.
const deletePrefixKeysMax = 10_000

// putKey serves PUT /v1/kv/KEY.
func (e *keyEndpoints) putKey(ctx context.Context, q *request) (*reply.Answer, error) {
	if q.Rest == "" {
		return nil, reply.Refusal(http.StatusBadRequest, textNoKey)
	}
	if err := checkKey(q.Rest); err != nil {
		return nil, err
	}
	put := &tenurev1.PutRequest{Key: q.Rest}
	verbs := 0
	for _, name := range []string{"cas", "acquire", "release"} {
		if q.Has(name) {
			verbs++
		}
	}
	if verbs > 1 {
		return nil, reply.Refusal(http.StatusBadRequest, "Conflicting flags: only one of cas, acquire and release may be given.")
	}
	var err error
	if put.Flags, err = q.Number("flags"); err != nil {
		return nil, err
	}
	switch {
	case q.Has("cas"):
		var index uint64
		if index, err = q.Number("cas"); err != nil {
			return nil, err
		}
		put.IfRevision = &index
	case q.Has("acquire"):
		put.Acquire = q.Text("acquire")
	case q.Has("release"):
		put.Release = q.Text("release")
	}
	if (q.Has("acquire") || q.Has("release")) && put.GetAcquire()+put.GetRelease() == "" {
		return nil, reply.Known(reply.Refusal(http.StatusInternalServerError, textNoSession))
	}
	value, err := q.Content()
	if err != nil {
		return nil, err
	}
	put.Content = &tenurev1.PutRequest_Value{Value: value}
	done, err := e.put(ctx, put)
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: done}, nil
}

// put writes a key and reports whether it was.
func (e *keyEndpoints) put(ctx context.Context, put *tenurev1.PutRequest) (bool, error) {
	invalid := reply.Known(reply.Refusal(http.StatusInternalServerError, "%s %q", textBadSession, reply.Shown(put.GetAcquire())))
	if !utf8.ValidString(put.GetAcquire()) {
		return false, invalid
	}
	if !utf8.ValidString(put.GetRelease()) {
		return false, nil
	}
	response, err := e.kv.Put(ctx, put)
	switch errorinfo.Reason(err) {
	case tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED:
		return false, nil
	case tenurev1.ErrorReason_ERROR_REASON_SESSION_NOT_FOUND, tenurev1.ErrorReason_ERROR_REASON_SESSION_EXPIRED,
		tenurev1.ErrorReason_ERROR_REASON_SESSION_ID_INVALID:
		if put.GetRelease() != "" {
			return false, nil // A release only compares.
		}
		return false, invalid
	case tenurev1.ErrorReason_ERROR_REASON_FROZEN, tenurev1.ErrorReason_ERROR_REASON_LOCK_MODE_MISMATCH:
		return false, nil
	default:
	}
	switch {
	case err != nil:
		return false, err
	case put.GetAcquire() != "":
		return response.GetAcquired(), nil
	case put.GetRelease() != "":
		return response.GetReleased(), nil
	default:
		return true, nil
	}
}

// deleteKeys serves DELETE /v1/kv/KEY.
func (e *keyEndpoints) deleteKeys(ctx context.Context, q *request) (*reply.Answer, error) {
	if err := checkKey(q.Rest); err != nil {
		return nil, err
	}
	recurse, cas := q.Has("recurse"), q.Has("cas")
	switch {
	case recurse && cas:
		return nil, reply.Refusal(http.StatusBadRequest, "Conflicting flags: only one of recurse and cas may be given.")
	case recurse:
		return e.deletePrefix(ctx, q.Rest)
	case q.Rest == "":
		return nil, reply.Refusal(http.StatusBadRequest, textNoKey)
	}
	request := &tenurev1.DeleteRequest{Key: q.Rest, DropHolds: true}
	if cas {
		index, err := q.Number("cas")
		if err != nil {
			return nil, err
		}
		request.IfRevision = &index
	}
	_, err := e.kv.Delete(ctx, request)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED {
		// A key that is missing is deleted, whatever index it should have had.
		return &reply.Answer{JSON: reply.RevisionOf(err) == 0}, nil
	}
	if err != nil {
		return nil, err
	}
	return &reply.Answer{JSON: true}, nil
}

// deletePrefix deletes all keys with a prefix, each step as a whole.
func (e *keyEndpoints) deletePrefix(ctx context.Context, prefix string) (*reply.Answer, error) {
	limit := uint32(deletePrefixKeysMax)
	for {
		done, err := e.kv.DeletePrefix(ctx, &tenurev1.DeletePrefixRequest{
			Prefix: prefix, All: prefix == "", DropHolds: true, KeysMax: limit,
		})
		switch {
		case errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_TOO_LARGE && limit > 1:
			limit /= 2 // So many keys, or their holds, are more than one step may change.
		case err != nil:
			return nil, err
		case done.GetDeleted() < limit:
			return &reply.Answer{JSON: true}, nil
		}
	}
}
