package audit_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/reason"
)

const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

func TestLinesOfAdministratorsSayWhatIsChanged(t *testing.T) {
	const id, text = "0190b5a4-0000-7000-8000-000000000001", "tnr1_secret"
	made := &tenurev1.Token{Accessor: id, Name: "web"}
	type target = map[string]any
	policies := []any{"p", "q"}
	for method, tc := range map[string]struct {
		request, response proto.Message
		want              target
	}{
		"BootstrapAuth": {
			&tenurev1.BootstrapAuthRequest{Token: text, Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE, Nonce: "n"},
			&tenurev1.BootstrapAuthResponse{Accessor: id, Mode: tenurev1.AuthMode_AUTH_MODE_WARN},
			target{"token": id, "mode": "warn"},
		},
		"ResetAuth": {
			&tenurev1.ResetAuthRequest{Token: text, Nonce: "n"},
			&tenurev1.ResetAuthResponse{Accessor: id, Mode: tenurev1.AuthMode_AUTH_MODE_WARN},
			target{"token": id, "mode": "warn"},
		},
		"SetAuthMode": {
			&tenurev1.SetAuthModeRequest{Mode: tenurev1.AuthMode_AUTH_MODE_ENFORCE}, &tenurev1.SetAuthModeResponse{}, target{"mode": "enforce"},
		},
		"PutPolicy":    {&tenurev1.PutPolicyRequest{Name: "p", Rules: "operator read"}, &tenurev1.PutPolicyResponse{}, target{"policy": "p"}},
		"DeletePolicy": {&tenurev1.DeletePolicyRequest{Name: "p"}, &tenurev1.DeletePolicyResponse{}, target{"policy": "p"}},
		"CreateToken": {
			&tenurev1.CreateTokenRequest{Name: "web", Policies: []string{"p", "q"}, Parent: id}, &tenurev1.CreateTokenResponse{Token: made, Text: text},
			target{"token": id, "name": "web", "policies": policies, "parent": id},
		},
		"RotateToken": { // one's own
			&tenurev1.RotateTokenRequest{}, &tenurev1.RotateTokenResponse{Token: made, Text: text}, target{"token": id, "name": "web"},
		},
		"RevokeToken": {&tenurev1.RevokeTokenRequest{Accessor: id}, &tenurev1.RevokeTokenResponse{}, target{"token": id}},
		"PutBinding": {
			&tenurev1.PutBindingRequest{Name: "b", Principal: "jwt:ci/", Policies: []string{"p", "q"}}, &tenurev1.PutBindingResponse{},
			target{"binding": "b", "principal": "jwt:ci/", "policies": policies},
		},
		"DeleteBinding": {&tenurev1.DeleteBindingRequest{Name: "b"}, &tenurev1.DeleteBindingResponse{}, target{"binding": "b"}},
		"PutProvider": {
			&tenurev1.PutProviderRequest{Name: "ci", Issuer: "https://ci.example", Jwks: "keys"}, &tenurev1.PutProviderResponse{},
			target{"provider": "ci", "issuer": "https://ci.example"},
		},
		"DeleteProvider": {&tenurev1.DeleteProviderRequest{Name: "ci"}, &tenurev1.DeleteProviderResponse{}, target{"provider": "ci"}},
	} {
		got := line(t, "/tenure.v1.AuthService/"+method, tc.request, tc.response, nil)
		if !reflect.DeepEqual(got["target"], tc.want) {
			t.Errorf("%s: got the target %v, want %v", method, got["target"], tc.want)
		}
		if strings.Contains(fmt.Sprint(got), text) {
			t.Errorf("%s: the line has the text of a token: %v", method, got)
		}
	}
	methods := tenurev1.File_tenure_v1_auth_proto.Services().ByName("AuthService").Methods()
	for i := range methods.Len() {
		method := methods.Get(i)
		known, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
		if err != nil {
			t.Fatal(err)
		}
		got := line(t, "/tenure.v1.AuthService/"+string(method.Name()), known.New().Interface(), &tenurev1.PutPolicyResponse{}, nil)
		if _, has := got["target"]; got != nil && !has {
			t.Errorf("%s is a line of an administrator without a target", method.Name())
		}
	}
}

func TestATextOfATokenInPlaceOfANameIsNotWritten(t *testing.T) {
	jwt := func(header string) string {
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(header)) + "." + encode([]byte(`{"iss":"https://ci.example","sub":"job"}`)) + "." + encode([]byte("a signature"))
	}
	for kind, text := range map[string]string{
		"a token": "tnr1_secret", "a JSON Web Token": jwt(`{"alg":"ES256"}`), "one of another writer": jwt("{\n  \"alg\": \"ES256\"}"),
		"one in a header": "Bearer " + jwt(`{"alg":"ES256"}`), "one without a signature": strings.TrimRight(jwt(`{"alg":"none"}`), "_-"+alphanumerics),
	} {
		for method, request := range map[string]proto.Message{
			"AuthService/PutPolicy":         &tenurev1.PutPolicyRequest{Name: "a" + text},
			"AuthService/CreateToken":       &tenurev1.CreateTokenRequest{Name: text, Policies: []string{text}},
			"AuthService/RevokeToken":       &tenurev1.RevokeTokenRequest{Accessor: text},
			"AuthService/PutBinding":        &tenurev1.PutBindingRequest{Name: text, Principal: text, Policies: []string{text}},
			"AuthService/PutProvider":       &tenurev1.PutProviderRequest{Name: text, Issuer: text},
			"KVService/Put":                 &tenurev1.PutRequest{Key: "service/" + text},
			"SessionService/CreateSession":  &tenurev1.CreateSessionRequest{Name: text},
			"SessionService/DestroySession": &tenurev1.DestroySessionRequest{SessionId: text},
		} {
			got := line(t, "/tenure.v1."+method, request, nil, reason.Invalid("name", "is wrong"))
			if got == nil || strings.Contains(fmt.Sprint(got), text) {
				t.Errorf("%s with %s: got %v, want a line without its text", method, kind, got)
			}
		}
	}
	for _, name := range []string{"eye.of.the-tiger", "exporters.production.example.net", "eyJ", "jwt:ci/project:web:"} {
		got := line(t, "/tenure.v1.AuthService/PutPolicy", &tenurev1.PutPolicyRequest{Name: name}, &tenurev1.PutPolicyResponse{}, nil)
		if !strings.Contains(fmt.Sprint(got), name) {
			t.Errorf("got %v, want a line with the name %q", got, name)
		}
	}
	long := line(t, "/tenure.v1.AuthService/PutPolicy", &tenurev1.PutPolicyRequest{Name: strings.Repeat("\u00e9", 1<<20)}, nil, reason.Invalid("name", "is long"))
	if size := len(fmt.Sprint(long)); size > 2048 {
		t.Errorf("a name that is far too long makes a line of %d bytes", size)
	}
}

// TestACallThatAsksForANonceIsALineAndNoDenial has the two calls of each bootstrap and reset: the first one asks for the nonce.
func TestACallThatAsksForANonceIsALineAndNoDenial(t *testing.T) {
	refused := reason.New(tenurev1.ErrorReason_ERROR_REASON_PERMISSION_DENIED, "wrong").With("needs", "nonce")
	for nonce, want := range map[string]any{"": "asked_for_nonce", "wrong": "denied"} {
		for method, request := range map[string]proto.Message{
			tenurev1.AuthService_BootstrapAuth_FullMethodName: &tenurev1.BootstrapAuthRequest{Token: "t", Nonce: nonce},
			tenurev1.AuthService_ResetAuth_FullMethodName:     &tenurev1.ResetAuthRequest{Token: "t", Nonce: nonce},
		} {
			got := line(t, method, request, nil, refused)
			if got["decision"] != want || got["applied"] != "no" || got["reason"] != "PERMISSION_DENIED" || got["address"] == nil {
				t.Errorf("%s with the nonce %q: got %v, want the decision %v", method, nonce, got, want)
			}
		}
	}
}
