package conformance_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenure-io/tenure/clients/conformance/driver"
	"github.com/tenure-io/tenure/test/rig"
)

var (
	// binary is the tenure under test, and work a directory for what is built; TestMain sets them before any test runs.
	binary string
	work   string
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tenure-conformance-")
	if err == nil {
		work = dir
		binary, err = rig.Binary(context.Background(), dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// By itself go test runs as many tests at the same time as there are processors, and these wait. Its flag still has the last word.
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// atOnce is how many scenarios run at the same time at most: most of them mostly wait.
const atOnce = 6

// wanted tells whether a scenario is part of this run: the smoke, or with TENURE_CONFORMANCE=all everything; any other text is part of
// the names that are wanted.
func wanted(s *driver.Scenario) bool {
	switch choice := os.Getenv("TENURE_CONFORMANCE"); choice {
	case "":
		return s.Smoke
	case "all":
		return true
	default:
		return strings.Contains(s.Name, choice)
	}
}

// hasTurn tells whether a language runs a scenario. With -short each scenario is run by one language only, by turns, so that each language has its
// part of all that there is.
func hasTurn(scenario int, language string) bool {
	names := slices.Sorted(maps.Keys(agents))
	return !testing.Short() || names[scenario%len(names)] == language
}

// What came of a scenario in a language.
const (
	passed = "pass"
	failed = "FAIL"
	lacked = "-"
)

// result is what came of a scenario in a language.
type result struct {
	scenario *driver.Scenario
	language string
	outcome  string
	took     time.Duration
}

// mayLack says which languages have no such thing as a feature that scenarios need. Whoever else lacks it fails.
var mayLack = map[string][]string{
	"cancel": {"python"}, // Nobody can cancel a call that blocks a thread.
	"fork":   {"go", "java"},
}

// verdict tells what the end of a scenario means for a language.
func verdict(language string, err error) string {
	var lack *driver.LackError
	switch {
	case err == nil:
		return passed
	case errors.As(err, &lack) && slices.Contains(mayLack[lack.Feature], language):
		return lacked
	default:
		return failed
	}
}

func TestConformance(t *testing.T) {
	scenarios, err := driver.Load(os.DirFS("scenarios"))
	if err != nil {
		t.Fatal(err)
	}
	scenarios = slices.DeleteFunc(scenarios, func(s *driver.Scenario) bool { return !wanted(s) })
	if len(scenarios) == 0 {
		t.Fatal("there is no scenario to run")
	}
	var mu sync.Mutex // Guards results.
	var results []result
	var languages []string
	t.Run("languages", func(t *testing.T) {
		room := make(chan struct{}, atOnce)
		for name, find := range agents {
			if only := os.Getenv("TENURE_CONFORMANCE_LANGUAGES"); only != "" && !slices.Contains(strings.Split(only, ","), name) {
				continue
			}
			languages = append(languages, name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				language := find(t)
				for i, s := range scenarios {
					if !hasTurn(i, name) {
						continue
					}
					t.Run(s.Name, func(t *testing.T) {
						t.Parallel()
						room <- struct{}{}
						defer func() { <-room }()
						begun := time.Now()
						err := driver.Run(t.Context(), t, binary, language, s)
						r := result{scenario: s, language: name, outcome: verdict(name, err), took: time.Since(begun)}
						if r.outcome == failed {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						results = append(results, r)
					})
				}
			})
		}
	})
	t.Log("\n" + table(results, languages) + "\n" + rowTable(scenarios))
	demandRows(t, results)
}

// agents find the agents, or skip their tests. All tests share what one of them found, or built.
var agents = map[string]func(t *testing.T) *driver.Language{
	"go":             once(goAgent),
	"python":         once(func(t *testing.T) *driver.Language { return pythonAgent(t, "python") }),
	"python-asyncio": once(func(t *testing.T) *driver.Language { return pythonAgent(t, "python-asyncio", "--asyncio") }),
	"java":           once(javaAgent),
}

// once finds an agent until it is found; a test that ends because there is none leaves the search to the next.
func once(find func(t *testing.T) *driver.Language) func(t *testing.T) *driver.Language {
	var mu sync.Mutex // Guards found.
	var found *driver.Language
	return func(t *testing.T) *driver.Language {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if found == nil {
			found = find(t)
		}
		return found
	}
}

// missing skips a language whose toolchain is not there. That is an error in CI, and where TENURE_AGENTS names the toolchain, by which the
// Makefile says what it found or made.
func missing(t *testing.T, toolchain, format string, values ...any) {
	t.Helper()
	if os.Getenv("TENURE_CI") == "1" || slices.Contains(strings.Fields(os.Getenv("TENURE_AGENTS")), toolchain) {
		t.Fatalf(format, values...)
	}
	t.Skipf("skipped: "+format, values...)
}

func goAgent(t *testing.T) *driver.Language {
	t.Helper()
	path := filepath.Join(work, "agent-go")
	arguments := []string{"build", "-o", path}
	if underRace {
		arguments = append(arguments, "-race")
	}
	build := exec.CommandContext(t.Context(), "go", append(arguments, "./agent")...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	return &driver.Language{Name: "go", Command: []string{path}}
}

// pythonAgent finds the agent of the Python client, for the interpreter that TENURE_PYTHON names, that the Makefile made, or that the system
// has.
func pythonAgent(t *testing.T, name string, arguments ...string) *driver.Language {
	t.Helper()
	if underRace {
		t.Skip("the race detector watches Go only")
	}
	python := "python3"
	if made := filepath.Join("..", "..", ".tools", "python-client", "bin", "python"); fileExists(made) {
		python, _ = filepath.Abs(made) // It was found from here.
	}
	if named := os.Getenv("TENURE_PYTHON"); named != "" {
		python = named
	}
	path, err := exec.LookPath(python)
	if err != nil {
		missing(t, "python", "the agent of Python needs %s: %v", python, err)
	}
	dir, err := filepath.Abs("../python")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(dir, "tests", "conformance_agent.py")
	if _, err := os.Stat(agent); err != nil {
		missing(t, "python", "there is no agent of Python yet: %v", err)
	}
	probe := exec.CommandContext(t.Context(), path, "-c", "import grpc, tenure")
	probe.Dir = dir
	probe.Env = append(os.Environ(), "PYTHONPATH="+pythonPath(dir))
	if out, err := probe.CombinedOutput(); err != nil {
		missing(t, "python", "the agent of Python needs the client and grpcio; name an environment by TENURE_PYTHON: %v\n%s", err, out)
	}
	return &driver.Language{
		Name: name, Command: append([]string{path, agent}, arguments...), Dir: dir, Env: []string{"PYTHONPATH=" + pythonPath(dir)},
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func pythonPath(dir string) string {
	return strings.Join([]string{filepath.Join(dir, "src"), filepath.Join(dir, "../../gen/python")}, string(os.PathListSeparator))
}

// shortLived are options for a JVM that lives for seconds: without the second compiler, and without threads that collect garbage in parallel,
// it takes a third of the CPU.
var shortLived = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// javaAgent finds the agent of the Java client: on the class path that TENURE_JAVA_CLASSPATH gives, or built by Maven.
func javaAgent(t *testing.T) *driver.Language {
	t.Helper()
	if underRace {
		t.Skip("the race detector watches Go only")
	}
	path, err := exec.LookPath("java")
	if err != nil {
		missing(t, "java", "the agent of Java needs java: %v", err)
	}
	classPath := os.Getenv("TENURE_JAVA_CLASSPATH")
	if classPath == "" {
		classPath = buildJava(t)
	}
	command := slices.Concat([]string{path}, shortLived, []string{"-cp", classPath, "io.tenure.conformance.Agent"})
	return &driver.Language{Name: "java", Command: command}
}

// dependencyPlugin is Maven's plugin that tells the class path, as the Makefile names it, too: by its short name alone Maven would look for it
// in the network.
const dependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

// buildJava builds the Java client with its tests, and returns the class path. It builds in a folder of its own, so that the tests of the
// Java client may run meanwhile.
func buildJava(t *testing.T) string {
	t.Helper()
	maven, err := exec.LookPath("mvn")
	if err != nil {
		missing(t, "java", "the agent of Java needs mvn, or TENURE_JAVA_CLASSPATH: %v", err)
	}
	dir, err := filepath.Abs("../java")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = os.Stat(filepath.Join(dir, "pom.xml")); err != nil {
		missing(t, "java", "there is no client of Java: %v", err)
	}
	target, err := filepath.Abs("../../.build/conformance-java")
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(work, "classpath")
	build := exec.CommandContext(t.Context(), maven, "--quiet", "--batch-mode", "--no-transfer-progress", "test-compile",
		dependencyPlugin+":build-classpath", "-Dtenure.build.directory="+target, "-Dmdep.outputFile="+list)
	build.Dir = dir
	if out, failed := build.CombinedOutput(); failed != nil {
		t.Fatalf("build the agent of Java: %v\n%s", failed, out)
	}
	libraries, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{
		filepath.Join(target, "test-classes"), filepath.Join(target, "classes"), string(libraries),
	}, string(os.PathListSeparator))
}
