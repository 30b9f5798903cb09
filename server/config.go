package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/tenure-io/tenure/internal/share"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/gate"
	"github.com/tenure-io/tenure/storage"
)

// Defaults of Config.
const (
	listenDefault = "127.0.0.1:7400"
	httpDefault   = "127.0.0.1:7401"
	peerDefault   = "127.0.0.1:7402"
	// logBytesLeast is the least that LogBytesMax can be: eight of the largest messages between members.
	logBytesLeast          = 16 << 20
	tickDefault            = 50 * time.Millisecond
	electionTicksDefault   = 20
	requestBytesMaxDefault = 3 << 19 // 1.5 MiB
	callsMaxDefault        = 10_000
	// streamsMaxDefault lets a connection that is used to its bound take about 140 MiB.
	streamsMaxDefault = 8192
	// streamSessionsMaxDefault keeps what a stream remembers below about 20 MiB.
	streamSessionsMaxDefault = 128 << 10
	stopGraceDefault         = 5 * time.Second
	ttlFloor                 = 2 * time.Second
)

// Errors of Validate.
var (
	// ErrAgentInsecure means that other machines can reach the agent inside the member, which has no TLS.
	ErrAgentInsecure = errors.New("anyone who can reach this address can change what the agent registers, and an agent inside a member has no TLS; " +
		"listen on a loopback address, run `tenure agent` beside the member with TLS, or accept it with --insecure")
	// ErrInsecure means that an address can be reached from other machines, and that there is no TLS.
	ErrInsecure = errors.New("anyone who can connect there can take every lock; give the member TLS with --cert-file and --key-file, listen on a loopback address, or accept it with --insecure")
	// ErrConfig means that a setting has a value that makes no sense.
	ErrConfig = errors.New("bad setting")
)

// Config says how a member runs. Only DataDir is required.
type Config struct {
	// DataDir is the directory of the member, made when missing. No two members may share one.
	DataDir string
	// Name is the member's name, unique in the cluster; empty is "tenure-1".
	Name string
	// Version is the program's version, shown to people.
	Version string

	// ListenAddr is where gRPC clients connect, host:port; empty is 127.0.0.1:7400. Port 0 takes a free one.
	ListenAddr string
	// HTTPAddr is where REST, metrics and health are served; empty is 127.0.0.1:7401. Port 0 takes a free one.
	HTTPAddr string
	// PeerAddr is where other members connect; empty is 127.0.0.1:7402. Port 0 takes a free one. "off" is for a member that is
	// alone, and stays so.
	PeerAddr string
	// AdvertiseAddr is what clients are told instead of ListenAddr, host:port; empty is what was bound.
	AdvertiseAddr string
	// AdvertisePeerAddr is what other members are told instead of PeerAddr; empty is what was bound.
	AdvertisePeerAddr string
	// AdvertiseHTTPAddr is what clients are told instead of HTTPAddr; empty is what was bound.
	AdvertiseHTTPAddr string
	// InitialCluster names the members that begin a new cluster together, this one among them, as name=host:port with the
	// address where the others reach it. It must be the same for all, and matters only on a fresh directory. Empty begins
	// a cluster of one, unless Join is set.
	InitialCluster []string
	// Join are peer addresses, host:port, of a running cluster that a member on a fresh directory asks to be added to.
	Join []string
	// JoinToken is the join token that a member brings that joins, as text; JoinTokenFile is a file with it. The file may come
	// while the member waits. At most one of them is given.
	JoinToken, JoinTokenFile string
	// StayLearner keeps a member that joins from voting when it has caught up.
	StayLearner bool
	// ManualPromotion leaves it to PromoteMember to let learners vote, while this member leads.
	ManualPromotion bool
	// DiskFreeMinBytes is the free space of the data directory's disk below which nothing is taken that makes the state
	// grow; 0 is 512 MiB.
	DiskFreeMinBytes uint64
	// LogBytesMax is how much of the raft log is kept for members that lag, at least 16 MiB; 0 is 512 MiB.
	LogBytesMax uint64
	// Zone is the member's failure domain; for people.
	Zone string
	// DebugAddr is where profiles of the process are served, host:port on a loopback address; empty serves none.
	DebugAddr string
	// ConsulAddr is where Consul's HTTP is served, host:port; empty serves none.
	ConsulAddr string
	// Consul makes the handler of Consul's HTTP, over the connection to this member's own services; required with ConsulAddr.
	Consul func(conn grpc.ClientConnInterface) (http.Handler, error)
	// Inside makes what else runs in the member's process, such as the agent of its machine, before Consul is called. What it returns
	// runs until the member stops; an error of it stops the member. nil: nothing.
	Inside func(Inside) (run func(context.Context) error, err error)
	// AgentAddr and AgentHTTPAddr are where what Inside makes listens for clients, which has no TLS, host:port; empty: nowhere.
	AgentAddr, AgentHTTPAddr string
	// Gossip says how the member takes part in gossip.
	Gossip Gossip
	// Insecure allows addresses that other machines can reach, without TLS.
	Insecure bool
	// TLS says how clients and the member are sure of each other.
	TLS TLS
	// Audit says what is written down of calls, and where.
	Audit Audit

	// AllowedOrigins are the values of the header Origin that HTTP serves; empty serves no page of a browser.
	AllowedOrigins []string
	// AllowedHosts are more names, without port, that HTTP is asked for by. Addresses, localhost, the hosts of the listen and
	// advertised addresses and, with TLS, the names in the member's certificate always are.
	AllowedHosts []string

	// Tick is raft's unit of time; 0 is 50 ms. Shorter finds a dead leader earlier and costs more messages.
	Tick time.Duration
	// ElectionTicks is after how many ticks without a leader a member asks for votes; 0 is 20. Twice that time is the
	// shortest TTL of a session.
	ElectionTicks int

	// RequestBytesMax is the largest message a client may send; 0 is 1.5 MiB.
	RequestBytesMax int
	// CallsMax is how many calls with one answer are served at a time; 0 is 10 000. More get TOO_MANY_REQUESTS.
	CallsMax int
	// WaitsMax is how many calls may wait for a lock, and streams other than renewals go on; 0 is 65 536. More get
	// TOO_MANY_REQUESTS.
	WaitsMax int
	// ConnectionsMax is how many connections clients may have, over gRPC and HTTP together, and eight times what other members
	// may have; 0 is what the limit of descriptors leaves beside what the store needs, at most 65 536. More are closed at once.
	ConnectionsMax int
	// IntakeBytesMax bounds what is kept of messages that are not complete and of REST's bodies, in all, and, beside it, of answers that
	// are not read; 0 is 256 MiB.
	IntakeBytesMax int64
	// MessageTimeout is how long a message of which something came may stay incomplete; 0 is 45 s. Then its connection is
	// closed.
	MessageTimeout time.Duration
	// ExemptCallers are addresses and prefixes of callers that stand for many, such as load balancers: they get no share,
	// but whatever is free.
	ExemptCallers []string
	// StreamsMax is how many calls and streams one client connection may have open; 0 is 8 192. More wait in the client.
	StreamsMax int
	// StreamSessionsMax is how many sessions one KeepAlive stream renews; 0 is 131 072. A renewal of one more is refused
	// with LIMIT_EXCEEDED; another stream may bring it.
	StreamSessionsMax int
	// AuthStaleMax is how long stale reads, new streams and the list of the pool are served where credentials are looked at, after the last proof
	// that this member knows which rights were taken away; 0 is 10 s.
	AuthStaleMax time.Duration
	// TokensUsedEvery is about how often the member notes which tokens were used; 0 is 5 minutes.
	TokensUsedEvery time.Duration
	// StopGrace is how long calls may go on after the member was told to stop; 0 is 5 s.
	StopGrace time.Duration

	// Logger takes what an operator should know; nil logs nothing.
	Logger *zap.Logger
	// Registry keeps the metrics, and is served under /metrics; nil makes one.
	Registry *prometheus.Registry
	// FS holds DataDir; nil is the disk.
	FS storage.FS
	// Listen opens listeners; nil is the network. Tests give connections in memory.
	Listen func(ctx context.Context, address string) (net.Listener, error)
}

// withDefaults returns the config with every optional field set.
func (c Config) withDefaults() Config {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	setInt := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.Name, "tenure-1")
	set(&c.Version, "dev")
	set(&c.ListenAddr, listenDefault)
	set(&c.HTTPAddr, httpDefault)
	set(&c.PeerAddr, peerDefault)
	setInt(&c.ElectionTicks, electionTicksDefault)
	setInt(&c.RequestBytesMax, requestBytesMaxDefault)
	setInt(&c.CallsMax, callsMaxDefault)
	setInt(&c.WaitsMax, gate.WaitsMaxDefault)
	if c.ConnectionsMax == 0 {
		c.ConnectionsMax = gate.ConnectionsFor(filesMax())
	}
	if c.IntakeBytesMax == 0 {
		c.IntakeBytesMax = gate.IntakeBytesMaxDefault
	}
	if c.MessageTimeout == 0 {
		c.MessageTimeout = gate.MessageTimeoutDefault
	}
	setInt(&c.StreamsMax, streamsMaxDefault)
	setInt(&c.StreamSessionsMax, streamSessionsMaxDefault)
	if c.Tick == 0 {
		c.Tick = tickDefault
	}
	if c.StopGrace == 0 {
		c.StopGrace = stopGraceDefault
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.FS == nil {
		c.FS = storage.DiskFS()
	}
	if c.Listen == nil {
		c.Listen = func(ctx context.Context, address string) (net.Listener, error) {
			return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		}
	}
	return c
}

// Validate returns what is wrong with the settings, each in a line.
func (c Config) Validate() error {
	c = c.withDefaults()
	var problems []error
	if c.DataDir == "" {
		problems = append(problems, fmt.Errorf("%w: no data directory is given; use --data-dir, or --dev to try Tenure", ErrConfig))
	}
	if !call.ValidName(c.Name) {
		problems = append(problems, fmt.Errorf("%w: the name %q must be 1 to 63 letters, digits, dots, hyphens or underscores", ErrConfig, c.Name))
	}
	for _, a := range []struct {
		flag, address string
		safe          bool
	}{
		{"--listen", c.ListenAddr, c.TLS.on()}, {"--http", c.HTTPAddr, c.TLS.on()},
	} {
		problems = append(problems, checkListenAddress(a.flag, a.address, c.Insecure || a.safe))
	}
	problems = append(problems, c.checkPeerAddress(), c.TLS.check(), c.Gossip.check(c.Insecure), c.Audit.check())
	if c.DebugAddr != "" {
		problems = append(problems, checkDebugAddress(c.DebugAddr))
	}
	if c.ConsulAddr != "" {
		problems = append(problems, checkListenAddress("--consul-http", c.ConsulAddr, c.Insecure || c.TLS.on()))
		if c.Consul == nil {
			problems = append(problems, fmt.Errorf("%w: nothing serves --consul-http", ErrConfig))
		}
	}
	problems = append(problems, c.checkAgentAddress("--with-agent", c.AgentAddr), c.checkAgentAddress("--with-agent-http", c.AgentHTTPAddr))
	for _, a := range []struct{ flag, address string }{
		{"--advertise", c.AdvertiseAddr},
		{"--advertise-peer", c.AdvertisePeerAddr},
		{"--advertise-http", c.AdvertiseHTTPAddr},
	} {
		if a.address != "" {
			problems = append(problems, checkAdvertised(a.flag, a.address))
		}
	}
	problems = append(problems, c.checkPeers())
	if c.Tick < time.Millisecond || c.Tick > 10*time.Second {
		problems = append(problems, fmt.Errorf("%w: the tick %v must be 1 ms to 10 s", ErrConfig, c.Tick))
	}
	if c.ElectionTicks < 5 || c.ElectionTicks > 1000 {
		problems = append(problems, fmt.Errorf("%w: election ticks %d must be 5 to 1000", ErrConfig, c.ElectionTicks))
	}
	if c.LogBytesMax != 0 && c.LogBytesMax < logBytesLeast {
		problems = append(problems, fmt.Errorf("%w: --log-bytes-max %d must be at least %d", ErrConfig, c.LogBytesMax, logBytesLeast))
	}
	if c.AuthStaleMax < 0 {
		problems = append(problems, fmt.Errorf("%w: --auth-stale-max %v must not be negative", ErrConfig, c.AuthStaleMax))
	}
	if c.StopGrace < 0 {
		problems = append(problems, fmt.Errorf("%w: --stop-grace %v must not be negative", ErrConfig, c.StopGrace))
	}
	if _, err := share.ParseExempt(c.ExemptCallers); err != nil {
		problems = append(problems, fmt.Errorf("%w: --exempt-callers: %w", ErrConfig, err))
	}
	if c.WaitsMax < 1 || c.ConnectionsMax < 1 || c.IntakeBytesMax < 1 || c.MessageTimeout < 0 || c.RequestBytesMax < 1<<10 || c.CallsMax < 1 || c.StreamsMax < 1 || c.StreamSessionsMax < 1 {
		problems = append(problems, fmt.Errorf("%w: limits of requests must be larger than zero", ErrConfig))
	}
	return errors.Join(exposedOnce(problems)...)
}

// exposedError says at which addresses other machines can reach a member without TLS.
type exposedError struct{ at string }

// Error says at which, and what to do.
func (e *exposedError) Error() string { return e.at + ": " + ErrInsecure.Error() }

// Unwrap returns ErrInsecure.
func (*exposedError) Unwrap() error { return ErrInsecure }

// exposedOnce returns problems with those addresses in one that other machines can reach, so that what to do is said once.
func exposedOnce(problems []error) []error {
	var at []string
	var others []error
	for _, problem := range problems {
		if exposed, ok := errors.AsType[*exposedError](problem); ok {
			at = append(at, exposed.at)
		} else {
			others = append(others, problem)
		}
	}
	if len(at) == 0 {
		return problems
	}
	return append([]error{&exposedError{at: strings.Join(at, ", ")}}, others...)
}

// checkListenAddress refuses what cannot be listened on, or should not without TLS.
func checkListenAddress(flag, address string, safe bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s %q must be host:port", ErrConfig, flag, address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%w: %s %q must have a port between 0 and 65535", ErrConfig, flag, address)
	}
	if !safe && !loopback(host) {
		return &exposedError{at: flag + " " + address}
	}
	return nil
}

// checkAgentAddress refuses an address of the agent inside that others could reach and use; empty is none.
func (c Config) checkAgentAddress(flag, address string) error {
	if address == "" {
		return nil
	}
	err := checkListenAddress(flag, address, c.Insecure)
	if errors.Is(err, ErrInsecure) {
		return fmt.Errorf("%s %s: %w", flag, address, ErrAgentInsecure)
	}
	return err
}

// checkAdvertised refuses what others cannot connect to.
func checkAdvertised(flag, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s %q must be host:port", ErrConfig, flag, address)
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		return fmt.Errorf("%w: %s %q must name a host that others can reach", ErrConfig, flag, address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%w: %s %q must have a port between 1 and 65535", ErrConfig, flag, address)
	}
	if err := storage.CheckAddress(address); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrConfig, flag, err)
	}
	return nil
}

// loopback reports whether only this machine can reach a host's address. It is so everywhere: "localhost" may have capitals, and ends with no dot.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// httpHosts are the names that HTTP may be asked for by, beside addresses and localhost.
func (c Config) httpHosts() []string {
	hosts := slices.Clone(c.AllowedHosts)
	for _, address := range []string{c.HTTPAddr, c.AdvertiseHTTPAddr, c.AdvertiseAddr, c.AdvertisePeerAddr, c.ConsulAddr} {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// ttlMin is the shortest TTL of a session: a leader must be able to fall and be replaced within it.
func (c Config) ttlMin() time.Duration {
	return max(ttlFloor, 2*time.Duration(c.ElectionTicks)*c.Tick)
}
