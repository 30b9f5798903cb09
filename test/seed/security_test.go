package seed_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// elsewhere are blocks of docs/security.md that need what a test does not have, by a text in them, and what tests it instead.
var elsewhere = map[string]string{
	"openssl req":           "server/certs TestOpenSSL",
	"--issuer https://ci":   "cmd/tenure testdata/auth_jwt.txtar",
	"TENURE_TOKEN_FILE=job": "cmd/tenure testdata/auth_jwt.txtar",
	"kubectl get":           "cmd/tenure testdata/auth_jwt.txtar, with the keys of a provider of its own",
}

// named is what the host of the page's first member is called by curl.
const named = "a.example.test"

// prelude is what the script of the page needs beside the page: to wait for members, and to stop one.
const prelude = `set -euo pipefail
serving() {
  for _ in $(seq 900); do
    if curl -sf --noproxy '*' --cacert certs/ca.crt "https://$1:7401/readyz" >/dev/null; then return; fi
    sleep 0.1
  done
  echo "$1 does not serve; the last line of each member's log:" >&2
  tail -qn 1 ./*.log >&2
  return 1
}
stop() { kill -- "$1"; wait "$1" || true; }
`

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	serveLine  = regexp.MustCompile(`(?m)^tenure serve (?:.*\\\n)*.*$`)
	failsLine  = regexp.MustCompile(`^(.*?\S)\s+# (?:Error! (.*)|(\w+), and exit code 1)$`)
)

// TestThePageOnSecurity types docs/security.md from top to bottom: a CA, three members with TLS between each other, the first token, a
// policy, a token with it. Commands whose comment says how they fail must fail so. Then the first programs of the pages about the
// clients run with that token, and without it they end with what the page says.
func TestThePageOnSecurity(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page's ports are free on other loopback addresses, which only Linux has")
	}
	t.Parallel()
	dir := t.TempDir()
	net := fmt.Sprintf("127.%d.%d.", 1+rand.IntN(254), rand.IntN(256))
	script := typedPage(t, dir, net)
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"tenure": binary, "grpcurl": grpcurl} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	shell := exec.CommandContext(t.Context(), "bash", "-s")
	shell.Dir = dir
	shell.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TENURE_") }),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_PROXY=*", "TENURE_DISK_FREE_MIN_BYTES=16777216")
	shell.Stdin = strings.NewReader(script)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	file, err := os.Create(filepath.Join(dir, "typed.log"))
	if err != nil {
		t.Fatal(err)
	}
	shell.Stdout, shell.Stderr = file, file // A file, as the members outlive the shell.
	if err = shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) })
	err = shell.Wait()
	_ = file.Close()
	typed, _ := os.ReadFile(file.Name())
	if err != nil {
		t.Fatalf("the page fails: %v; the script:\n%s\nwhat it printed:\n%s", err, script, typed) // The end says most: it stands last.
	}
	t.Logf("%s", typed)
	for language, prepare := range map[string]func(*testing.T) program{"go": goProgram, "python": pythonProgram, "java": javaProgram} {
		t.Run(language, func(t *testing.T) { firstProgram(t, prepare(t), language, dir, net) })
	}
}

// typedPage returns the page as a script, with addresses and directories of the test.
func typedPage(t *testing.T, dir, net string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	script, members := strings.Builder{}, 0
	script.WriteString(prelude)
	fmt.Fprintf(&script, "export CURL_HOME=$PWD\necho 'resolve = %s:7401:%s1' > .curlrc\n", named, net)
	left := maps.Clone(elsewhere)
	for _, found := range shellBlock.FindAllSubmatch(page, -1) {
		block := string(found[1])
		if not := slices.IndexFunc(slices.Collect(maps.Keys(left)), func(part string) bool { return strings.Contains(block, part) }); not >= 0 {
			maps.DeleteFunc(left, func(part, _ string) bool { return strings.Contains(block, part) })
			continue
		}
		const first = "NAME=a ADDRESS=10.0.0.1"
		switch {
		case strings.HasPrefix(block, first):
			script.WriteString("stop \"$alone\"\n")
			for i, name := range []string{"a", "b", "c"} {
				one := strings.Replace(block, first, fmt.Sprintf("NAME=%s ADDRESS=10.0.0.%d", name, i+1), 1)
				script.WriteString(serveLine.ReplaceAllString(strings.ReplaceAll(one, "/var/lib/tenure", dir+"/data-"+name), "$0 >>$$NAME.log 2>&1 &"))
				members++
			}
			for i := range members {
				fmt.Fprintf(&script, "serving 10.0.0.%d\n", i+1)
			}
		case serveLine.MatchString(block):
			script.WriteString(serveLine.ReplaceAllString(block, "$0 >>alone.log 2>&1 & alone=$$!\nserving 10.0.0.1"))
		default:
			for line := range strings.Lines(block) {
				script.WriteString(typedLine(strings.TrimSuffix(line, "\n")) + "\n")
			}
		}
	}
	if len(left) > 0 || members != 3 {
		t.Errorf("the page lacks blocks: %v, and starts %d members together", left, members)
	}
	// Names are addresses here, as no test can make names known to all programs; curl can be told: it has a file of its own for that. So REST
	// is asked for by the name that only the certificate has.
	return strings.NewReplacer("cert member a a.example.net", "cert member a "+named+" "+net+"1", "https://a.example.net", "https://"+named,
		"a.example.net", net+"1", "b.example.net", net+"2", "c.example.net", net+"3", "10.0.0.", net,
		"/var/lib/tenure", dir+"/data-a").Replace(script.String())
}

// typedLine returns a line of the page as the script has it. The comment behind a command that fails says what it prints; it may leave
// parts out.
func typedLine(line string) string {
	fails := failsLine.FindStringSubmatch(line)
	if fails == nil {
		return line
	}
	var want strings.Builder
	for part := range strings.SplitSeq(fails[2]+fails[3], "...") {
		want.WriteString("*'" + part + "'")
	}
	return fmt.Sprintf("if out=$( (%s) 2>&1 ); then echo \"it does not fail: $out\" >&2; exit 1; fi\n"+
		"echo \"$out\"; case \"$out\" in %s*) ;; *) echo 'that is not what the page says' >&2; exit 1;; esac", fails[1], want.String())
}

// program is how the first program of a page is run.
type program struct {
	file    string
	command []string
	env     []string
}

// pageURI is how the first program of each page connects.
var pageURI = regexp.MustCompile(`tenure://localhost:7400/app(\?name=\w+)?`)

var programText = regexp.MustCompile(`(?ms)<<'(?:GO|PY|JAVA)'\n(.*?)^(?:GO|PY|JAVA)\n`)

func firstProgram(t *testing.T, p program, language, dir, net string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/clients/" + language + ".md")
	if err != nil {
		t.Fatal(err)
	}
	text := programText.FindSubmatch(page)
	if text == nil {
		t.Fatal("the page has no first program")
	}
	for _, tc := range []struct{ token, want string }{
		{"&token_file=" + filepath.Join(dir, "web.token"), "held with token "},
		{"", `callers without a credential do not have the right session "web-1" write`},
	} {
		uri := fmt.Sprintf("tenures://%s1/service?name=web-1&ca_file=%s/certs/ca.crt%s", net, dir, tc.token)
		code := pageURI.ReplaceAllLiteralString(string(text[1]), uri)
		file := filepath.Join(t.TempDir(), p.file)
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), p.command[0], append(slices.Clone(p.command[1:]), file)...)
		c.Dir = filepath.Join("..", "..")
		c.Env = slices.Concat(os.Environ(), p.env, []string{"NO_PROXY=*"})
		out, err := c.CombinedOutput()
		if !strings.Contains(string(out), tc.want) || (err == nil) != (tc.token != "") {
			t.Errorf("with %q: %v, want %q:\n%s", tc.token, err, tc.want, out)
		}
		t.Logf("%s", out)
	}
}

// missing skips a language whose toolchain is not there. That is an error in CI, and where TENURE_AGENTS names the toolchain.
func missing(t *testing.T, toolchain string, err error) {
	t.Helper()
	if os.Getenv("TENURE_CI") == "1" || slices.Contains(strings.Fields(os.Getenv("TENURE_AGENTS")), toolchain) {
		t.Fatal(err)
	}
	t.Skip(err)
}

func goProgram(*testing.T) program {
	return program{file: "main.go", command: []string{"go", "run"}}
}

func pythonProgram(t *testing.T) program {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(root, ".tools/python-client/bin/python")
	if named := os.Getenv("TENURE_PYTHON"); named != "" {
		python = named
	}
	paths := filepath.Join(root, "clients/python/src") + string(os.PathListSeparator) + filepath.Join(root, "gen/python")
	p := program{file: "hello.py", command: []string{python}, env: []string{"PYTHONPATH=" + paths}}
	probe := exec.CommandContext(t.Context(), python, "-c", "import grpc, tenure")
	probe.Env = append(os.Environ(), p.env...)
	if out, err := probe.CombinedOutput(); err != nil {
		missing(t, "python", fmt.Errorf("the program needs the client and grpcio: %w\n%s", err, out))
	}
	return p
}

// javaProgram builds the client of Java in a folder of its own: its tests may run meanwhile.
func javaProgram(t *testing.T) program {
	t.Helper()
	classPath := os.Getenv("TENURE_JAVA_CLASSPATH")
	if classPath == "" {
		maven, err := exec.LookPath("mvn")
		if err != nil {
			missing(t, "java", err)
		}
		target, err := filepath.Abs("../../.build/seed-java")
		if err != nil {
			t.Fatal(err)
		}
		list := filepath.Join(t.TempDir(), "classpath")
		build := exec.CommandContext(t.Context(), maven, "--quiet", "--batch-mode", "--no-transfer-progress", "compile",
			"org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath", "-Dtenure.build.directory="+target, "-Dmdep.outputFile="+list)
		build.Dir = "../../clients/java"
		if out, failed := build.CombinedOutput(); failed != nil {
			t.Fatalf("build the client of Java: %v\n%s", failed, out)
		}
		libraries, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		classPath = filepath.Join(target, "classes") + string(os.PathListSeparator) + strings.TrimSpace(string(libraries))
	}
	// A JVM that lives for seconds takes less than half the CPU without the second compiler, and threads that collect garbage in parallel.
	return program{file: "Hello.java", command: []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classPath}}
}
