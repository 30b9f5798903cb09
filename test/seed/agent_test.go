package seed_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// typed is a command of a page by how it begins, and what it prints, sooner or later.
type typed struct{ command, prints string }

// agentPrints are the commands that docs/agent.md has for terminal 3, in order.
// HTTP is where the agent of the page serves REST.
var agentPrints = []typed{
	{"tenure agent info", `(?ms)^node +web1$.*^services +1$.*^checks +2$`},
	{"tenure service list", `(?m)^web-1 +web +8080 +critical +file `},
	{"tenure check list", `(?m)^web-up +web-1 +http `},
	{"tenure check pass web-job", `Success! Check passing: web-job`},
	{"tenure catalog services web --passing", `(?m)^web1 +web-1 +web +\S+ +passing +blue$`},
	{"tenure session create --node web1", `(?m)^[0-9a-f]{8}-[0-9a-f-]{27}$`},
	{"tenure service register job", `Success! Service registered: job`},
	{"tenure check register job-up", `Success! Check registered: job-up`},
	{"tenure check warn job-up", `Success! Check warning: job-up`},
	{"tenure agent maintenance on", `Success! Maintenance is on`},
	{"tenure check list", `(?ms)^_maintenance:web-1 +web-1 +maintenance +critical .* new version$.*^job-up +job +ttl +warning .* slow$`},
	{"tenure agent maintenance off", `Success! Maintenance is off`},
	{"tenure service deregister job", `Success! Service deregistered: job`},
	{"tenure agent reload", `Success! The files have 1 service and 2 checks`},
	{"curl HTTP/v1/agent/services -d", `\{"header":\{.*"serviceId":"api"`},
	{"curl -X PUT 'HTTP/v1/agent/check-reports/api-up?", `\{"header":\{`},
	{"curl HTTP/v1/agent/checks", `"checkId":"api-up",.*?"status":"CHECK_STATUS_PASSING"`},
	{"curl -X PUT HTTP/v1/agent/maintenance", `"checkId":"_maintenance"`},
	{"curl -X PUT HTTP/v1/agent/maintenance", `\{"header":\{`},
	{"curl -X DELETE HTTP/v1/agent/services/api", `"removed":true`},
	{"tenure agent leave", `Success!`},
}

var (
	flagOfTable   = regexp.MustCompile("(?m)^\\| `(--[a-z-]+)` \\|")
	metricOfTable = regexp.MustCompile("(?m)^\\| `(tenure_agent_[a-z_]+)` \\|")
)

// TestThePageOnTheAgent types docs/agent.md from top to bottom into three terminals: three members, a service and the agent of its machine, every
// command that calls the agent, by hand and over REST, the end of the agent, and an agent inside a member. Each command must print what
// agentPrints says. The page's flags and metrics must be there.
func TestThePageOnTheAgent(t *testing.T) {
	t.Parallel()
	at := portsOf(rand.IntN(300))
	rest := at(6)
	page := pageWith(t, "../../docs/agent.md", map[string]string{
		"make cluster":   clusterAt(t, at(0)),
		"127.0.0.1:7400": at(0), "127.0.0.1:7410": at(10), "127.0.0.1:7420": at(20), "127.0.0.1:7404": at(4),
		"127.0.0.1:7405": rest, "localhost:7405": rest, "127.0.0.1:8080": at(5), "http.server 8080": "http.server " + portOf(at(5)),
	})
	terminals := openTerminals(t, "1", "2", "3")
	// What the page leaves to the defaults.
	terminals["2"].run("export TENURE_AGENT_LISTEN=" + at(4) + " TENURE_AGENT_HTTP=" + rest +
		" TENURE_LISTEN=" + at(24) + " TENURE_HTTP=" + at(25) + " TENURE_PEER=" + at(26))
	terminals["3"].run("export TENURE_AGENT=" + at(4))
	name, end, left := "", 0, agentPrints
	for _, found := range shellBlock.FindAllStringSubmatchIndex(page, -1) {
		if named := terminalWord.FindAllStringSubmatch(page[end:found[0]], -1); named != nil {
			name = named[len(named)-1][1]
		}
		block := page[found[2]:found[3]]
		end = found[1]
		switch {
		case strings.HasPrefix(block, "export "):
			terminals["2"].run(block)
			terminals["3"].run(block)
		case strings.Contains(block, "cluster.sh"):
			terminals[name].enter(block)
			terminals[name].await("Ctrl-C stops the three members", 1)
		case strings.Contains(block, "tenure agent --data-dir"):
			terminals[name].enter(block)
			terminals[name].await("tenure: agent node=web1 ", 1)
		case strings.HasPrefix(block, "tenure serve "):
			terminals["2"].enter(block)
			terminals["2"].await("tenure: agent grpc=", 1)
		default:
			left = typeCommands(t, terminals[name], strings.ReplaceAll(block, rest, "HTTP"), rest, left)
		}
	}
	if len(left) > 0 {
		t.Errorf("the page lacks commands: %v", left)
	}
	info := terminals["3"].output("tenure agent info")
	if !strings.Contains(info, "db1") {
		t.Errorf("the agent inside the member says %s", info)
	}
	help := terminals["3"].output("tenure agent --help")
	for _, flag := range flagOfTable.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(help, " "+flag[1]+" ") {
			t.Errorf("there is no flag %s", flag[1])
		}
	}
	metrics := terminals["3"].output("curl -sS " + rest + "/metrics")
	for _, metric := range metricOfTable.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(metrics, "# TYPE "+metric[1]+" ") {
			t.Errorf("there is no metric %s", metric[1])
		}
	}
	for _, x := range terminals {
		if strings.Contains(x.printed(), "it fails: ") {
			t.Errorf("a command of the page fails in terminal %s", x.name)
		}
	}
}

// typeCommands types the commands of a block, which are the next ones of those that are left, and returns the rest. A command that only looks is
// typed again until it prints what it must.
func typeCommands(t *testing.T, x *terminal, block, rest string, left []typed) []typed {
	t.Helper()
	for line := range strings.Lines(block) {
		if len(left) == 0 || !strings.HasPrefix(line, left[0].command) {
			t.Fatalf("this test does not know what this command prints, or it knows another one: %s", line)
		}
		prints := regexp.MustCompile(left[0].prints)
		left = left[1:]
		looks := strings.Contains(line, " list") || strings.Contains(line, " info") || strings.Contains(line, "catalog services") ||
			strings.Contains(line, "/v1/health/")
		eventually(t, "what "+line+" prints matches "+prints.String(), func() bool {
			printed := x.output(strings.ReplaceAll(line, "HTTP", rest))
			if !looks && !prints.MatchString(printed) {
				t.Fatalf("%s\nprints: %s\nwant: %s", line, printed, prints)
			}
			return prints.MatchString(printed)
		})
	}
	return left
}
