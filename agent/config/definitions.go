package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/registry"
)

// service reads an instance of a service, and its checks.
func (r *reader) service(n *yaml.Node) {
	var s registry.Service
	var checks []*yaml.Node
	weights := registry.Weights{Passing: 1, Warning: 1}
	there := r.fields(n, fields{
		"id": r.text(&s.ID), "name": r.text(&s.Name), "tags": r.texts(&s.Tags), "address": r.text(&s.Address),
		"port": r.number(func(v uint32) { s.Port = v }),
		"meta": r.pairs(func(name string, n *yaml.Node) {
			if value, ok := r.scalar(n, "a text"); ok {
				if s.Meta == nil {
					s.Meta = map[string]string{}
				}
				s.Meta[name] = value
			}
		}),
		"weights": func(n *yaml.Node) {
			r.fields(n, fields{
				"passing": r.number(func(v uint32) { weights.Passing = v }),
				"warning": r.number(func(v uint32) { weights.Warning = v }),
			})
		},
		"tag_override": r.flag(&s.TagOverride),
		"checks":       r.each(func(n *yaml.Node) { checks = append(checks, n) }),
	})
	if there.lines["weights"] != 0 {
		s.Weights = &weights
	}
	r.violations(n, there, s.Violations())
	s = s.WithDefaults()
	if s.ID != "" {
		if first, again := r.services[s.ID]; again {
			r.mistake(r.at(n), "service id %q is repeated; it is first in %s", s.ID, first)
		} else {
			r.services[s.ID] = r.at(n)
			r.found.Services = append(r.found.Services, s)
		}
	}
	for _, c := range checks {
		r.check(c, s.ID)
	}
}

// violations adds what is wrong with values, each where its setting is.
func (r *reader) violations(n *yaml.Node, there settings, all []check.Violation) {
	for _, v := range all {
		if there.failed[v.Field] {
			continue
		}
		at := r.at(n)
		if line, is := there.lines[v.Field]; is {
			at.line = line
		}
		r.mistake(at, "%s %s", v.Field, v.Problem)
	}
}

// kinds are the settings that decide the kind of a check, and the further settings that go with each.
var kinds = map[string][]string{
	"ttl":   nil,
	"http":  {"method", "header", "body", "follow_redirects", "tls_server_name", "tls_ca_file", "tls_skip_verify"},
	"tcp":   nil,
	"grpc":  {"grpc_service", "grpc_tls", "tls_server_name", "tls_ca_file", "tls_skip_verify"},
	"exec":  nil,
	"alias": nil,
}

// check reads a check, of the service with that id unless it is empty.
func (r *reader) check(n *yaml.Node, serviceID string) {
	d := check.Definition{ServiceID: serviceID}
	k := &kindSettings{}
	known := fields{
		"id": r.text(&d.ID), "name": r.text(&d.Name), "notes": r.text(&d.Notes), "status": r.status(&d.Status),
		"interval": r.duration(&d.Interval), "timeout": r.duration(&d.Timeout),
		"success_before_passing":    r.count(&d.SuccessBeforePassing),
		"failures_before_warning":   r.count(&d.FailuresBeforeWarning),
		"failures_before_critical":  r.count(&d.FailuresBeforeCritical),
		"deregister_critical_after": r.duration(&d.DeregisterCriticalAfter),
	}
	if serviceID == "" {
		known["service"] = r.text(&d.ServiceID)
	}
	k.register(r, known)
	there := r.fields(n, known)
	var ok bool
	if d.Kind, ok = r.kind(n, k, there.lines); !ok {
		return
	}
	r.violations(n, there, d.Violations())
	if _, is := d.Kind.(check.Exec); is && !r.options.Exec {
		r.mistake(place{file: r.file, line: there.lines["exec"]}, "checks of kind exec are not enabled; start the agent with --enable-exec=file")
	}
	if d.ID == "" {
		return
	}
	if first, again := r.checks[d.ID]; again {
		r.mistake(r.at(n), "check id %q is repeated; it is first in %s", d.ID, first)
		return
	}
	r.checks[d.ID], r.about[d.ID] = r.at(n), r.at(n)
	if line, is := there.lines["service"]; is {
		r.about[d.ID] = place{file: r.file, line: line}
	}
	r.found.Checks = append(r.found.Checks, d)
}

// kindSettings are the settings of all kinds.
type kindSettings struct {
	ttl     check.TTL
	http    check.HTTP
	tcp     check.TCP
	grpc    check.GRPC
	grpcTLS bool
	exec    check.Exec
	alias   check.Alias
	tls     check.TLS
}

// register adds what reads them.
func (k *kindSettings) register(r *reader, known fields) {
	known["ttl"] = r.duration(&k.ttl.TTL)
	known["http"] = r.text(&k.http.URL)
	known["method"] = r.text(&k.http.Method)
	known["header"] = r.headers(&k.http.Header)
	known["body"] = r.text(&k.http.Body)
	known["follow_redirects"] = r.flag(&k.http.FollowRedirects)
	known["tcp"] = r.text(&k.tcp.Address)
	known["grpc"] = r.text(&k.grpc.Address)
	known["grpc_service"] = r.text(&k.grpc.Service)
	known["grpc_tls"] = r.flag(&k.grpcTLS)
	known["tls_server_name"] = r.text(&k.tls.ServerName)
	known["tls_ca_file"] = r.text(&k.tls.CAFile)
	known["tls_skip_verify"] = r.flag(&k.tls.SkipVerify)
	known["exec"] = r.texts(&k.exec.Args)
	known["alias"] = func(n *yaml.Node) {
		r.fields(n, fields{"node": r.text(&k.alias.Node), "service": r.text(&k.alias.Service)})
	}
}

// kind returns the kind that the settings decide; false if they do not.
func (r *reader) kind(n *yaml.Node, k *kindSettings, lines map[string]int) (check.Kind, bool) {
	var there []string
	for name := range kinds {
		if lines[name] != 0 {
			there = append(there, name)
		}
	}
	slices.Sort(there)
	switch len(there) {
	case 0:
		r.mistake(r.at(n), "the check has no kind: set one of ttl, http, tcp, grpc, exec and alias")
		return nil, false
	case 1:
	default:
		r.mistake(r.at(n), "the check has several kinds: %s", strings.Join(there, ", "))
		return nil, false
	}
	kind := there[0]
	for _, with := range kinds {
		for _, name := range with {
			if line := lines[name]; line != 0 && !slices.Contains(kinds[kind], name) {
				delete(lines, name)
				r.mistake(place{file: r.file, line: line}, "setting %q is not for a check of kind %s", name, kind)
			}
		}
	}
	switch kind {
	case "ttl":
		return k.ttl, true
	case "http":
		k.http.TLS = k.tls
		return k.http, true
	case "tcp":
		return k.tcp, true
	case "grpc":
		if k.grpcTLS {
			k.grpc.TLS = &k.tls
		} else if k.tls != (check.TLS{}) {
			r.mistake(r.at(n), "settings of TLS without \"grpc_tls: true\"")
		}
		return k.grpc, true
	case "exec":
		return k.exec, true
	default:
		return k.alias, true
	}
}
