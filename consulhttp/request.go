package consulhttp

import (
	"github.com/tenure-io/tenure/consulhttp/ask"
	"github.com/tenure-io/tenure/internal/share"
)

// request is a request to an endpoint.
type request struct {
	*ask.Request
	// caller is whose share it counts for.
	caller share.Caller
	// endTurn ends the turn in which the answer is written, because it is read meanwhile; nil if there is none.
	endTurn func()
}

// end ends the request, whose answer is written.
func (q *request) end() {
	if q.endTurn != nil {
		q.endTurn()
	}
}
