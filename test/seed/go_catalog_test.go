package seed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// TestThePageOnGoFollowsTheCatalog makes one program of what docs/clients/go.md has about services, checks and prepared queries, and runs it with
// an agent: where the page has "...", the program ends if there is an error, and looks at the first of the changes.
func TestThePageOnGoFollowsTheCatalog(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/clients/go.md")
	if err != nil {
		t.Fatal(err)
	}
	text, uses := strings.Builder{}, []string{"registered", "session", "services", "id", "result"}
	text.WriteString("package main\n\nimport (\n\t\"context\"\n\t\"fmt\"\n\t\"log\"\n\t\"os\"\n\t\"time\"\n\n\ttenure \"github.com/tenure-io/tenure/clients/go\"\n)\n\n" +
		"func main() {\nctx := context.Background()\nclient, err := tenure.Open(os.Args[1])\n...\n")
	for _, name := range []string{"Services and checks", "Prepared queries"} {
		_, section, _ := strings.Cut(string(page), "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, block := range goBlock.FindAllStringSubmatch(section, -1) {
			text.WriteString(block[1] + "if err != nil { log.Fatal(err) }\n")
		}
	}
	for _, name := range uses {
		text.WriteString("_ = " + name + "\n")
	}
	program := strings.ReplaceAll(text.String(), "\n\t...\n", "\nfmt.Println(len(all[\"web\"]), \"instances\", err)\nif len(all[\"web\"]) > 0 { break }\n")
	program = strings.ReplaceAll(program, "\n...\n", "\nif err != nil { log.Fatal(err) }\n") + "fmt.Println(\"done\")\n}\n"
	file := filepath.Join(t.TempDir(), "main.go")
	if err = os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	member := rig.Start(t.Context(), t, binary)
	agent := rig.StartAgent(t.Context(), t, binary, "web1", member.Addresses.GRPC)
	run := exec.CommandContext(t.Context(), "go", "run", file, "tenure://"+member.Addresses.GRPC)
	run.Dir, run.Env = filepath.Join("..", ".."), append(os.Environ(), "TENURE_AGENT="+agent.Address)
	out, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 instances <nil>\n") || !strings.HasSuffix(string(out), "done\n") {
		t.Errorf("%v\n%s\nthe program:\n%s", err, out, program)
	}
}
