package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenure-io/tenure/cmd/tenure/internal/fake"
	"github.com/tenure-io/tenure/internal/issuer"
	"github.com/tenure-io/tenure/internal/port"
)

// outputPatience bounds how long the output of a program that ended is waited for: what outlives it may have it open, and must not hold the test up.
const outputPatience = 10 * time.Second

// TestScripts runs testdata/*.txtar: dialogues with the real program, as a user would have them. Beside the usual commands
// a script has
//
//	serve NAME [ARGS]      start a member and set TENURE_ENDPOINTS; $NAME_grpc, $NAME_http and $NAME_peer are its addresses, and stay so
//	                       while it is down; so is $NAME_consul, if it is served
//	agent NAME ARGS        start an agent and set TENURE_AGENT; $NAME_agent and $NAME_metrics are its addresses
//	start NAME CMD [ARGS]  start a program in the background
//	expect NAME REGEXP     wait until its output, after what was expected before, has this
//	signal NAME SIGNAL     send it a signal
//	finish NAME [CODE]     wait for its end, with this exit code
//	set VAR LINE           set a variable to a line of the last standard output, from 1
//	issuer                 start a provider of JSON Web Tokens: $ISSUER is its URL, and keys.json has its keys
//	jwt FILE SUBJECT LIFE  write a token of it to a file, which ends after LIFE
//	disk DIR SIZE          mount a disk of this size at a directory, where condition mount holds
func TestScripts(t *testing.T) {
	runScripts(t, testscript.Params{Dir: "testdata"}, false)
}

// TestConsulsGuideAtAnAgent runs the scripts of Consul's guide again, with the agent of a machine in place of a member: condition agent.
func TestConsulsGuideAtAnAgent(t *testing.T) {
	if raceDetector {
		t.Skip("without the race detector: its commands do one thing after another")
	}
	runScripts(t, testscript.Params{Files: []string{"testdata/consul.txtar", "testdata/consul_program.txtar"}}, true)
}

// runScripts runs scripts.
func runScripts(t *testing.T, scripts testscript.Params, atAgent bool) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: scripts.Dir, Files: scripts.Files,
		Setup: func(e *testscript.Env) error {
			e.Values[backgroundKey{}] = map[string]*background{}
			e.Values[issuerKey{}] = issuer.New()
			e.Setenv("TENURE_TIMEOUT", fake.Patience.String())
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return raceDetector, nil
			case "agent":
				return atAgent, nil
			case "mount":
				return canMount(), nil
			default:
				return false, fmt.Errorf("there is no condition %q", name)
			}
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serve":  scriptServe,
			"agent":  scriptAgent,
			"start":  scriptStart,
			"expect": scriptExpect,
			"signal": scriptSignal,
			"finish": scriptFinish,
			"set":    scriptSet,
			"issuer": scriptIssuer,
			"jwt":    scriptJWT,
			"disk":   scriptDisk,
		},
	})
}

// backgroundKey finds a script's background programs.
type backgroundKey struct{}

// background is a program that runs beside a script.
type background struct {
	cmd  *exec.Cmd
	done chan struct{} // Closed after its end.

	mu      sync.Mutex // Guards what follows.
	output  bytes.Buffer
	seen    int           // How much of output was expected.
	written chan struct{} // Closed and replaced when output grows.
}

// Write takes output of the program.
func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.written)
	b.written = make(chan struct{})
	return b.output.Write(p)
}

// await waits until the output has an expression after what was expected before, and returns its submatches.
func (b *background) await(expression *regexp.Regexp) []string {
	deadline := time.NewTimer(fake.Patience)
	defer deadline.Stop()
	done := b.done
	for {
		b.mu.Lock()
		rest := b.output.Bytes()[b.seen:]
		if at := expression.FindSubmatchIndex(rest); at != nil {
			var found []string
			for _, m := range expression.FindSubmatch(rest) {
				found = append(found, string(m))
			}
			b.seen += at[1]
			b.mu.Unlock()
			return found
		}
		written := b.written
		b.mu.Unlock()
		if done == nil {
			return nil
		}
		select {
		case <-written:
		case <-done:
			done = nil // One more look: all output is there now.
		case <-deadline.C:
			return nil
		}
	}
}

// text returns all output.
func (b *background) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.output.String()
}

// startBackground starts a program in a directory. Without endpoints it finds those of this process. Call end at the end.
func startBackground(dir, endpoints string, argv []string) (*background, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, err
	}
	b := &background{done: make(chan struct{}), written: make(chan struct{})}
	b.cmd = exec.Command(path, argv[1:]...)
	b.cmd.Dir = dir
	// What a member that is killed leaves behind goes with the directory.
	temporary := filepath.Join(dir, ".tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		return nil, err
	}
	b.cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "TENURE_TIMEOUT="+fake.Patience.String(),
		"TENURE_GOSSIP=off") // The node of a member would take a revision at any time; scripts about gossip give --gossip.
	if endpoints != "" {
		b.cmd.Env = append(b.cmd.Env, "TENURE_ENDPOINTS="+endpoints)
	}
	b.cmd.Stdout, b.cmd.Stderr = b, b
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	b.cmd.WaitDelay = outputPatience
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(b.done)
		_ = b.cmd.Wait() // Who wants to know looks at the state.
	}()
	return b, nil
}

// end ends the program, whatever it does, and all that it started in its process group.
func (b *background) end() {
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGCONT)
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	<-b.done
}

// launch starts a program in the background of a script.
func launch(ts *testscript.TestScript, name string, argv []string) *background {
	b, err := startBackground(ts.Getenv("WORK"), ts.Getenv("TENURE_ENDPOINTS"), argv)
	ts.Check(err)
	ts.Defer(func() {
		b.end()
		ts.Logf("[%s]\n%s", name, b.text())
	})
	programs(ts)[name] = b
	return b
}

func programs(ts *testscript.TestScript) map[string]*background {
	return ts.Value(backgroundKey{}).(map[string]*background) //nolint:errcheck // Setup put it there.
}

func program(ts *testscript.TestScript, args []string) *background {
	if len(args) == 0 || programs(ts)[args[0]] == nil {
		ts.Fatalf("no such program: %q", args)
	}
	return programs(ts)[args[0]]
}

var servingLine = regexp.MustCompile(`serving grpc=(\S+) http=(\S+) peer=(\S+)(?: consul=(\S+))?(?: gossip=\S+)?\n`)

func scriptServe(ts *testscript.TestScript, _ bool, args []string) {
	name := args[0]
	argv := []string{"tenure", "serve"}
	for _, flag := range []string{"--listen", "--http", "--peer"} {
		kept, err := port.Keep(context.Background())
		ts.Check(err)
		ts.Defer(func() { _ = kept.Close() }) // Nothing hangs on it any more.
		argv = append(argv, flag, kept.Address())
	}
	argv = append(argv, args[1:]...)
	if len(args) == 1 {
		argv = append(argv, "--dev")
	}
	b := launch(ts, name, argv)
	found := b.await(servingLine)
	if found == nil {
		ts.Fatalf("%s does not serve: %s", name, b.text())
	}
	ts.Setenv(name+"_grpc", found[1])
	ts.Setenv(name+"_http", found[2])
	ts.Setenv(name+"_peer", found[3])
	ts.Setenv(name+"_consul", found[4])
	ts.Setenv("TENURE_ENDPOINTS", found[1])
	if slices.Contains(args, "--with-agent") {
		inside := b.await(insideLine)
		if inside == nil {
			ts.Fatalf("the agent in %s does not run: %s", name, b.text())
		}
		ts.Setenv("TENURE_AGENT", inside[1])
	}
}

var insideLine = regexp.MustCompile(`agent grpc=(\S+) http=\S+\n`)

var agentLine = regexp.MustCompile(`agent node=\S+ grpc=(\S+) http=(\S+)(?: consul=(\S+))?\n`)

func scriptAgent(ts *testscript.TestScript, _ bool, args []string) {
	b := launch(ts, args[0], append([]string{"tenure", "agent", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, args[1:]...))
	found := b.await(agentLine)
	if found == nil {
		ts.Fatalf("%s does not run: %s", args[0], b.text())
	}
	ts.Setenv(args[0]+"_agent", found[1])
	ts.Setenv(args[0]+"_metrics", found[2])
	ts.Setenv(args[0]+"_consul", found[3])
	ts.Setenv("TENURE_AGENT", found[1])
}

func scriptStart(ts *testscript.TestScript, _ bool, args []string) {
	launch(ts, args[0], args[1:])
}

func scriptExpect(ts *testscript.TestScript, _ bool, args []string) {
	b := program(ts, args)
	expression, err := regexp.Compile(`(?m)` + strings.Join(args[1:], " "))
	ts.Check(err)
	if b.await(expression) == nil {
		ts.Fatalf("%s did not print %q; all it printed: %s", args[0], args[1:], b.text())
	}
}

func scriptSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP,
		"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "USR1": syscall.SIGUSR1,
	}
	b := program(ts, args)
	s, known := signals[args[1]]
	if !known {
		ts.Fatalf("unknown signal %s", args[1])
	}
	ts.Check(b.cmd.Process.Signal(s))
	if s == syscall.SIGSTOP {
		// Its threads stop one by one: until all have, it may answer.
		var status syscall.WaitStatus
		_, err := syscall.Wait4(b.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		ts.Check(err)
	}
}

func scriptFinish(ts *testscript.TestScript, _ bool, args []string) {
	b := program(ts, args)
	select {
	case <-b.done:
	case <-time.After(fake.Patience):
		ts.Fatalf("%s does not end; all it printed: %s", args[0], b.text())
	}
	want := 0
	if len(args) > 1 {
		code, err := strconv.Atoi(args[1])
		ts.Check(err)
		want = code
	}
	if got := b.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%s ended with exit code %d, want %d; all it printed: %s", args[0], got, want, b.text())
	}
}

func scriptSet(ts *testscript.TestScript, _ bool, args []string) {
	line, err := strconv.Atoi(args[1])
	ts.Check(err)
	lines := strings.Split(ts.ReadFile("stdout"), "\n")
	if line < 1 || line > len(lines) {
		ts.Check(errors.New("no such line of standard output"))
	}
	ts.Setenv(args[0], lines[line-1])
}
