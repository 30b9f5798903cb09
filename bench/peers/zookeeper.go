package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// zookeeperSession is the time-out of sessions that is asked for.
const zookeeperSession = 20 * time.Second

// logbackQuiet lets ZooKeeper say errors only, as the others do.
const logbackQuiet = `<configuration><appender name="E" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%m%n</pattern></encoder></appender>
<root level="ERROR"><appender-ref ref="E"/></root></configuration>
`

// zookeeperSystem is Apache ZooKeeper.
type zookeeperSystem struct {
	classPath string
}

func (s *zookeeperSystem) name() string {
	if found := regexp.MustCompile(`/zookeeper-(\d[\d.]*)\.jar`).FindStringSubmatch(s.classPath); found != nil {
		return "ZooKeeper " + found[1]
	}
	return "ZooKeeper"
}

func (*zookeeperSystem) file() string { return "" }

func (s *zookeeperSystem) start(ctx context.Context, dir string, members int) (cluster, error) {
	addresses, err := freeAddresses(ctx, 3*members)
	if err != nil {
		return nil, err
	}
	port := func(i int) string {
		_, p, _ := net.SplitHostPort(addresses[i])
		return p
	}
	var servers strings.Builder
	for i := range members {
		if members > 1 {
			fmt.Fprintf(&servers, "server.%d=127.0.0.1:%s:%s\n", i+1, port(members+i), port(2*members+i))
		}
	}
	quiet := filepath.Join(dir, "logback.xml")
	if err = os.WriteFile(quiet, []byte(logbackQuiet), 0o600); err != nil {
		return nil, err
	}
	c := &zookeeperCluster{addresses: addresses[:members]}
	for i := range members {
		data := filepath.Join(dir, fmt.Sprintf("m%d", i))
		config := filepath.Join(data, "zoo.cfg")
		text := fmt.Sprintf("tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n%s",
			data, port(i), servers.String())
		err = errors.Join(os.MkdirAll(data, 0o700), os.WriteFile(config, []byte(text), 0o600),
			os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, i+1), 0o600))
		if err != nil {
			return nil, errors.Join(err, stopAll(c.members))
		}
		p, startErr := startProcess(ctx, logOf(dir, i), "java", "-Xms512m", "-Xmx2g", "-Dlogback.configurationFile="+quiet, "-cp", s.classPath,
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
		if startErr != nil {
			return nil, errors.Join(startErr, stopAll(c.members))
		}
		c.members = append(c.members, p)
	}
	if err = c.awaitWrites(ctx); err != nil {
		return nil, errors.Join(err, stopAll(c.members))
	}
	return c, nil
}

// zookeeperCluster is a cluster of ZooKeeper.
type zookeeperCluster struct {
	members   []*process
	addresses []string
}

func (c *zookeeperCluster) processes() []*process { return c.members }

// quietLogger drops what the library says.
type quietLogger struct{}

func (quietLogger) Printf(string, ...any) {}

// dial opens a session at one member.
func (c *zookeeperCluster) dial(i int) (*zk.Conn, error) {
	conn, _, err := zk.Connect([]string{c.addresses[i%len(c.addresses)]}, zookeeperSession, zk.WithLogger(quietLogger{}), zk.WithLogInfo(false))
	return conn, err
}

func (c *zookeeperCluster) restart(ctx context.Context) (err error) {
	if c.members, err = again(ctx, c.members); err != nil {
		return err
	}
	return c.awaitWrites(ctx)
}

// awaitWrites returns when every member has taken a write. Each try has a session of its own, because the library waits for a second after a connection
// was refused. A connection that says nothing must not come first: a member that gets one while it starts takes no others.
func (c *zookeeperCluster) awaitWrites(ctx context.Context) error {
	for i := range c.addresses {
		err := await(ctx, c.members, func(context.Context) error {
			conn, err := c.dial(i)
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err = conn.Create("/bench", nil, 0, zk.WorldACL(zk.PermAll)); errors.Is(err, zk.ErrNodeExists) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill creates the keys, since a put in ZooKeeper is of a node that is there.
func (c *zookeeperCluster) fill() error {
	conn, err := c.dial(0)
	if err != nil {
		return err
	}
	defer conn.Close()
	const some = 500
	for from := 0; from < keys; from += some {
		var requests []any
		for i := from; i < from+some; i++ {
			requests = append(requests, &zk.CreateRequest{Path: fmt.Sprintf("/bench/%05d", i), Data: make([]byte, valueBytes), Acl: zk.WorldACL(zk.PermAll)})
		}
		if _, err := conn.Multi(requests...); err != nil {
			return fmt.Errorf("create nodes: %w", err)
		}
	}
	return nil
}

// open shares sessions between the callers; the library has nothing plainer. Its calls end by themselves, at the latest with the session.
func (c *zookeeperCluster) open(_ context.Context, work string, callers int) (*cell, error) {
	var conns []*zk.Conn
	closeAll := func() error {
		for _, conn := range conns {
			conn.Close()
		}
		return nil
	}
	for i := range min(callers, connectionsMax) {
		conn, err := c.dial(i)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		conns = append(conns, conn)
	}
	counter, value := newCounter(callers), make([]byte, valueBytes)
	return &cell{close: closeAll, step: func(_ context.Context, caller int) error {
		conn := conns[caller%len(conns)]
		path := "/bench-" + work
		switch work {
		case workPut, workPutByLibrary:
			_, err := conn.Set("/"+keyOf(counter.next(caller)), value, -1)
			return err
		case workLock, workLockByLibrary:
			path = fmt.Sprintf("/bench-%s-%d", work, caller)
		}
		lock := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		if err := lock.Lock(); err != nil {
			return err
		}
		return lock.Unlock()
	}}, nil
}
