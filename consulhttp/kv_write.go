package consulhttp

import (
	"context"
	"net/http"
	"unicode/utf8"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/internal/errorinfo"
)

// deletePrefixKeysMax is how many keys go in one step of a delete of many.
const deletePrefixKeysMax = 10_000

// putKey serves PUT /v1/kv/KEY.
func (e *keyEndpoints) putKey(ctx context.Context, q *request) (*answer, error) {
	if q.rest == "" {
		return nil, refusal(http.StatusBadRequest, textNoKey)
	}
	if err := checkKey(q.rest); err != nil {
		return nil, err
	}
	put := &tenurev1.PutRequest{Key: q.rest}
	verbs := 0
	for _, name := range []string{"cas", "acquire", "release"} {
		if q.has(name) {
			verbs++
		}
	}
	if verbs > 1 {
		return nil, refusal(http.StatusBadRequest, "Conflicting flags: only one of cas, acquire and release may be given.")
	}
	var err error
	if put.Flags, err = q.number("flags"); err != nil {
		return nil, err
	}
	switch {
	case q.has("cas"):
		var index uint64
		if index, err = q.number("cas"); err != nil {
			return nil, err
		}
		put.IfRevision = &index
	case q.has("acquire"):
		put.Acquire = q.text("acquire")
	case q.has("release"):
		put.Release = q.text("release")
	}
	if (q.has("acquire") || q.has("release")) && put.GetAcquire()+put.GetRelease() == "" {
		return nil, known(refusal(http.StatusInternalServerError, textNoSession))
	}
	value, err := q.body()
	if err != nil {
		return nil, err
	}
	put.Content = &tenurev1.PutRequest_Value{Value: value}
	done, err := e.put(ctx, put)
	if err != nil {
		return nil, err
	}
	return &answer{json: done}, nil
}

// put writes a key and reports whether it was.
func (e *keyEndpoints) put(ctx context.Context, put *tenurev1.PutRequest) (bool, error) {
	invalid := known(refusal(http.StatusInternalServerError, "%s %q", textBadSession, shown(put.GetAcquire())))
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
func (e *keyEndpoints) deleteKeys(ctx context.Context, q *request) (*answer, error) {
	if err := checkKey(q.rest); err != nil {
		return nil, err
	}
	recurse, cas := q.has("recurse"), q.has("cas")
	switch {
	case recurse && cas:
		return nil, refusal(http.StatusBadRequest, "Conflicting flags: only one of recurse and cas may be given.")
	case recurse:
		return e.deletePrefix(ctx, q.rest)
	case q.rest == "":
		return nil, refusal(http.StatusBadRequest, textNoKey)
	}
	request := &tenurev1.DeleteRequest{Key: q.rest, DropHolds: true}
	if cas {
		index, err := q.number("cas")
		if err != nil {
			return nil, err
		}
		request.IfRevision = &index
	}
	_, err := e.kv.Delete(ctx, request)
	if errorinfo.Reason(err) == tenurev1.ErrorReason_ERROR_REASON_COMPARE_FAILED {
		// A key that is missing is deleted, whatever index it should have had.
		return &answer{json: revisionOf(err) == 0}, nil
	}
	if err != nil {
		return nil, err
	}
	return &answer{json: true}, nil
}

// deletePrefix deletes all keys with a prefix, each step as a whole.
func (e *keyEndpoints) deletePrefix(ctx context.Context, prefix string) (*answer, error) {
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
			return &answer{json: true}, nil
		}
	}
}
