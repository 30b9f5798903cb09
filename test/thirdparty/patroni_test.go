package thirdparty_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-io/tenure/internal/port"
)

// patroni names the program that elects the primary of a database.
const patroni = "Patroni 4.1.5 with PostgreSQL"

// patroniConfig is the file of a node: its name, folder, the address of Consul's HTTP, of its own HTTP and of its database, and the programs of the
// database. Its numbers are the least that it takes: it halves its TTL of 20 s for the session.
const patroniConfig = `
scope: thirdparty
name: %[1]s
restapi: {listen: %[4]s, connect_address: %[4]s}
consul: {host: %[3]s}
bootstrap:
  dcs: {ttl: 20, loop_wait: 1, retry_timeout: 3}
  initdb: [{encoding: UTF8}, {locale: C}]
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
postgresql:
  listen: %[5]s
  connect_address: %[5]s
  data_dir: %[2]s/data
  bin_dir: %[6]s
  pgpass: %[2]s/pgpass
  authentication: {superuser: {username: postgres, password: secret}, replication: {username: replicator, password: secret}}
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters: {unix_socket_directories: '', shared_buffers: 16MB}
  remove_data_directory_on_diverged_timelines: true
`

// databases are nodes of Patroni, and what somebody outside of both sees of their databases.
type databases struct {
	t       *testing.T
	python  string // where libraries are
	nodes   []*databaseNode
	mu      sync.Mutex
	primary string // the address of the one that takes writes; empty if none does
	fault   string // what the observer complained about
	changed chan struct{}
}

// databaseNode is one node of Patroni.
type databaseNode struct {
	dir, address string
	cmd          *exec.Cmd
	log          bytes.Buffer
}

// asAnother lets a command run as a user that is not root, for a database that refuses root.
func asAnother(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return
	}
	const user = 1000
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: 0, Size: 1}}
}

// databasePrograms returns the folder of the programs of PostgreSQL, or why Patroni cannot run.
func databasePrograms() (folder, missing string) {
	if _, err := os.Stat(filepath.Join(fetched, "patroni")); err != nil {
		return "", notFetched
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", "PostgreSQL " + notInstalled
	}
	return filepath.Dir(found[len(found)-1]), ""
}

// startDatabases runs nodes until the test ends, each at the member of its number.
func startDatabases(ctx context.Context, t *testing.T, c *cluster, programs string, nodes int) *databases {
	t.Helper()
	d := &databases{t: t, python: filepath.Join(fetched, "patroni"), changed: make(chan struct{}, 1)}
	var addresses []string
	keep := func() string {
		kept, err := port.Keep(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = kept.Close() })
		return kept.Address()
	}
	for i := range nodes {
		n := &databaseNode{dir: t.TempDir(), address: keep()}
		name := "database-" + strconv.Itoa(i)
		config := fmt.Sprintf(patroniConfig, name, n.dir, c.address(i), keep(), n.address, programs)
		if err := os.WriteFile(filepath.Join(n.dir, "patroni.yml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		d.nodes = append(d.nodes, n)
		addresses = append(addresses, n.address)
		t.Cleanup(func() {
			n.kill()
			if t.Failed() {
				t.Logf("%s: %s", name, lastOf(n.log.String()))
			}
		})
		d.launch(n)
	}
	d.observe(ctx, addresses)
	return d
}

// lastOf is the end of a log.
func lastOf(log string) string { return log[max(0, len(log)-4000):] }

// launch starts a node.
func (d *databases) launch(n *databaseNode) {
	d.t.Helper()
	n.cmd = exec.Command("python3", "-m", "patroni", filepath.Join(n.dir, "patroni.yml"))
	n.cmd.Env = append(os.Environ(), "PYTHONPATH="+d.python, "PYTHONDONTWRITEBYTECODE=1")
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	asAnother(n.cmd)
	if err := n.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
}

// kill ends Patroni and its database as a machine does that loses its power.
func (n *databaseNode) kill() {
	if n.cmd == nil || n.cmd.Process == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	if said, err := os.ReadFile(filepath.Join(n.dir, "data", "postmaster.pid")); err == nil {
		first, _, _ := strings.Cut(string(said), "\n")
		if pid, err := strconv.Atoi(first); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = n.cmd.Wait()
	n.cmd = nil
}

// observe runs the program that writes to all databases, until the test ends.
func (d *databases) observe(ctx context.Context, addresses []string) {
	d.t.Helper()
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "python3", append([]string{filepath.Join("programs", "primaries.py")}, addresses...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+d.python, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err = cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			d.saw(lines.Text())
		}
		err := cmd.Wait()
		if ctx.Err() == nil {
			d.saw(fmt.Sprintf("fault the observer ended: %v: %s", err, complaints.String()))
		}
	})
	d.t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// saw notes what the observer says: primary ADDRESS, none, or fault TEXT.
func (d *databases) saw(line string) {
	what, rest, _ := strings.Cut(line, " ")
	d.mu.Lock()
	switch what {
	case "primary":
		d.primary = rest
	case "none":
		d.primary = ""
	default:
		d.fault = line
	}
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// await waits until a database takes writes that is not the old one.
func (d *databases) await(ctx context.Context, old *databaseNode) *databaseNode {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		d.mu.Lock()
		primary, fault := d.primary, d.fault
		d.mu.Unlock()
		if fault != "" {
			d.t.Fatal(fault)
		}
		for _, n := range d.nodes {
			if n != old && n.address == primary {
				return n
			}
		}
		select {
		case <-d.changed:
		case <-ctx.Done():
			d.t.Fatalf("no database but the old one takes writes within %v", patience)
		}
	}
}

// awaitReplicas waits until so many databases follow the primary.
func (d *databases) awaitReplicas(ctx context.Context, primary *databaseNode, want int) {
	d.t.Helper()
	host, number, err := net.SplitHostPort(primary.address)
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		said, _ := exec.CommandContext(ctx, "psql", "-h", host, "-p", number, "-U", "postgres", "-Atc",
			"select count(*) from pg_stat_replication where state = 'streaming' and application_name like 'database-%'").CombinedOutput()
		if strings.TrimSpace(string(said)) == strconv.Itoa(want) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			d.t.Fatalf("%d databases do not follow %s within %v: %s", want, primary.address, patience, said)
		}
	}
}

// TestPatroniFailsOver kills the primary of a database, with its Patroni, again and again, and the leader of the members: another database takes
// over, and never do two take writes.
func TestPatroniFailsOver(t *testing.T) {
	if fetched == "" {
		t.Skip("make thirdparty fetches it")
	}
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprintf("members %d", members), func(t *testing.T) { failOver(t, members) })
	}
}

// failOver is TestPatroniFailsOver with so many members.
func failOver(t *testing.T, members int) {
	t.Helper()
	const rounds = 3
	scenario := "fail-over of the database by kill -9, " + countedMembers(members)
	programs, missing := databasePrograms()
	if missing != "" {
		note(patroni, scenario, missing)
		t.Skip(missing)
	}
	var slowest time.Duration
	t.Cleanup(func() {
		said := "failed"
		if !t.Failed() {
			said = fmt.Sprintf("%d primaries and %d leaders killed: never two primaries, the next one took writes after %.1f s at most",
				rounds, rounds, slowest.Seconds())
		}
		note(patroni, scenario, said)
	})
	c := start(t.Context(), t, members)
	d := startDatabases(t.Context(), t, c, programs, 3)
	primary := d.await(t.Context(), nil)
	for range rounds {
		d.awaitReplicas(t.Context(), primary, len(d.nodes)-1)
		began := time.Now()
		primary.kill()
		next := d.await(t.Context(), primary)
		took := time.Since(began)
		slowest = max(slowest, took)
		t.Logf("kill -9 of the primary: the next one takes writes after %v", took)
		d.launch(primary)
		d.awaitReplicas(t.Context(), next, len(d.nodes)-1)
		c.killLeader(t.Context())
		primary = d.await(t.Context(), nil)
	}
}
