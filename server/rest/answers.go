package rest

import (
	"net/http"

	"github.com/tenure-io/tenure/server/unread"
)

// counting returns a writer whose answer counts while it is written.
func (o Options) counting(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	refuse := func(w http.ResponseWriter) { restErrorOf(unread.Refusal()).write(w) }
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse = nil // Nobody can be told that nothing was changed.
	}
	return unread.NewWriter(w, o.Answers, o.Callers.OfText(r.RemoteAddr), refuse)
}
