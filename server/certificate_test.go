package server_test

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/certs"
)

// metadataCertificate is what REST tells the services of its process about a client's certificate.
const metadataCertificate = "tenure-certificate-bin"

// bound is a member that enforces rules, with a binding for the certificate of a client named web.
type bound struct {
	*member
	*authority
}

// startBound runs such a member, until the test ends.
func startBound(t *testing.T) bound {
	t.Helper()
	a := newAuthority(t)
	a.member("a", 0)
	a.client("web")
	a.client("other")
	m := startMember(t, a.secure("a"), alone)
	m.conn = dialSecure(t, m.at.GRPC, a.dialing(""))
	ctx := as(t.Context(), m.bootstrap(t, modeEnforce))
	if _, err := m.auth().PutPolicy(ctx, &tenurev1.PutPolicyRequest{Name: "web", Rules: `key "service/"* rw`}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.auth().PutBinding(ctx, &tenurev1.PutBindingRequest{
		Name: "web", Kind: tenurev1.BindingKind_BINDING_KIND_CERTIFICATE, Principal: "cert:spiffe://" + certs.TrustDomainDefault + "/client/web",
		Policies: []string{"web"},
	}); err != nil {
		t.Fatal(err)
	}
	return bound{m, a}
}

// certificate returns the certificate of a client, as TLS sends it.
func (b bound) certificate(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(b.path(name + ".crt"))
	block, _ := pem.Decode(data)
	if err != nil || block == nil {
		t.Fatalf("%s: %v", data, err)
	}
	return block.Bytes
}

// onALine puts a key on a line, and returns the code of the answer, or with which the line ended.
func onALine(t *testing.T, conn *grpc.ClientConn, key string, said ...string) codes.Code {
	t.Helper()
	l, err := tenurev1.NewLineServiceClient(conn).Line(metadata.AppendToOutgoingContext(t.Context(), said...))
	if err != nil {
		t.Fatal(err)
	}
	if err = l.Send(&tenurev1.LineRequest{Calls: []*tenurev1.LineCall{
		{Number: 1, Request: &tenurev1.LineCall_Put{Put: &tenurev1.PutRequest{Key: key, Content: text("v")}}},
	}}); err != nil && err != io.EOF { //nolint:errorlint // It is what Send says of a stream that ended.
		t.Fatal(err)
	}
	for {
		r, err := l.Recv()
		if err != nil {
			return status.Code(err)
		}
		for _, answer := range r.GetAnswers() {
			return codes.Code(answer.GetStatus().GetCode())
		}
	}
}

// overHTTP puts a key over REST, and returns the status.
func (b bound) overHTTP(t *testing.T, client, key string, header ...string) int {
	t.Helper()
	config, err := b.dialing(client).Config()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://"+b.at.HTTP+"/v1/kv/"+key, strings.NewReader("v"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// TestABindingGivesRightsToACertificate writes with certificates of clients, by every way in.
func TestABindingGivesRightsToACertificate(t *testing.T) {
	b := startBound(t)
	for name, tc := range map[string]struct {
		client, key string
		want        codes.Code
	}{
		"what the binding allows":        {"web", "service/a", codes.OK},
		"what no policy of it allows":    {"web", "private", codes.PermissionDenied},
		"a certificate without binding":  {"other", "service/a", codes.PermissionDenied},
		"a client without a certificate": {"", "service/a", codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			conn := dialSecure(t, b.at.GRPC, b.dialing(tc.client))
			_, err := tenurev1.NewKVServiceClient(conn).Put(t.Context(), &tenurev1.PutRequest{Key: tc.key, Content: text("v")})
			if status.Code(err) != tc.want {
				t.Errorf("gRPC: got %v, want %v", err, tc.want)
			}
			if got := onALine(t, conn, tc.key); got != tc.want {
				t.Errorf("a line: got %v, want %v", got, tc.want)
			}
			want := map[codes.Code]int{codes.OK: http.StatusOK, codes.PermissionDenied: http.StatusForbidden}[tc.want]
			if got := b.overHTTP(t, tc.client, tc.key); got != want {
				t.Errorf("REST: got %d, want %d", got, want)
			}
		})
	}
}

// TestNobodySaysWhichCertificateItHas sends another client's certificate in place of a handshake with it.
func TestNobodySaysWhichCertificateItHas(t *testing.T) {
	b := startBound(t)
	leaf := b.certificate(t, "web")
	for _, client := range []string{"", "other", "web"} {
		conn := dialSecure(t, b.at.GRPC, b.dialing(client))
		said := metadata.AppendToOutgoingContext(t.Context(), metadataCertificate, string(leaf))
		_, err := tenurev1.NewKVServiceClient(conn).Put(said, &tenurev1.PutRequest{Key: "service/a", Content: text("v")})
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		_, err = tenurev1.NewClusterServiceClient(conn).GetStatus(said, &tenurev1.GetStatusRequest{})
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		watch, err := tenurev1.NewWatchServiceClient(conn).Watch(said, &tenurev1.WatchRequest{Keys: []string{"service/a"}})
		if err == nil {
			_, err = watch.Recv()
		}
		wantError(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		if got := onALine(t, conn, "service/a", metadataCertificate, string(leaf)); got != codes.InvalidArgument {
			t.Errorf("a line of %q: got %v, want INVALID_ARGUMENT", client, got)
		}
	}
	// HTTP passes no such header on.
	for _, name := range []string{metadataCertificate, "Grpc-Metadata-" + metadataCertificate} {
		if got := b.overHTTP(t, "", "service/a", name, base64.StdEncoding.EncodeToString(leaf)); got != http.StatusForbidden {
			t.Errorf("the header %s: got %d, want %d", name, got, http.StatusForbidden)
		}
	}
}
