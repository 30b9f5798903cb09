package instead

const (
	// TextACL is the text that clients look for where credentials are not looked at.
	TextACL = "ACL support disabled"
	// SentenceACL says what Tenure has in place of Consul's access control.
	SentenceACL = "Tenure's tokens and policies are managed with \"tenure auth\"."
)

// Sentences returns the parts of Consul's API that are not served, by their paths. Each says what Tenure has in its place. What only an agent serves is
// not offered by a member.
func Sentences(agent bool) map[string]string {
	const noAgent = "A member runs no checks; register services and checks with catalog/register, or run an agent: \"tenure agent --consul-http\", or \"tenure serve --with-agent\"."
	sentences := map[string]string{ //nolint:gosec // No credential is among them.
		"agent/connect/":            "Tenure has no service mesh; use TLS between your programs.",
		"agent/join/":               "Tenure's members are added with \"tenure member add\".",
		"agent/leave":               "Use \"tenure agent leave\"; a member is stopped with SIGTERM and removed with \"tenure member remove\".",
		"agent/reload":              "Use \"tenure agent reload\"; a member is restarted to change its flags.",
		"agent/metrics":             "Tenure's metrics are served for Prometheus, at /metrics of the address --http.",
		"agent/metrics/stream":      "Tenure's metrics are served for Prometheus, at /metrics of the address --http.",
		"agent/monitor":             "Tenure writes its log to standard error.",
		"agent/host":                "Tenure reports on itself with \"tenure status\".",
		"agent/token/":              "Clients of Tenure show who they are with each request.",
		"catalog/connect/":          "Tenure has no service mesh; use TLS between your programs.",
		"catalog/gateway-services/": "Tenure has no service mesh; use TLS between your programs.",
		"health/connect/":           "Tenure has no service mesh; use TLS between your programs.",
		"health/ingress/":           "Tenure has no service mesh; use TLS between your programs.",
		"event/":                    "Tenure has no user events; put a key and watch it.",
		"snapshot":                  "Tenure's backups are made with \"tenure backup\".",
		"connect/":                  "Tenure has no service mesh; use TLS between your programs.",
		"config/":                   "Tenure has no service mesh, and so no configuration entries.",
		"config":                    "Tenure has no service mesh, and so no configuration entries.",
		"discovery-chain/":          "Tenure has no service mesh; look services up by name.",
		"peering/":                  "Tenure has no peered clusters; run one cluster and several clients.",
		"peering":                   "Tenure has no peered clusters; run one cluster and several clients.",
		"peerings":                  "Tenure has no peered clusters; run one cluster and several clients.",
		"exported-services":         "Tenure has no peered clusters; run one cluster and several clients.",
		"imported-services":         "Tenure has no peered clusters; run one cluster and several clients.",
		"namespace/":                "Tenure has no namespaces here; give your keys a prefix.",
		"namespace":                 "Tenure has no namespaces here; give your keys a prefix.",
		"namespaces":                "Tenure has no namespaces here; give your keys a prefix.",
		"partition/":                "Tenure has no admin partitions; give your keys a prefix.",
		"partition":                 "Tenure has no admin partitions; give your keys a prefix.",
		"partitions":                "Tenure has no admin partitions; give your keys a prefix.",
		"coordinate/":               "Tenure has no network coordinates; give nodes a zone, and ask with near.",
		"operator/keyring":          "Tenure encrypts with TLS, and has no keyring.",
		"operator/raft/peer":        "Remove a member with \"tenure member remove\".",
		"operator/raft/":            "Tenure's members are shown by \"tenure members\", and leadership is transferred with \"tenure member transfer-leader\".",
		"operator/autopilot/":       "Tenure has no autopilot; \"tenure status\" reports problems.",
		"operator/usage":            "Tenure reports how much it stores with \"tenure status\".",
		"operator/utilization":      "Tenure reports how much it stores with \"tenure status\".",
		"operator/area":             "Tenure has no network areas.",
		"operator/audit-hash":       "Tenure's audit log is set up with the flags of \"tenure serve\" that start with --audit.",
		"operator/license":          "Tenure needs no license.",
		"operator/segment":          "Tenure has no network segments.",
		"internal/":                 "This part of Consul's API is for its own user interface; use catalog and health, or the program \"tenure\".",
	}
	if !agent {
		for _, path := range []string{"agent/check/", "agent/checks", "agent/service/", "agent/services", "agent/health/", "agent/maintenance"} {
			sentences[path] = noAgent
		}
	}
	return sentences
}
