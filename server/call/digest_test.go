package call

import (
	"bytes"
	"encoding/hex"
	"testing"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// askedPut is a put with everything that does not enter its digest as it is.
func askedPut() *tenurev1.PutRequest {
	return &tenurev1.PutRequest{
		Key: "service/15/a", Content: &tenurev1.PutRequest_Value{Value: bytes.Repeat([]byte("v"), 256)},
		Options: &tenurev1.CallOptions{
			SessionSecret: bytes.Repeat([]byte("s"), 32), Epoch: 1, Reason: "because", IdempotencyKey: []byte("key"),
			RequestId: &tenurev1.RequestID{SessionId: "0198c0de-0000-7000-8000-000000000000", Sequence: 7, DoneBelow: 5},
		},
	}
}

// TestADigestStaysAsItIs holds digests against those that members have stored: a retry after an upgrade meets them.
func TestADigestStaysAsItIs(t *testing.T) {
	other, bare := askedPut(), askedPut()
	other.Options.RequestId.Sequence, other.Options.Epoch, other.Options.IdempotencyKey = 8, 2, nil
	bare.Options = nil
	digests := &digester{} // One digest is written where the one before it was.
	for _, c := range []struct {
		name    string
		request proto.Message
		want    string
	}{
		{"put", askedPut(), "7336aae2ccf5921f98dc4b130072ec14e11bc690923569588ef9648016735d96"},
		{"another attempt", other, "7336aae2ccf5921f98dc4b130072ec14e11bc690923569588ef9648016735d96"},
		{"without options", bare, "24b3a06fc91da2b43a8e2862a69afc663ec7381cf84d792bd46705ef728b14ac"},
		{"nothing", &tenurev1.DeleteRequest{}, "c2fbbc97fc383dacde10aaed486474e481ce83529d6ca5c87feba9ec83853a8e"},
		{"create", &tenurev1.CreateSessionRequest{Name: "web", Secret: []byte("secret"), Options: &tenurev1.CallOptions{IdempotencyKey: []byte("a")}}, "c8e25b70cb839cc303b4d52981096c49c5c6dfb51bae8b0706b3ae4bdfda9d02"},
	} {
		before := proto.Clone(c.request)
		changes := []*Change{{Request: c.request}}
		if with, ok := c.request.(interface{ GetOptions() *tenurev1.CallOptions }); ok {
			o := with.GetOptions()
			changes = append(changes, &Change{Request: c.request, Options: o, shown: Hashed(o.GetSessionSecret())})
		}
		for _, change := range changes {
			got, err := digests.of(change)
			if err != nil || hex.EncodeToString(got) != c.want {
				t.Errorf("%s: the digest is %x (%v), want %s", c.name, got, err, c.want)
			}
			if !proto.Equal(before, c.request) {
				t.Errorf("%s: the request is %v afterwards, want %v", c.name, c.request, before)
			}
		}
	}
}

// BenchmarkDigest makes the digest of a put of 256 bytes.
func BenchmarkDigest(b *testing.B) {
	put, digests := askedPut(), &digester{}
	change := &Change{Request: put, Options: put.GetOptions(), shown: Hashed(put.GetOptions().GetSessionSecret())}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := digests.of(change); err != nil {
			b.Fatal(err)
		}
	}
}
