package rest

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// checkPutConflicts refuses query parameters of a put that exclude each other.
func checkPutConflicts(query url.Values) *restError {
	for _, pair := range [][2]string{{"acquire", "release"}, {"acquire", "ifRevision"}, {"release", "ifRevision"}} {
		if query.Has(pair[0]) && query.Has(pair[1]) {
			return unknownField(pair[1], "the query parameter is in conflict with %s", pair[0])
		}
	}
	return nil
}

// putRaw stores the body of a request, whatever its type, as the value of a key.
func (g *gateway) putRaw(ctx context.Context, w http.ResponseWriter, r *http.Request, call *restCall) {
	request := &tenurev1.PutRequest{}
	if e := fill(request, call); e != nil {
		e.write(w)
		return
	}
	value := call.body
	if value == nil {
		value = []byte{}
	}
	request.Content = &tenurev1.PutRequest_Value{Value: value}
	var header metadata.MD
	answer, err := g.kv.Put(outgoing(ctx, r), request, grpc.Header(&header))
	if err != nil {
		writeError(w, err, g.log)
		return
	}
	writeMessage(w, answer, header, g.log)
}

// getRaw answers with the bytes of a key's value, and with what is known about the key in headers.
func (g *gateway) getRaw(ctx context.Context, w http.ResponseWriter, r *http.Request, call *restCall) {
	request := &tenurev1.GetRequest{}
	if e := fill(request, call); e != nil {
		e.write(w)
		return
	}
	var md metadata.MD
	answer, err := g.kv.Get(outgoing(ctx, r), request, grpc.Header(&md))
	if err != nil {
		writeError(w, err, g.log)
		return
	}
	header, kv := w.Header(), answer.GetKv()
	copyHeader(header, md)
	setRevision(header, answer)
	setKeyHeaders(header, kv)
	header.Set("Content-Type", contentTypeBinary)
	header.Set("Content-Length", strconv.Itoa(len(kv.GetValue())))
	_, _ = w.Write(kv.GetValue()) // a client that has gone away needs no answer
}

// setKeyHeaders tells what is known about a key. Ids are left out where there are none.
func setKeyHeaders(header http.Header, kv *tenurev1.KeyValue) {
	for name, number := range map[string]uint64{
		"Tenure-Flags":           kv.GetFlags(),
		"Tenure-Create-Revision": kv.GetCreateRevision(),
		"Tenure-Mod-Revision":    kv.GetModRevision(),
		"Tenure-Version":         kv.GetVersion(),
		"Tenure-Lock-Index":      kv.GetLockIndex(),
	} {
		header.Set(name, strconv.FormatUint(number, 10))
	}
	if id := kv.GetSessionId(); id != "" {
		header.Set("Tenure-Session-Id", id)
	}
	if id := kv.GetBoundSessionId(); id != "" {
		header.Set("Tenure-Bound-Session-Id", id)
	}
}

// outgoing returns the context for a call that a request becomes.
func outgoing(ctx context.Context, r *http.Request) context.Context {
	return metadata.NewOutgoingContext(ctx, callMetadata(r))
}

// fill sets the fields of a request from body, query and path.
func fill(m proto.Message, call *restCall) *restError {
	if call.route.body {
		if err := (jsonMarshaler{}).Unmarshal(call.body, m); err != nil {
			return restErrorOf(err)
		}
	}
	if err := runtime.PopulateQueryParameters(m, call.query, utilities.NewDoubleArray(nil)); err != nil {
		return malformed("query", "%v", err)
	}
	for _, f := range call.path {
		if err := runtime.PopulateFieldFromPath(m, string(f.field.Name()), f.value); err != nil {
			return malformed(f.field.JSONName(), "%v", err)
		}
	}
	return nil
}
