package seed_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// typingPatience bounds each wait for what a terminal must print.
const typingPatience = 2 * time.Minute

var (
	terminalWord = regexp.MustCompile(`[Tt]erminal (\d)`)
	rowCommand   = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (immediately|after about 10 s) \\|")
	agentLine    = regexp.MustCompile(`(?m)^tenure agent --node web1 .*$`)
	watchLine    = regexp.MustCompile(`(?m)^(\d+)\t(\S+)\t(\S+)\t(.*)$`)
)

// terminal is a shell in which a page is typed.
type terminal struct {
	t     *testing.T
	name  string
	in    io.Writer
	log   string // The file with what it printed.
	typed int
}

// openTerminals starts shells in a directory that has the program where a checkout has it.
func openTerminals(t *testing.T, names ...string) map[string]*terminal {
	t.Helper()
	dir := t.TempDir()
	err := os.Mkdir(filepath.Join(dir, "bin"), 0o700)
	if err == nil {
		err = os.Symlink(binary, filepath.Join(dir, "bin", "tenure"))
	}
	if err != nil {
		t.Fatal(err)
	}
	terminals := map[string]*terminal{}
	for _, name := range names {
		terminals[name] = openTerminal(t, dir, name)
	}
	return terminals
}

// openTerminal starts a shell. What runs in it ends with the test.
func openTerminal(t *testing.T, dir, name string) *terminal {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, "terminal-"+name))
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash")
	shell.Dir = dir
	shell.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TENURE_") }),
		"NO_PROXY=*", "TENURE_DISK_FREE_MIN_BYTES=16777216", "TMPDIR="+dir)
	shell.Stdout, shell.Stderr = log, log
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, name: name, in: in, log: log.Name()}
	t.Cleanup(func() {
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
		_ = shell.Wait()
		_ = log.Close()
		if t.Failed() {
			t.Logf("terminal %s:\n%s", name, x.printed())
		}
	})
	x.write("trap 'echo \"it fails: $BASH_COMMAND\"' ERR")
	return x
}

func (x *terminal) write(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.in, text+"\n"); err != nil {
		x.t.Fatal(err)
	}
}

// enter types commands, and does not wait for them.
func (x *terminal) enter(text string) { x.write(text) }

// run types commands, and waits until they have ended.
func (x *terminal) run(text string) {
	x.t.Helper()
	x.typed++
	ended := fmt.Sprintf("ended: %d of terminal %s", x.typed, x.name)
	x.write(text)
	x.write(fmt.Sprintf("echo; echo %q", ended))
	x.await(ended, 1)
}

// output types a command, and returns what it has printed when it has ended.
func (x *terminal) output(command string) string {
	x.t.Helper()
	before := len(x.printed())
	x.run(strings.TrimSuffix(command, "\n"))
	return x.printed()[before:]
}

// printed returns what the terminal shows.
func (x *terminal) printed() string {
	raw, err := os.ReadFile(x.log)
	if err != nil {
		x.t.Error(err)
	}
	return string(raw)
}

// await waits until the terminal has printed a text so often.
func (x *terminal) await(text string, times int) {
	x.t.Helper()
	eventually(x.t, fmt.Sprintf("terminal %s prints %q %d times", x.name, text, times), func() bool {
		return strings.Count(x.printed(), text) >= times
	})
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(50*time.Millisecond), time.NewTimer(typingPatience)
	defer tick.Stop()
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("it did not happen that %s", what)
		}
	}
}

// walk is the page on the catalog while it is typed.
type walk struct {
	t         *testing.T
	endpoints string
	terminals map[string]*terminal
	waiting   string // What the last block in terminal 4 was.
	turns     int    // How often a waiter has had its turn.
}

// TestThePageOnTheCatalog types docs/catalog.md from top to bottom into four terminals: three members, checks that are reported, a service with an
// HTTP check, two agents, a lock that goes with a check and with a machine, prepared queries. Then it ends a session in each way that the table
// of the page names; the short form leaves out two that wait as long as another one. Each time the watch of the page shows the end of the session and the
// grant to the next waiter in one revision.
func TestThePageOnTheCatalog(t *testing.T) {
	t.Parallel()
	page, replaced := catalogPage(t)
	w := &walk{t: t, endpoints: replaced["127.0.0.1:7400"], terminals: openTerminals(t, "1", "2", "3", "4")}
	end := 0
	for _, at := range shellBlock.FindAllStringSubmatchIndex(page, -1) {
		w.block(page[end:at[0]], page[at[2]:at[3]])
		end = at[1]
	}
	ways := rowCommand.FindAllStringSubmatch(page, -1)
	if w.turns != 2 || len(ways) != 6 {
		t.Fatalf("in the page %d waiters have their turn, and %d ways to end a session; want 2 and 6", w.turns, len(ways))
	}
	for _, way := range ways {
		if os.Getenv("TENURE_SOAK") == "1" || way[2] == "immediately" || strings.Contains(way[1], "-9") {
			w.way(way[1], agentLine.FindString(page))
		}
	}
	for _, x := range w.terminals {
		if strings.Contains(x.printed(), "it fails: ") {
			t.Errorf("a command of the page fails in terminal %s", x.name)
		}
	}
}

// catalogPage returns the page with addresses of the test's own, and what took the place of what.
func catalogPage(t *testing.T) (page string, replaced map[string]string) {
	t.Helper()
	at := portsOf(300 + rand.IntN(300))
	replaced = map[string]string{
		"make cluster":   clusterAt(t, at(0)),
		"127.0.0.1:7400": at(0), "127.0.0.1:7410": at(10), "127.0.0.1:7420": at(20), "localhost:7401": at(1),
		"127.0.0.1:7404": at(4), "127.0.0.1:7414": at(14), "127.0.0.1:8080": at(5), "http.server 8080": "http.server " + portOf(at(5)),
	}
	return pageWith(t, "../../docs/catalog.md", replaced), replaced
}

// portsOf returns the addresses of a page: 30 for each number below 700. Pages have numbers of their own, as their tests run together.
func portsOf(n int) func(port int) string {
	return func(port int) string { return fmt.Sprintf("127.0.0.1:%d", 10_000+30*n+port) }
}

func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// clusterAt returns what starts three members at an address and those that follow it.
func clusterAt(t *testing.T, first string) string {
	t.Helper()
	script, err := filepath.Abs("../../tools/cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("CLUSTER_PORT=%s %s %s", portOf(first), script, binary)
}

// pageWith returns a page in which each text that is replaced must be.
func pageWith(t *testing.T, path string, replaced map[string]string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for from, to := range replaced {
		if !strings.Contains(page, from) {
			t.Errorf("the page does not have %s", from)
		}
		page = strings.ReplaceAll(page, from, to)
	}
	return page
}

// block types a block of the page into the terminal that the text before it names last.
func (w *walk) block(before, block string) {
	w.t.Helper()
	name := "2"
	if named := terminalWord.FindAllStringSubmatch(before, -1); named != nil {
		name = named[len(named)-1][1]
	}
	x := w.terminals[name]
	switch {
	case strings.Contains(block, "cluster.sh"):
		x.enter(block)
		x.await("Ctrl-C stops the three members", 1)
	case strings.HasPrefix(block, "export "):
		for _, name := range []string{"2", "3", "4"} {
			w.terminals[name].run(block)
		}
	case strings.HasPrefix(block, "tenure watch"):
		x.enter(block)
	case name == "4":
		w.wait(block)
	case strings.Contains(block, "web-up critical"), strings.Contains(block, "rm demo"):
		x.run(block)
		w.turn("check critical")
	default:
		x.run(block)
	}
	if strings.Contains(block, "tenure agent") {
		w.passing()
	}
}

// wait types into terminal 4 what ends with a wait for the lock, and returns when it waits.
func (w *walk) wait(block string) {
	w.t.Helper()
	w.waiting = block
	w.terminals["4"].enter(block)
	w.terminals["4"].await("Waiting for the lock", w.turns+1)
}

// turn waits until the waiter has its turn, and compares what the watch shows.
func (w *walk) turn(cause string) {
	w.t.Helper()
	w.turns++
	w.terminals["4"].await("my turn\n", w.turns)
	var last string
	eventually(w.t, "the watch shows the grant", func() bool {
		grants := 0
		for _, line := range watchLine.FindAllStringSubmatch(w.terminals["3"].printed(), -1) {
			if line[2] == "lock-granted" && strings.HasPrefix(line[4], `"tenure lock `) {
				last = line[1]
				grants++
			}
		}
		return grants == w.turns
	})
	var kinds []string
	for _, line := range watchLine.FindAllStringSubmatch(w.terminals["3"].printed(), -1) {
		if line[1] != last {
			continue
		}
		kinds = append(kinds, line[2])
		if line[2] == "session-ended" && line[4] != cause {
			w.t.Errorf("the session has ended because: %s; want %s", line[4], cause)
		}
	}
	for _, kind := range []string{"session-ended", "lock-lost", "lock-granted"} {
		if !slices.Contains(kinds, kind) {
			w.t.Errorf("revision %s has %v, want %s", last, kinds, kind)
		}
	}
}

// passing waits until the service and its machine pass.
func (w *walk) passing() {
	w.t.Helper()
	for _, check := range []string{"web-up", "liveness"} {
		eventually(w.t, check+" passes", func() bool {
			c := exec.CommandContext(w.t.Context(), binary, "catalog", "checks", "--node", "web1", "--status", "passing", "--endpoints", w.endpoints)
			out, err := c.CombinedOutput()
			return err == nil && strings.Contains(string(out), " "+check+" ")
		})
	}
}

// way ends a session in one way of the table.
func (w *walk) way(command, agent string) {
	w.t.Helper()
	x := w.terminals["2"]
	x.run("touch demo/site/health\n{ kill -9 $AGENT; wait $AGENT; } 2>/dev/null || true\n" + agent)
	w.passing()
	w.wait(w.waiting)
	x.run(command)
	cause := "check critical"
	switch {
	case strings.Contains(command, "--check"), strings.Contains(command, "leave"):
		cause = "check deregistered"
	case strings.Contains(command, "deregister"):
		cause = "node deregistered"
	}
	w.turn(cause)
}
