package tenure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tenure-io/tenure/test/rig"
)

// TestTheExamplesRun runs every example of the package against a real member, and looks at what it prints.
func TestTheExamplesRun(t *testing.T) {
	examples := map[string]struct {
		run   func()
		print string
	}{
		"Example":                       {Example, "<nil>\n"},
		"ExampleLock_TryAcquire":        {ExampleLock_TryAcquire, "mine until further notice\nbusy: 1 have it, 0 lost it a moment ago, 0 wait\none is .+\n"},
		"ExampleHeld_Safe":              {ExampleHeld_Safe, "41 <nil>\n42 <nil>\n"},
		"ExampleElection_Run":           {ExampleElection_Run, "leading: true\ntrue\n"},
		"ExampleClient_Watch":           {ExampleClient_Watch, "0 keys\nconfig/level is debug\nconfig/level is gone\n"},
		"ExampleSession_OnState":        {ExampleSession_OnState, "CONNECTED \nCLOSED closed\n"},
		"ExampleSession_Export":         {ExampleSession_Export, "1 <nil>\n"},
		"ExampleKV_Txn":                 {ExampleKV_Txn, "true 2\n"},
		"ExampleClient_OpenServiceList": {ExampleClient_OpenServiceList, "10.0.0.1:8080 on web1\n<nil>\n"},
		"ExampleWithChecks":             {ExampleWithChecks, "false CHECK_CRITICAL\n"},
	}
	file, err := parser.ParseFile(token.NewFileSet(), "example_test.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
			continue
		}
		if _, known := examples[f.Name.Name]; !known {
			t.Errorf("%s is not run", f.Name.Name)
		}
	}
	member := rig.Start(t.Context(), t, binary)
	awaitCatalog(t, member)
	t.Setenv("TENURE_ENDPOINTS", member.Addresses.GRPC)
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			if got := printed(t, example.run); !regexp.MustCompile("^" + example.print + "$").MatchString(got) {
				t.Errorf("printed %q, want %q", got, example.print)
			}
		})
	}
}

// printed returns what is printed meanwhile.
func printed(t *testing.T, run func()) string {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string, 1)
	go func() {
		all, err := io.ReadAll(reader)
		if err != nil {
			t.Error(err)
		}
		text <- string(all)
	}()
	stdout := os.Stdout
	os.Stdout = writer
	defer func() { os.Stdout = stdout }()
	run()
	_ = writer.Close() // The reader tells whether all came.
	return <-text
}
