package thirdparty_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A program is a library of another language, used by a program of ours in the folder programs.
type program struct {
	name     string // as users know it
	folder   string // what it was fetched into
	language string // runs script
	script   string
	variable string // of the environment, says where libraries are
	below    string // where they are in folder
	compiled string // of a Java library: the folder below programs/java with what uses it
}

// programs are those that `make thirdparty` fetches.
var programs = []program{
	{name: "Python: py-consul 1.8.0", folder: "py-consul", language: "python3", script: "contend.py", variable: "PYTHONPATH"},
	{name: "Python: python-consul2 0.1.5", folder: "python-consul2", language: "python3", script: "contend.py", variable: "PYTHONPATH"},
	{name: "Python: python-consul 1.1.0", folder: "python-consul", language: "python3", script: "contend.py", variable: "PYTHONPATH"},
	{name: "Python: consulate 0.6.0", folder: "consulate", language: "python3", script: "contend.py", variable: "PYTHONPATH"},
	{name: "Node.js: consul 2.0.1", folder: "npm-consul", language: "node", script: "contend.js", variable: "NODE_PATH", below: "node_modules"},
	{name: "Java: ecwid consul-api 1.4.5", folder: "ecwid", language: "java", compiled: "ecwid"},
	{name: "Java: orbitz consul-client 1.5.3", folder: "orbitz", language: "java", compiled: "kiwiproject"},
	{name: "Java: kiwiproject consul-client 1.12.1", folder: "kiwiproject", language: "java", compiled: "kiwiproject"},
	{name: "Java: vertx-consul-client 5.0.8", folder: "vertx", language: "java", compiled: "vertx"},
	{name: "Java: camel-consul 4.17.0", folder: "camel", language: "java", compiled: "camel"},
}

// libraries is where the libraries of a program are.
func (p program) libraries() string { return filepath.Join(fetched, p.folder, p.below) }

// missing returns why a program cannot run, or nothing.
func (p program) missing() string {
	if _, err := os.Stat(p.libraries()); err != nil {
		return notFetched
	}
	if _, err := exec.LookPath(p.language); err != nil {
		return p.language + " " + notInstalled
	}
	return ""
}

// command returns the command that does something at a member; classes is what compile returned.
func (p program) command(ctx context.Context, classes, address, folder, what string) *exec.Cmd {
	args := []string{filepath.Join("programs", p.script)}
	if p.compiled != "" {
		args = []string{"-Xmx128m", "-cp", classes + ":" + filepath.Join(p.libraries(), "*"), "Contend"}
	}
	cmd := exec.CommandContext(ctx, p.language, append(args, p.folder, address, folder, what)...)
	if p.compiled == "" {
		cmd.Env = append(os.Environ(), p.variable+"="+p.libraries(), "PYTHONDONTWRITEBYTECODE=1")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// compile compiles what uses a Java library, and returns the folder that it is in; nothing for others. That of orbitz and that of kiwiproject differ in the names of their
// packages alone, so one source uses both.
func (p program) compile(ctx context.Context, t *testing.T) string {
	t.Helper()
	if p.compiled == "" {
		return ""
	}
	dir, sources := t.TempDir(), filepath.Join("programs", "java")
	source, err := os.ReadFile(filepath.Join(sources, p.compiled, "Used.java"))
	if err != nil {
		t.Fatal(err)
	}
	if p.folder == "orbitz" {
		source = bytes.ReplaceAll(source, []byte("org.kiwiproject.consul"), []byte("com.orbitz.consul"))
	}
	used := filepath.Join(dir, "Used.java")
	if err = os.WriteFile(used, source, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(ctx, "javac", "-nowarn", "-Xlint:-removal", "-d", dir, "-cp", filepath.Join(p.libraries(), "*"), filepath.Join(sources, "Library.java"),
		filepath.Join(sources, "Contend.java"), used).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", p.name, err, said)
	}
	return dir
}

// TestProgramsMakeEachCall makes each call of each library once, at one member, at one of three, and at an agent.
func TestProgramsMakeEachCall(t *testing.T) {
	t.Parallel()
	if fetched == "" {
		t.Skip("make thirdparty fetches the programs")
	}
	for place, members := range places {
		t.Run(place, func(t *testing.T) {
			c := start(t.Context(), t, members)
			address := c.address(0)
			if place == atAgent {
				address = c.startAgent(t.Context(), t)
			}
			for _, p := range programs {
				t.Run(p.folder, func(t *testing.T) { p.makeEachCall(t, address, place) })
			}
		})
	}
}

// makeEachCall makes each call of a library once, at an address.
func (p program) makeEachCall(t *testing.T, address, place string) {
	t.Helper()
	calls := "keys, CAS, sessions, locks, blocking reads, " + place
	if p.folder == "consulate" {
		calls = "keys, sessions, locks, " + place // It has no reads that wait.
	}
	if missing := p.missing(); missing != "" {
		note(p.name, calls, missing)
		t.Skip(missing)
	}
	record(t, p.name, calls, "passed")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := p.command(ctx, p.compile(ctx, t), address, t.TempDir(), "tour")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestProgramsContend has three processes of each library contend for an office, with leaders that are killed.
func TestProgramsContend(t *testing.T) {
	t.Parallel()
	if fetched == "" {
		t.Skip("make thirdparty fetches the programs")
	}
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprintf("members %d", members), func(t *testing.T) {
			c := start(t.Context(), t, members)
			var races []*race
			for _, p := range programs {
				r := newRace(t, "election as in Consul's guide", 1)
				if missing := p.missing(); missing != "" {
					note(p.name, r.scenario(members), missing)
					continue
				}
				r.record(t, p.name, members, kills)
				r.contenders = p.contend(t.Context(), t, c, r.witness)
				races = append(races, r)
			}
			run(t, c, races, kills)
		})
	}
}

// contend runs three processes that contend, until the test ends.
func (p program) contend(ctx context.Context, t *testing.T, c *cluster, w *witness) []*contender {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	var all []*contender
	classes := p.compile(ctx, t)
	for i := range 3 {
		me := &contender{name: fmt.Sprintf("%s %d", p.name, i)}
		all = append(all, me)
		cmd := p.command(ctx, classes, c.address(i), w.dir, "contend")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var complaints bytes.Buffer
		cmd.Stderr = &complaints
		if err = cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			said := me.count(out)
			err := fmt.Errorf("%w: %s%s", cmd.Wait(), said, complaints.String())
			me.ended.Store(&err)
		})
	}
	return all
}

// count counts how often a program says that it was in, and returns the last of what else it says.
func (c *contender) count(from io.Reader) string {
	var last string
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "in" {
			last = line
			continue
		}
		c.rounds.Add(1)
	}
	return last
}

// TestConsulsOwnProgram runs the script that has the commands of Consul's own program, against a member and against an agent.
func TestConsulsOwnProgram(t *testing.T) {
	const name, commands = "consul 1.8.7", "kv, lock, watch, members and others, as in Consul's guide to leader election"
	if fetched == "" {
		t.Skip("make thirdparty fetches it")
	}
	folder := filepath.Join(fetched, "consul", "usr", "bin")
	if _, err := os.Stat(folder); err != nil {
		note(name, commands, notFetched)
		t.Skip("it could not be fetched")
	}
	record(t, name, commands, "passed")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", "(TestScripts|TestConsulsGuideAtAnAgent)/consul_program", "./cmd/tenure")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	said, err := cmd.CombinedOutput()
	for _, script := range []string{"TestScripts/consul_program", "TestConsulsGuideAtAnAgent/consul_program"} {
		if err != nil || !bytes.Contains(said, []byte("--- PASS: "+script)) {
			t.Errorf("%s: %v: %s", script, err, said)
		}
	}
}
