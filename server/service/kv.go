package service

import (
	"context"
	"strconv"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
)

// Get serves KVService.
func (a *KV) Get(ctx context.Context, r *tenurev1.GetRequest) (*tenurev1.GetResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, err
	}
	kv, found, err := s.Get(r.GetKey())
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_KEY_NOT_FOUND, "key %q does not exist", r.GetKey()).
			With("revision", strconv.FormatUint(s.At.Revision, 10))
	}
	return &tenurev1.GetResponse{Header: a.Header(s.At), Kv: call.KeyToProto(kv)}, nil
}

// List serves KVService.
func (a *KV) List(ctx context.Context, r *tenurev1.ListRequest) (*tenurev1.ListResponse, error) {
	if err := call.CheckPrefix("prefix", r.GetPrefix(), call.KeyBytesMax); err != nil {
		return nil, err
	}
	size, err := call.PageSize(r.GetPageSize())
	if err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	if err = unread.Begin(ctx); err != nil {
		return nil, err
	}
	pages, after, err := s.Pages(call.PageQuery{List: "keys", Filters: []string{r.GetPrefix()}}, r)
	if err != nil {
		return nil, err
	}
	kvs, more, err := listAt(ctx, s, storage.ListQuery{
		Prefix:       r.GetPrefix(),
		After:        after,
		Limit:        size,
		SizeBytesMax: call.PageBytesMax,
		KeysOnly:     r.GetKeysOnly(),
	})
	if err != nil {
		return nil, err
	}
	response := &tenurev1.ListResponse{Header: a.Header(s.At), Kvs: make([]*tenurev1.KeyValue, 0, len(kvs))}
	for _, kv := range kvs {
		response.Kvs = append(response.Kvs, call.KeyToProto(kv))
	}
	if more {
		response.NextPageToken, err = pages.Token(kvs[len(kvs)-1].GetKey())
	}
	return response, err
}

// listAt returns a page of keys, and whether there are more behind it. Of keys that the caller does not see none is looked at.
func listAt(ctx context.Context, s *call.Snapshot, q storage.ListQuery) (page []*storev1.KeyState, more bool, err error) {
	if s.Sight == nil {
		return s.List(q)
	}
	verbs := authz.List
	if !q.KeysOnly {
		verbs |= authz.Read
	}
	left := q
	for _, span := range authz.SpansFrom(s.Sight.Spans(authz.Key, verbs, q.Prefix), q.After) {
		full := len(page) > 0 && (left.Limit <= 0 || left.SizeBytesMax <= 0)
		if full { // It is only left to see whether there is another key.
			left = storage.ListQuery{After: q.After, Limit: 1, KeysOnly: true}
		}
		kvs, rest, err := spanAt(s, span, left)
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return nil, false, err
		case full && len(kvs) > 0:
			return page, true, nil
		case full:
			continue
		}
		page = append(page, kvs...)
		if rest {
			return page, true, nil
		}
		left.Limit -= len(kvs)
		for _, kv := range kvs {
			left.SizeBytesMax -= len(kv.GetKey()) + len(kv.GetValue())
		}
	}
	return page, false, nil
}

// spanAt returns the keys of a span that a query asks for, and whether there are more. Its limits are positive.
func spanAt(s *call.Snapshot, span authz.Span, q storage.ListQuery) ([]*storev1.KeyState, bool, error) {
	if !span.Exact {
		q.Prefix = span.Text
		return s.List(q)
	}
	if span.Text <= q.After {
		return nil, false, nil
	}
	kv, found, err := s.Get(span.Text)
	if err != nil || !found {
		return nil, false, err
	}
	if q.KeysOnly {
		kv.Value = nil
	}
	return []*storev1.KeyState{kv}, false, nil
}

// Put serves KVService.
func (a *KV) Put(ctx context.Context, r *tenurev1.PutRequest) (*tenurev1.PutResponse, error) {
	put, err := a.putFromProto(ctx, r)
	if err != nil {
		return nil, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_Put{Put: put}},
	})
	if err != nil {
		return nil, err
	}
	if put.GetForce() && result.GetPut().GetVerbSucceeded() {
		logForce(ctx, a.Log, put.GetRelease(), put.GetReason())
	}
	response := a.putToProto(put, result)
	a.LockTimes(ctx, response.GetLock())
	return response, nil
}

// putFromProto validates a put and checks that the caller may act as the sessions it names.
func (a *KV) putFromProto(ctx context.Context, r *tenurev1.PutRequest) (*storev1.Put, error) {
	op, err := checkPut(r)
	if err != nil {
		return nil, err
	}
	put := &storev1.Put{
		Key:        r.GetKey(),
		Value:      r.GetValue(),
		Flags:      r.GetFlags(),
		IfRevision: r.IfRevision,
		Force:      op.Force,
		Reason:     op.Reason,
		Sequential: r.GetSequential(),
	}
	if text, ok := r.GetContent().(*tenurev1.PutRequest_Text); ok {
		put.Value = []byte(text.Text)
	}
	if err = call.CheckValue("value", put.GetValue()); err != nil {
		return nil, err
	}
	if put.Acquire, err = a.SessionRef(ctx, "acquire", r.GetAcquire(), r.GetOptions(), call.Operator{}); err != nil {
		return nil, err
	}
	if put.Release, err = a.SessionRef(ctx, "release", r.GetRelease(), r.GetOptions(), op); err != nil {
		return nil, err
	}
	put.BindSession, err = a.SessionRef(ctx, "bind_session", r.GetBindSession(), r.GetOptions(), call.Operator{})
	return put, err
}

// checkPut validates what a put says, without asking who says it.
func checkPut(r *tenurev1.PutRequest) (call.Operator, error) {
	var err error
	if r.GetSequential() {
		err = call.CheckPrefix("key", r.GetKey(), call.KeyBytesMax-call.SequentialSuffixBytes)
	} else {
		err = call.CheckKey("key", r.GetKey())
	}
	if err != nil {
		return call.Operator{}, err
	}
	switch {
	case r.GetAcquire() != "" && r.GetRelease() != "":
		return call.Operator{}, reason.Invalid("release", "must not be given together with acquire")
	case r.IfRevision != nil && r.GetAcquire() != "":
		return call.Operator{}, reason.Invalid("if_revision", "must not be given together with acquire")
	case r.IfRevision != nil && r.GetRelease() != "":
		return call.Operator{}, reason.Invalid("if_revision", "must not be given together with release")
	}
	o := r.GetOptions()
	forced := o.GetForce()
	use := call.OptionUse{
		Session: putNamesSession(r), Force: r.GetRelease() != "", Reason: forced,
		Guards: true, Request: true, Key: true,
	}
	if err := call.CheckOptions(o, use); err != nil {
		return call.Operator{}, err
	}
	return call.ParseOperator(false, "", o)
}

// putNamesSession tells whether a put acts as a session.
func putNamesSession(r *tenurev1.PutRequest) bool {
	return r.GetAcquire() != "" || r.GetRelease() != "" || r.GetBindSession() != ""
}

// putToProto returns the answer to a put.
func (a *KV) putToProto(put *storev1.Put, result *storev1.Result) *tenurev1.PutResponse {
	done := result.GetPut()
	history := a.History()
	response := &tenurev1.PutResponse{
		Header:   a.HeaderOf(result),
		Acquired: put.GetAcquire() != nil && done.GetVerbSucceeded(),
		Released: put.GetRelease() != nil && done.GetVerbSucceeded(),
		Kv:       call.KeyToProto(done.GetState()),
		Lock:     call.LockToProto(done.GetLock(), history, a.Timers),
	}
	if hold := done.GetHold(); hold != nil {
		response.Sequencer = call.SequencerToProto(hold, history)
	}
	return response
}

// Delete serves KVService.
func (a *KV) Delete(ctx context.Context, r *tenurev1.DeleteRequest) (*tenurev1.DeleteResponse, error) {
	if err := call.CheckKey("key", r.GetKey()); err != nil {
		return nil, err
	}
	if err := call.CheckOptions(r.GetOptions(), call.OptionUse{Guards: true, Request: true, Key: true}); err != nil {
		return nil, err
	}
	if err := a.checkDropsHolds("drop_holds", r.GetDropHolds()); err != nil {
		return nil, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_Delete{Delete: &storev1.Delete{
			Key:        r.GetKey(),
			IfRevision: r.IfRevision,
			DropHolds:  r.GetDropHolds(),
		}}},
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.DeleteResponse{
		Header:  a.HeaderOf(result),
		Deleted: result.GetDelete().GetDeleted() > 0,
	}, nil
}

// DeletePrefix serves KVService.
func (a *KV) DeletePrefix(
	ctx context.Context, r *tenurev1.DeletePrefixRequest,
) (*tenurev1.DeletePrefixResponse, error) {
	if err := a.checkDeletePrefix(r); err != nil {
		return nil, err
	}
	if err := call.CheckOptions(r.GetOptions(), call.OptionUse{Guards: true, Request: true, Key: true}); err != nil {
		return nil, err
	}
	result, err := a.Propose(ctx, call.Change{
		Request: r,
		Options: r.GetOptions(),
		Command: &storev1.Command{Kind: &storev1.Command_DeletePrefix{DeletePrefix: &storev1.DeletePrefix{
			Prefix:    r.GetPrefix(),
			DropHolds: r.GetDropHolds(),
			KeysMax:   r.GetKeysMax(),
		}}},
	})
	if err != nil {
		return nil, err
	}
	return &tenurev1.DeletePrefixResponse{
		Header:  a.HeaderOf(result),
		Deleted: result.GetDelete().GetDeleted(),
	}, nil
}

// deletePrefixKeysMax is how many keys one call deletes.
const deletePrefixKeysMax = 10_000

// checkDropsHolds refuses a field that is set before all members know it.
func (a *KV) checkDropsHolds(field string, set bool) error {
	if set && !storage.DropsHolds(a.Node.Store().Applied().ClusterVersion) {
		return reason.NotServed(field)
	}
	return nil
}

// checkDeletePrefix validates which keys are meant.
func (a *KV) checkDeletePrefix(r *tenurev1.DeletePrefixRequest) error {
	if n := r.GetKeysMax(); n > deletePrefixKeysMax {
		return reason.Invalid("keys_max", "is %d; at most %d are allowed", n, deletePrefixKeysMax)
	}
	if err := a.checkDropsHolds("drop_holds", r.GetDropHolds()); err != nil {
		return err
	}
	if err := a.checkDropsHolds("keys_max", r.GetKeysMax() > 0); err != nil {
		return err
	}
	if r.GetPrefix() == "" && !r.GetAll() {
		return reason.Invalid("prefix", "is empty, which means every key; confirm this with all")
	}
	if r.GetPrefix() != "" && r.GetAll() {
		return reason.Invalid("all", "must not be given together with a prefix")
	}
	return call.CheckPrefix("prefix", r.GetPrefix(), call.KeyBytesMax)
}
