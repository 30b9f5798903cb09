package thirdparty_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSpringFollowsChanges runs two applications with Spring Cloud Consul at the agent of their machine, and kills leaders: each change of the
// configuration comes to both, and each finds both, which register themselves and send heartbeats.
func TestSpringFollowsChanges(t *testing.T) {
	t.Parallel()
	const program = "Java: spring-cloud-consul 5.0.2"
	if fetched == "" {
		t.Skip("make thirdparty fetches it")
	}
	libraries := filepath.Join(fetched, "spring")
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprintf("members %d", members), func(t *testing.T) {
			t.Parallel()
			scenario := "configuration, registration, discovery, by two at an agent, " + countedMembers(members)
			if _, err := os.Stat(libraries); err != nil {
				note(program, scenario, notFetched)
				t.Skip("it could not be fetched")
			}
			record(t, program, scenario, fmt.Sprintf("%d leaders killed: both saw every change, and found both", kills))
			c := start(t.Context(), t, members)
			address := c.startAgent(t.Context(), t)
			put(t.Context(), t, c, "config/thirdparty/color", "0")
			classes := t.TempDir()
			said, err := exec.CommandContext(t.Context(), "javac", "-d", classes, "-cp", filepath.Join(libraries, "*"),
				filepath.Join("programs", "java", "spring", "App.java")).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			var apps []*app
			for _, name := range []string{"one", "two"} {
				apps = append(apps, startApp(t.Context(), t, classes+":"+filepath.Join(libraries, "*"), name, address))
			}
			for i := range kills + 1 {
				if i > 0 {
					c.killLeader(t.Context())
					put(t.Context(), t, c, "config/thirdparty/color", fmt.Sprint(i))
				}
				for _, a := range apps {
					a.await(t.Context(), t, fmt.Sprintf("color %d instances one,two", i))
				}
			}
		})
	}
}

// app is an application with Spring Cloud Consul.
type app struct {
	name string
	last atomic.Pointer[string] // what it printed last
}

// startApp runs an application until the test ends.
func startApp(ctx context.Context, t *testing.T, classes, name, address string) *app {
	t.Helper()
	a := &app{name: name}
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classes, "App", name, address)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			line := lines.Text()
			if !strings.HasPrefix(line, "color ") {
				log.WriteString(line + "\n")
				continue
			}
			a.last.Store(&line)
		}
		_ = cmd.Wait()
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		if t.Failed() {
			t.Logf("application %s: %s", name, lastOf(log.String()))
		}
	})
	return a
}

// await waits until the application prints something.
func (a *app) await(ctx context.Context, t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(patience); ; sleep(ctx, 50*time.Millisecond) {
		last := a.last.Load()
		if last != nil && *last == want {
			return
		}
		if time.Now().After(end) {
			got := "nothing"
			if last != nil {
				got = *last
			}
			t.Fatalf("application %s printed %q, and not %q, within %v", a.name, got, want, patience)
		}
	}
}
