package ask

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
)

const (
	// consulHeader and consulParameter are where clients of Consul show who they are, besides the header Authorization.
	consulHeader, consulParameter = "X-Consul-Token", "token"
	// metadataAuthorization carries a credential in the calls that a request makes.
	metadataAuthorization = "authorization"
	// credentialsMax is how many credentials of a request are passed on: two different ones are refused, however many there are.
	credentialsMax = 2
)

// WithCredential returns a context whose calls show what the request shows of its client. A malformed credential is passed on, too, so
// that its sender is never taken for one without.
func (q *Request) WithCredential(ctx context.Context) context.Context {
	var shown []string
	for _, token := range append(slices.Clone(q.Query[consulParameter]), q.Header.Values(consulHeader)...) {
		if token != "" {
			shown = append(shown, "Bearer "+token)
		}
	}
	shown = append(shown, q.Header.Values("Authorization")...)
	slices.Sort(shown)
	shown = slices.Compact(shown)
	var pairs []string
	for _, credential := range shown[:min(len(shown), credentialsMax)] {
		if strings.ContainsFunc(credential, func(c rune) bool { return c < ' ' || c > '~' }) {
			credential = "malformed" // It cannot travel as it is.
		}
		pairs = append(pairs, metadataAuthorization, credential)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// metadataAddress is what the calls of a request carry that does not say who the client is, but where.
const metadataAddress = "tenure-remote-address"

// Credentials returns what the calls of a request show of its client, in a form that is the same for the same, and does not give them away.
func Credentials(ctx context.Context) string {
	shown, _ := metadata.FromOutgoingContext(ctx)
	digest := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if name == metadataAddress {
			continue
		}
		_, _ = fmt.Fprintf(digest, "%q %q\n", name, shown[name])
	}
	return string(digest.Sum(nil))
}

// Anonymous reports whether the calls of a request show nothing of its client.
func Anonymous(ctx context.Context) bool {
	shown, _ := metadata.FromOutgoingContext(ctx)
	_, where := shown[metadataAddress]
	return len(shown) == 0 || len(shown) == 1 && where
}
