package server_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/auth"
	"github.com/tenure-io/tenure/server/identity"
)

// TestResetNeedsTheNonce makes an admin token without one, as somebody who lost it does.
func TestResetNeedsTheNonce(t *testing.T) {
	m := start(t, alone)
	token := identity.NewToken()
	reset := func(nonce string) (*tenurev1.ResetAuthResponse, error) {
		return m.auth().ResetAuth(t.Context(), &tenurev1.ResetAuthRequest{Token: token, Nonce: nonce})
	}
	_, err := reset("")
	wantDenied(t, err, "nonce")
	nonce := m.nonce(t)
	_, err = reset(nonce)
	wantError(t, err, codes.FailedPrecondition, "AUTH_NOT_BOOTSTRAPPED")
	lost := m.bootstrap(t, modeEnforce)
	if _, err = m.auth().RevokeToken(as(t.Context(), lost), &tenurev1.RevokeTokenRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err = reset("")
	wantDenied(t, err, "nonce")
	if again := m.nonce(t); again != nonce {
		t.Error("a nonce that is still good was replaced")
	}
	made, err := reset(nonce)
	if err != nil {
		t.Fatal(err)
	}
	if again, failed := reset(nonce); failed != nil || again.GetAccessor() != made.GetAccessor() || again.GetMode() != modeEnforce {
		t.Errorf("the same token again: got %v, %v, want %v", again, failed, made)
	}
	if _, err = m.auth().ListTokens(as(t.Context(), token), &tenurev1.ListTokensRequest{}); err != nil {
		t.Errorf("the new token: %v", err)
	}
	_, err = reset("wrong")
	wantDenied(t, err, "nonce")
	_, err = reset("wrong again")
	wantError(t, err, codes.ResourceExhausted, "TOO_MANY_REQUESTS")
	if _, err = reset(nonce); err != nil {
		t.Errorf("the right nonce after wrong ones: %v", err)
	}
}

// nonce returns what the member wrote into its directory.
func (m *member) nonce(t *testing.T) string {
	t.Helper()
	file, err := m.fs.Open("data/" + auth.NonceFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
