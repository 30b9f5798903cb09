package audit

import (
	"regexp"
	"strings"

	"github.com/google/uuid"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// targetBytesMax is how much of a name is written: a request that is refused may have any.
	targetBytesMax = 256
	// tokenBytesMax is how long a token may be that anybody accepts.
	tokenBytesMax = 8 << 10
	// targetPoliciesMax is how many policies of a token or a binding are written.
	targetPoliciesMax = 32
	// notWritten stands for the text of a token: somebody may have mistaken one for a name.
	notWritten = "(the text of a token)"
)

// tokenForm is what a token of a cluster begins with, and a JSON Web Token: a JSON object in base64url, with or without space behind its brace,
// then its claims. The signature may be missing, as claims alone say who somebody is.
var tokenForm = regexp.MustCompile(`tnr1_|e(yJ|yA|wo|w0|wk)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.`)

// Target is what a call about tokens and policies changes. It never has the text of a token, nor rules or keys of providers.
type Target struct {
	Policy    string   `json:"policy,omitempty"`
	Token     string   `json:"token,omitempty"` // its accessor
	Binding   string   `json:"binding,omitempty"`
	Provider  string   `json:"provider,omitempty"`
	Parent    string   `json:"parent,omitempty"` // accessor of the parent of a token that is made
	Name      string   `json:"name,omitempty"`   // of a token
	Principal string   `json:"principal,omitempty"`
	Issuer    string   `json:"issuer,omitempty"`
	Policies  []string `json:"policies,omitempty"`
	Mode      string   `json:"mode,omitempty"`
}

// targetOf returns what a request is about; nil if it changes nothing about tokens and policies.
func targetOf(request any) *Target {
	switch r := request.(type) {
	case *tenurev1.BootstrapAuthRequest:
		return &Target{Mode: modeOf(r.GetMode())}
	case *tenurev1.ResetAuthRequest:
		return &Target{}
	case *tenurev1.SetAuthModeRequest:
		return &Target{Mode: modeOf(r.GetMode())}
	case *tenurev1.PutPolicyRequest:
		return &Target{Policy: clip(r.GetName())}
	case *tenurev1.DeletePolicyRequest:
		return &Target{Policy: clip(r.GetName())}
	case *tenurev1.CreateTokenRequest:
		return &Target{Name: clip(r.GetName()), Policies: clipAll(r.GetPolicies()), Parent: accessor(r.GetParent())}
	case *tenurev1.RotateTokenRequest:
		return &Target{Token: accessor(r.GetAccessor())}
	case *tenurev1.RevokeTokenRequest:
		return &Target{Token: accessor(r.GetAccessor())}
	case *tenurev1.PutBindingRequest:
		return &Target{Binding: clip(r.GetName()), Principal: clip(r.GetPrincipal()), Policies: clipAll(r.GetPolicies())}
	case *tenurev1.DeleteBindingRequest:
		return &Target{Binding: clip(r.GetName())}
	case *tenurev1.PutProviderRequest:
		return &Target{Provider: clip(r.GetName()), Issuer: clip(r.GetIssuer())}
	case *tenurev1.DeleteProviderRequest:
		return &Target{Provider: clip(r.GetName())}
	default:
		return nil
	}
}

// answered adds what only the response of a call says.
func (t *Target) answered(response any) {
	if t == nil {
		return
	}
	switch r := response.(type) {
	case interface{ GetToken() *tenurev1.Token }:
		t.Token, t.Name = accessor(r.GetToken().GetAccessor()), clip(r.GetToken().GetName())
	case interface{ GetAccessor() string }:
		t.Token = accessor(r.GetAccessor())
	}
	if r, ok := response.(interface{ GetMode() tenurev1.AuthMode }); ok {
		t.Mode = modeOf(r.GetMode())
	}
}

// modeOf returns the word for a mode; empty for one that is not known.
func modeOf(m tenurev1.AuthMode) string {
	switch m {
	case tenurev1.AuthMode_AUTH_MODE_OFF, tenurev1.AuthMode_AUTH_MODE_WARN, tenurev1.AuthMode_AUTH_MODE_ENFORCE:
		return strings.ToLower(strings.TrimPrefix(m.String(), "AUTH_MODE_"))
	default:
		return ""
	}
}

// accessor returns an accessor; of a text that is none, nothing.
func accessor(text string) string {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(id.String()) {
		return ""
	}
	return id.String()
}

// clip returns a name without what is too long, and not if it has the text of a token.
func clip(name string) string {
	if hasToken(name) {
		return notWritten
	}
	if len(name) > targetBytesMax {
		return strings.Clone(strings.ToValidUTF8(name[:targetBytesMax], "")) // The request is not kept for it.
	}
	return name
}

// hasToken reports whether what may be written of a name has the text of a token, or a part of one. What is far behind that is not looked at: a name may
// have a megabyte.
func hasToken(name string) bool {
	return tokenForm.MatchString(name[:min(len(name), targetBytesMax+tokenBytesMax)])
}

// clipAll returns the first of some names.
func clipAll(names []string) []string {
	var all []string
	for _, name := range names[:min(targetPoliciesMax, len(names))] {
		all = append(all, clip(name))
	}
	return all
}
