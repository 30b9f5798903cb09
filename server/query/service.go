package query

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/authz"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/server/unread"
	"github.com/tenure-io/tenure/storage"
	bounds "github.com/tenure-io/tenure/storage/catalog"
)

// Service serves prepared queries.
type Service struct {
	tenurev1.UnimplementedQueryServiceServer
	*call.Caller
	// shuffle puts n things in random order.
	shuffle func(n int, swap func(i, j int))
}

// New returns the service of a member.
func New(c *call.Caller) *Service { return &Service{Caller: c, shuffle: rand.Shuffle} }

// change proposes a command on a query.
func (a *Service) change(ctx context.Context, r proto.Message, o *tenurev1.CallOptions, cmd *storev1.Command) (*storev1.Result, error) {
	if !storage.KnowsQueries(a.Node.Store().Applied().ClusterVersion) {
		return nil, reason.New(tenurev1.ErrorReason_ERROR_REASON_FEATURE_NOT_ENABLED,
			"prepared queries are used once every member supports them and the cluster version was raised")
	}
	return a.Propose(ctx, call.Change{Request: r, Options: o, Command: cmd})
}

// queryID reads the id of a query.
func queryID(text string) (storage.QueryID, error) {
	id, err := storage.ParseSessionID(text)
	if err != nil {
		return storage.QueryID{}, reason.Invalid("query_id", "must be a UUID")
	}
	return id, nil
}

// notFound returns the error for a query that is missing in what a read shows.
func notFound(s *call.Snapshot, idOrName string) error {
	return reason.New(tenurev1.ErrorReason_ERROR_REASON_QUERY_NOT_FOUND, "there is no prepared query %q", idOrName).
		With("revision", strconv.FormatUint(s.At.Revision, 10))
}

// put reads what a request makes of a query.
func (a *Service) put(ctx context.Context, q *tenurev1.Query, o *tenurev1.CallOptions) (*storev1.PutQuery, error) {
	use := call.OptionUse{Session: q.GetSessionId() != "", Guards: true, Request: true, Key: true}
	if err := call.CheckOptions(o, use); err != nil {
		return nil, err
	}
	stored, err := fromProto(q)
	if err != nil {
		return nil, err
	}
	session, err := a.SessionRef(ctx, "query.session_id", q.GetSessionId(), o, call.Operator{})
	if err != nil {
		return nil, err
	}
	stored.SessionId = session.GetSessionId()
	return &storev1.PutQuery{Query: stored, Session: session}, nil
}

// CreateQuery serves QueryService.
func (a *Service) CreateQuery(ctx context.Context, r *tenurev1.CreateQueryRequest) (*tenurev1.CreateQueryResponse, error) {
	put, err := a.put(ctx, r.GetQuery(), r.GetOptions())
	if err != nil {
		return nil, err
	}
	drawn := uuid.New()
	put.QueryId, put.Create = drawn[:], true
	result, err := a.change(ctx, r, r.GetOptions(), &storev1.Command{Kind: &storev1.Command_PutQuery{PutQuery: put}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.CreateQueryResponse{Header: a.HeaderOf(result), QueryId: call.SessionText(result.GetQuery().GetQueryId())}, nil
}

// UpdateQuery serves QueryService.
func (a *Service) UpdateQuery(ctx context.Context, r *tenurev1.UpdateQueryRequest) (*tenurev1.UpdateQueryResponse, error) {
	id, err := queryID(r.GetQueryId())
	if err != nil {
		return nil, err
	}
	put, err := a.put(ctx, r.GetQuery(), r.GetOptions())
	if err != nil {
		return nil, err
	}
	put.QueryId, put.IfRevision = id[:], r.IfRevision
	result, err := a.change(ctx, r, r.GetOptions(), &storev1.Command{Kind: &storev1.Command_PutQuery{PutQuery: put}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.UpdateQueryResponse{Header: a.HeaderOf(result), ModRevision: result.GetQuery().GetModRevision()}, nil
}

// DeleteQuery serves QueryService.
func (a *Service) DeleteQuery(ctx context.Context, r *tenurev1.DeleteQueryRequest) (*tenurev1.DeleteQueryResponse, error) {
	id, err := queryID(r.GetQueryId())
	if err != nil {
		return nil, err
	}
	if err = call.CheckOptions(r.GetOptions(), call.OptionUse{Guards: true, Request: true, Key: true}); err != nil {
		return nil, err
	}
	result, err := a.change(ctx, r, r.GetOptions(),
		&storev1.Command{Kind: &storev1.Command_DeleteQuery{DeleteQuery: &storev1.DeleteQuery{QueryId: id[:]}}})
	if err != nil {
		return nil, err
	}
	return &tenurev1.DeleteQueryResponse{Header: a.HeaderOf(result), Deleted: result.GetQuery().GetDeleted()}, nil
}

// checkIDOrName refuses what names no query.
func checkIDOrName(text string) error {
	if text == "" {
		return reason.Invalid("id_or_name", "is missing; give the id or the name of a query")
	}
	return call.CheckText("id_or_name", text, bounds.QueryNameBytesMax)
}

// GetQuery serves QueryService.
func (a *Service) GetQuery(ctx context.Context, r *tenurev1.GetQueryRequest) (*tenurev1.GetQueryResponse, error) {
	if err := checkIDOrName(r.GetIdOrName()); err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	q, err := find(s, r.GetIdOrName(), s.QueryNamed)
	if err != nil {
		return nil, err
	}
	return &tenurev1.GetQueryResponse{Header: a.Header(s.At), Query: ToProto(q)}, nil
}

// find returns the query with an id, or the one that byName finds.
func find(
	s *call.Snapshot, idOrName string, byName func(name string) (storage.QueryEntry, bool, error),
) (q storage.QueryEntry, err error) {
	var found bool
	if id, failed := storage.ParseSessionID(idOrName); failed == nil {
		q, found, err = s.Query(id)
	} else {
		q, found, err = byName(idOrName)
	}
	if err == nil && !found {
		err = notFound(s, idOrName)
	}
	return q, err
}

// ListQueries serves QueryService.
func (a *Service) ListQueries(ctx context.Context, r *tenurev1.ListQueriesRequest) (*tenurev1.ListQueriesResponse, error) {
	if err := call.CheckText("name_prefix", r.GetNamePrefix(), bounds.QueryNameBytesMax); err != nil {
		return nil, err
	}
	if r.GetSessionId() != "" {
		if _, err := call.ParseSession("session_id", r.GetSessionId()); err != nil {
			return nil, err
		}
	}
	items, err := call.PageSize(r.GetPageSize())
	if err != nil {
		return nil, err
	}
	s, err := a.Reader(ctx, r.GetRead())
	if err != nil {
		return nil, err
	}
	defer a.CloseSnapshot(s)
	page := call.PageQuery{List: "queries", Filters: []string{r.GetNamePrefix(), strings.ToLower(r.GetSessionId())}}
	pages, after, err := s.Pages(page, r)
	if err == nil {
		err = unread.Begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	var last storage.QueryID
	copy(last[:], after)
	out := &tenurev1.ListQueriesResponse{Header: a.Header(s.At)}
	bytes := 0
	err = s.Queries(last, func(q storage.QueryEntry) (again bool, err error) {
		if s.Sight != nil && !authz.SeesQuery(s.Sight, q.Record.GetQuery().GetName()) {
			return true, nil
		}
		if len(out.GetQueries()) >= items || bytes >= call.PageBytesMax {
			out.NextPageToken, err = pages.Token(string(last[:]))
			return false, err
		}
		last = q.ID
		if shown := ToProto(q); listed(shown, r) {
			out.Queries = append(out.Queries, shown)
			bytes += proto.Size(shown)
		}
		return true, nil
	})
	return out, err
}

// listed reports whether a query passes all filters. There are few enough queries to look at each.
func listed(q *tenurev1.Query, r *tenurev1.ListQueriesRequest) bool {
	return strings.HasPrefix(q.GetName(), r.GetNamePrefix()) &&
		(r.GetSessionId() == "" || strings.EqualFold(q.GetSessionId(), r.GetSessionId()))
}
