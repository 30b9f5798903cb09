package rest

import (
	"io"
	"net/http"

	"google.golang.org/grpc/metadata"

	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/server/unread"
)

// NewBeside returns a handler that stands beside REST, on a listener of its own, behind the same front door: its bodies and
// answers count for their callers, and its calls are made for them. It refuses with plain texts.
func NewBeside(o Options, next http.Handler) http.Handler {
	o.PlainErrors = true
	return NewFrontDoor(o, func(w http.ResponseWriter, r *http.Request) {
		caller := o.Callers.OfText(r.RemoteAddr)
		refuse := func(w http.ResponseWriter) {
			http.Error(w, unread.Refusal().Error(), http.StatusTooManyRequests)
		}
		if r.Method != http.MethodGet {
			refuse = nil // Nobody can be told that nothing was changed.
		}
		counted := unread.NewWriter(w, o.Answers, caller, refuse)
		if r.Body != nil && r.Body != http.NoBody {
			taking := &takingReader{Reader: r.Body, pool: o.Intake, caller: caller}
			defer taking.done()
			r.Body = struct {
				io.Reader
				io.Closer
			}{taking, r.Body}
		}
		ctx := metadata.AppendToOutgoingContext(r.Context(), gate.MetadataRemoteAddress, r.RemoteAddr)
		next.ServeHTTP(counted, r.WithContext(ctx))
	})
}
