package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/agent/config"
	"github.com/tenure-io/tenure/agent/registry"
)

// everySetting is a file of a service and of checks with every setting there is.
const everySetting = `
services:
  - {name: web, id: web-1, port: 80, address: a, tags: [t], meta: {"m": v}, weights: {passing: 1, warning: 1}, tag_override: true, checks: [{id: of, ttl: 30s}]}
checks:
  - {id: c1, ttl: 30s, name: n, notes: n, service: web-1, status: passing}
  - {id: c2, http: "https://a/", method: PUT, header: {A: [b]}, body: x, follow_redirects: true, tls_server_name: s, tls_ca_file: f, tls_skip_verify: true}
  - {id: c3, tcp: "a:1", interval: 2s, timeout: 1s, success_before_passing: 2, failures_before_warning: 2, failures_before_critical: 3}
  - {id: c4, grpc: "a:1", grpc_service: s, grpc_tls: true}
  - {id: c5, exec: ["true"], service: web-1, deregister_critical_after: 1m}
  - {id: c6, alias: {node: n, service: s}}
`

// TestThePageNamesEverySetting reads the tables of docs/agent.md: each setting there can be set, and each that can be set is there. A kind is as
// the page writes it.
func TestThePageNamesEverySetting(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(raw), "\n## Files\n")
	section, _, _ = strings.Cut(section, "\n## ")
	load := func(text string) (registry.Content, error) {
		return config.Load(put(t, t.TempDir(), "a.yaml", text), config.Options{Exec: true})
	}
	if _, err = load(everySetting); err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("[a-z_]{2,}")
	known := map[string]bool{"checks": true}
	for _, name := range regexp.MustCompile(`[{ ]([a-z_]+): `).FindAllStringSubmatch(everySetting, -1) {
		known[name[1]] = true
	}
	for name := range known {
		if !regexp.MustCompile("[`{ ]" + name + "[`:]").MatchString(section) {
			t.Errorf("the page does not name the setting %s", name)
		}
	}
	values := strings.NewReplacer("URL", `"http://a/"`, "HOST:PORT", `"a:1"`, "PROGRAM", `"true"`, "ARGUMENT", `"x"`, "NODE", "n", "ID", "i")
	kinds := 0
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(section, -1) {
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if name := word.FindString(code[1]); !known[name] {
				t.Errorf("the page names the setting %s, which everySetting lacks", name)
			}
			if strings.Contains(code[1], ": ") {
				kinds++
				content, err := load("checks: [{id: c, " + values.Replace(code[1]) + "}]")
				if err != nil || len(content.Checks) != 1 {
					t.Errorf("%s: %v", code[1], err)
				}
			}
		}
	}
	if kinds != 6 {
		t.Errorf("the page has %d kinds, want 6", kinds)
	}
}
