package agent

import (
	"go.uber.org/zap"

	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/certs"
)

// secured makes the handshakes of the agent's listeners; nothing in it without TLS.
type secured struct{ grpc, http *certs.Handshaker }

// secure returns what makes the handshakes, and shows its metrics.
func (a *Agent) secure(callers share.Callers) (secured, error) {
	var s secured
	if a.certificates != nil {
		of := func(name string) *certs.Handshaker {
			return a.certificates.Handshaker(certs.ListenOptions{
				Name: name, Auth: a.options.TLS.Asked(), Callers: callers, Logger: a.options.Logger,
			})
		}
		s = secured{grpc: of("grpc"), http: of("http")}
	}
	return s, certs.Register(a.options.Registry, map[string]*certs.Source{"clients": a.certificates},
		map[string]*certs.Handshaker{"grpc": s.grpc, "http": s.http})
}

// warnOfOthers logs the addresses at which, as was accepted, other machines act as the agent
// without having to show anything, or have it run programs.
func (a *Agent) warnOfOthers() {
	if a.certificates != nil && a.options.TLS.Asked() == certs.AuthRequire && a.options.Exec != ExecAPI {
		return
	}
	text := "anyone who can reach this address can change what the agent registers; listen on a loopback address, or demand certificates with --client-auth require"
	if a.options.Exec == ExecAPI {
		text = "anyone who can connect to this address can have the agent run programs; listen on a loopback address, or let only files register programs"
	}
	for _, address := range []string{a.serving.GRPC, a.serving.HTTP, a.serving.Consul} {
		if address != "" && !loopback(address) {
			a.options.Logger.Warn(text, zap.String("address", address))
		}
	}
}

// covers reports whether the agent's certificate is for a host.
func (a *Agent) covers(host string) bool { return a.certificates != nil && a.certificates.Covers(host) }

// RenewCertificates looks at the files of TLS. It does so every few seconds by itself.
func (a *Agent) RenewCertificates() {
	if a.certificates != nil {
		a.certificates.Reload()
	}
}
