package seed_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestThePageOnConsul types docs/consul.md from top to bottom into three terminals: a session at a member's address for clients of Consul, then a
// service with a check at that of an agent, which is found when it passes.
func TestThePageOnConsul(t *testing.T) {
	t.Parallel()
	at := portsOf(600 + rand.IntN(100))
	page := pageWith(t, "../../docs/consul.md", map[string]string{"127.0.0.1:8500": at(5), "127.0.0.1:8501": at(6)})
	terminals := openTerminals(t, "1", "2", "3")
	// What the page leaves to the defaults.
	terminals["1"].run("export TENURE_LISTEN=" + at(0) + " TENURE_HTTP=" + at(1) + " TENURE_PEER=" + at(2))
	terminals["3"].run("export TENURE_ENDPOINTS=" + at(0) + " TENURE_AGENT_LISTEN=" + at(3) + " TENURE_AGENT_HTTP=" + at(4))
	name, end := "", 0
	left := []typed{
		{"curl -X PUT -d '{\"Name\": \"web-1\"", `\{"ID":"[0-9a-f-]{36}"\}`},
		{"curl -X PUT -d '{\"Name\": \"web\"", ``},
		{"curl -X PUT http://HTTP/v1/agent/check/pass/service:web", ``},
		{"curl 'http://HTTP/v1/health/service/web?passing'", `"Service":"web",.*"Port":8080`},
	}
	for _, found := range shellBlock.FindAllStringSubmatchIndex(page, -1) {
		if named := terminalWord.FindAllStringSubmatch(page[end:found[0]], -1); named != nil {
			name = named[len(named)-1][1]
		}
		block := page[found[2]:found[3]]
		end = found[1]
		switch {
		case strings.Contains(block, "tenure serve"):
			terminals[name].enter(block)
			terminals[name].await("tenure: serving ", 1)
		case strings.Contains(block, "tenure agent"):
			terminals[name].enter(block)
			terminals[name].await("tenure: agent node=web1 ", 1)
		default:
			left = typeCommands(t, terminals[name], strings.ReplaceAll(block, at(6), "HTTP"), at(6), left)
		}
	}
	if len(left) > 0 {
		t.Errorf("the page lacks commands: %v", left)
	}
	for _, x := range terminals {
		if strings.Contains(x.printed(), "it fails: ") {
			t.Errorf("a command of the page fails in terminal %s", x.name)
		}
	}
}
