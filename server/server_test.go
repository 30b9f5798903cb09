package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server"
	"github.com/tenure-io/tenure/storage"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// member is a member under test, with clients.
type member struct {
	tenurev1.SessionServiceClient
	tenurev1.KVServiceClient
	tenurev1.LockServiceClient
	tenurev1.ClusterServiceClient
	health healthpb.HealthClient

	conn  *grpc.ClientConn
	at    server.Addresses
	fs    storage.FS
	logs  *observer.ObservedLogs
	stop  context.CancelFunc
	ended chan error
}

// start runs a member on a file system in memory, until the test ends. A test that runs on a follower gets one.
func start(t *testing.T, adjust ...func(*server.Config)) *member {
	t.Helper()
	if onAFollower(t) {
		return startFollower(t, adjust...)
	}
	return startMember(t, adjust...)
}

// startMember runs a member, until the test ends.
func startMember(t *testing.T, adjust ...func(*server.Config)) *member {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	m := &member{fs: storage.NewMemFS(), logs: logs, ended: make(chan error, 1)}
	config := server.Config{
		DataDir:    "data",
		FS:         m.fs,
		ListenAddr: "127.0.0.1:0",
		HTTPAddr:   "127.0.0.1:0",
		PeerAddr:   "127.0.0.1:0",
		Tick:       5 * time.Millisecond,
		StopGrace:  patience, // Whoever is to be told that it stops is told, on any machine.
		Logger:     zap.New(core),
	}
	for _, a := range adjust {
		a(&config)
	}
	s, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	m.stop = stop
	go func() { m.ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-m.ended:
		t.Fatalf("Run ended before it was ready: %v", err)
	case <-time.After(patience):
		t.Fatal("member is not ready")
	}
	m.at = s.Addresses()
	m.conn = dial(t, m.at.GRPC)
	m.SessionServiceClient = tenurev1.NewSessionServiceClient(m.conn)
	m.KVServiceClient = tenurev1.NewKVServiceClient(m.conn)
	m.LockServiceClient = tenurev1.NewLockServiceClient(m.conn)
	m.ClusterServiceClient = tenurev1.NewClusterServiceClient(m.conn)
	m.health = healthpb.NewHealthClient(m.conn)
	t.Cleanup(func() {
		stop()
		if err := m.wait(); err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
	return m
}

// wait returns what Run returned.
func (m *member) wait() error {
	select {
	case err := <-m.ended:
		m.ended <- err
		return err
	case <-time.After(patience):
		return errors.New("member does not stop")
	}
}

// dial connects to an address, until the test ends.
func dial(t *testing.T, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// infoOf returns the ErrorInfo of an error; empty when it has none.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return &errdetails.ErrorInfo{}
}

// wantError fails unless err has a code and a reason.
func wantError(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	info := infoOf(err)
	if status.Code(err) != code || info.GetReason() != reason || info.GetDomain() != "tenure.io" {
		t.Errorf("got %v, reason %q of domain %q; want %v, reason %q", err, info.GetReason(), info.GetDomain(), code, reason)
	}
}

// openSession creates a session without secret.
func (m *member) openSession(t *testing.T, name string) string {
	t.Helper()
	s, err := m.CreateSession(t.Context(), &tenurev1.CreateSessionRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s.GetSessionId()
}

func text(s string) *tenurev1.PutRequest_Text { return &tenurev1.PutRequest_Text{Text: s} }

func TestMemberTellsWhereItListens(t *testing.T) {
	m := start(t)
	file, err := m.fs.Open("data/addresses.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	var got server.Addresses
	if err = json.Unmarshal(data, &got); err != nil || got != m.at {
		t.Errorf("addresses.json is %s (%v), want %+v", data, err, m.at)
	}
	st, err := m.GetStatus(t.Context(), &tenurev1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if st.GetLeader() != "tenure-1" || len(st.GetMembers()) != 1 {
		t.Fatalf("got leader %q, members %v; want tenure-1 alone", st.GetLeader(), st.GetMembers())
	}
	one := st.GetMembers()[0]
	if one.GetClientAddress() != m.at.GRPC || one.GetHttpAddress() != m.at.HTTP || one.GetPeerAddress() != m.at.Peer ||
		!one.GetLeader() || one.GetId() != st.GetHeader().GetMemberId() {
		t.Errorf("got member %v, want the leader with the addresses %+v", one, m.at)
	}
	m.stop()
	if err := m.wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.fs.Stat("data/addresses.json"); err == nil {
		t.Error("addresses.json is still there after the member stopped")
	}
}

// TestAMemberStopsThoughItsAddressesAreGone has a data directory that something else cleans while the member runs.
func TestAMemberStopsThoughItsAddressesAreGone(t *testing.T) {
	m := start(t)
	if err := m.fs.Remove("data/addresses.json"); err != nil {
		t.Fatal(err)
	}
	m.stop()
	if err := m.wait(); err != nil {
		t.Errorf("got %v, want a clean stop", err)
	}
}

func TestStateSurvivesARestart(t *testing.T) {
	fs := storage.NewMemFS()
	onFS := func(c *server.Config) { c.FS = fs }
	first := start(t, onFS)
	id := first.openSession(t, "alice")
	put, err := first.Put(t.Context(), &tenurev1.PutRequest{Key: "k", Content: text("v"), Acquire: id})
	if err != nil || !put.GetAcquired() {
		t.Fatalf("put: %v, %v", put, err)
	}
	first.stop()
	if err = first.wait(); err != nil {
		t.Fatal(err)
	}
	second := start(t, onFS)
	got, err := second.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if kv := got.GetKv(); string(kv.GetValue()) != "v" || kv.GetSessionId() != id || kv.GetLockIndex() != 1 {
		t.Errorf("got %v after the restart, want v held by %s", kv, id)
	}
	if h, w := got.GetHeader(), put.GetHeader(); h.GetHistoryId() != w.GetHistoryId() || h.GetMemberId() != w.GetMemberId() ||
		h.GetRevision() != w.GetRevision() {
		t.Errorf("got header %v after the restart, want that of %v", h, w)
	}
}

func TestStopEndsStreamsAndRefusesCalls(t *testing.T) {
	m := start(t)
	conn := dial(t, m.at.GRPC)
	stream, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v; want SERVING", r, err)
	}
	m.stop()
	for err = nil; err == nil; {
		_, err = stream.Recv()
	}
	wantError(t, err, codes.Unavailable, "STOPPING")
	if err := m.wait(); err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}

func TestStaleReadThatWaitsEndsWithTheMember(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := start(t, func(c *server.Config) { c.Registry = registry })
	ended := make(chan error, 1)
	go func() {
		_, err := m.Get(t.Context(), &tenurev1.GetRequest{
			Key:  "k",
			Read: &tenurev1.ReadOptions{Stale: true, MinRevision: 1000},
		})
		ended <- err
	}()
	await(t, "the read waits", func() bool { return sharedValue(t, registry, "tenure_server_shared_used", "limit", "waits_max") == 1 })
	m.stop()
	wantError(t, <-ended, codes.Unavailable, "STOPPING")
}

// awaitGauge waits until a metric has a value.
func awaitGauge(t *testing.T, registry *prometheus.Registry, name string, want float64) {
	t.Helper()
	await(t, fmt.Sprintf("%s is %v", name, want), func() bool { return gaugeIs(t, registry, name, want) })
}

// gaugeIs reports whether a metric has a value.
func gaugeIs(t *testing.T, registry *prometheus.Registry, name string, want float64) bool {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(families, func(f *dto.MetricFamily) bool {
		return f.GetName() == name && f.GetMetric()[0].GetGauge().GetValue() == want
	})
}

func TestTooManyCallsAreRefused(t *testing.T) {
	registry := prometheus.NewRegistry()
	disk := newHeldDisk()
	m := startMember(t, func(c *server.Config) { c.Registry, c.CallsMax, c.FS = registry, 1, disk })
	release := disk.hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := m.Put(ctx, &tenurev1.PutRequest{Key: "k", Content: text("v")})
		ended <- err
	}()
	awaitGauge(t, registry, "tenure_server_calls_in_flight", 1)
	_, err := m.Get(t.Context(), &tenurev1.GetRequest{Key: "k"})
	wantError(t, err, codes.ResourceExhausted, "TOO_MANY_REQUESTS")
	if infoOf(err).GetMetadata()["retry_after_ms"] == "" {
		t.Error("the error does not tell when to try again")
	}
	cancel()
	if err = <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("got %v, want CANCELLED", err)
	}
	awaitGauge(t, registry, "tenure_server_calls_in_flight", 0)
	release()
	if _, err = m.List(t.Context(), &tenurev1.ListRequest{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestHealthTellsOfEveryService(t *testing.T) {
	m := start(t)
	list, err := m.health.List(t.Context(), &healthpb.HealthListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{
		"", "tenure.v1.KVService", "tenure.v1.SessionService", "tenure.v1.LockService", "tenure.v1.WatchService",
		"tenure.v1.ElectionService", "tenure.v1.ClusterService",
	} {
		if got := list.GetStatuses()[service].GetStatus(); got != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("service %q is %v, want SERVING", service, got)
		}
		var r *healthpb.HealthCheckResponse
		r, err = m.health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("check of %q: %v, %v; want SERVING", service, r, err)
		}
	}
	_, err = m.health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nobody"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("check of a service that is not there: %v, want NOT_FOUND", err)
	}
}

// A member that knows no leader can serve neither writes nor linearizable reads, and says so.
func TestHealthWithoutALeader(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	c.leader(t)
	last := c.members[0]
	healthIs := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		await(t, "health is "+want.String(), func() bool {
			r, err := last.health.Check(t.Context(), &healthpb.HealthCheckRequest{})
			return err == nil && r.GetStatus() == want
		})
	}
	healthIs(healthpb.HealthCheckResponse_SERVING)
	for _, m := range c.members[1:] {
		m.stop()
	}
	healthIs(healthpb.HealthCheckResponse_NOT_SERVING)
}

func TestConfigIsRefusedWithAReason(t *testing.T) {
	good := server.Config{DataDir: "d"}
	tests := map[string]struct {
		adjust func(*server.Config)
		want   error
	}{
		"defaults are fine":                        {func(*server.Config) {}, nil},
		"port 0 is fine":                           {func(c *server.Config) { c.ListenAddr = "127.0.0.1:0" }, nil},
		"IPv6 loopback is fine":                    {func(c *server.Config) { c.ListenAddr = "[::1]:7400" }, nil},
		"a data directory is needed":               {func(c *server.Config) { c.DataDir = "" }, server.ErrConfig},
		"an address needs a port":                  {func(c *server.Config) { c.HTTPAddr = "127.0.0.1" }, server.ErrConfig},
		"a port must be a port":                    {func(c *server.Config) { c.PeerAddr = "127.0.0.1:http" }, server.ErrConfig},
		"every interface needs insecure":           {func(c *server.Config) { c.ListenAddr = ":7400" }, server.ErrInsecure},
		"another machine's address needs insecure": {func(c *server.Config) { c.HTTPAddr = "10.0.0.1:7401" }, server.ErrInsecure},
		"a host name needs insecure":               {func(c *server.Config) { c.PeerAddr = "db:7402" }, server.ErrInsecure},
		"with insecure it is fine":                 {func(c *server.Config) { c.ListenAddr, c.Insecure = ":7400", true }, nil},
		"localhost in capitals is fine": {func(c *server.Config) {
			c.ListenAddr, c.HTTPAddr, c.PeerAddr, c.DebugAddr, c.Gossip.Addr = "LocalHost:0", "LOCALHOST:0", "Localhost:0", "LOCALHOST:0", "LOCALHOST:0"
		}, nil},
		"localhost with a dot is any other name":   {func(c *server.Config) { c.ListenAddr = "localhost.:7400" }, server.ErrInsecure},
		"an agent inside has no TLS":               {func(c *server.Config) { c.AgentAddr = "10.0.0.1:7404" }, server.ErrAgentInsecure},
		"nor has its REST":                         {func(c *server.Config) { c.AgentAddr, c.AgentHTTPAddr = "127.0.0.1:0", ":7405" }, server.ErrAgentInsecure},
		"with insecure it may be reached":          {func(c *server.Config) { c.AgentAddr, c.Insecure = ":7404", true }, nil},
		"an agent inside listens on a port":        {func(c *server.Config) { c.AgentAddr = "127.0.0.1" }, server.ErrConfig},
		"nobody can reach an unspecified address":  {func(c *server.Config) { c.AdvertiseAddr = "0.0.0.0:7400" }, server.ErrConfig},
		"what is advertised needs a port":          {func(c *server.Config) { c.AdvertisePeerAddr = "db:0" }, server.ErrConfig},
		"a host name may be advertised":            {func(c *server.Config) { c.AdvertiseAddr = "db:7400" }, nil},
		"a name without spaces":                    {func(c *server.Config) { c.Name = "a b" }, server.ErrConfig},
		"an election cannot be faster than a tick": {func(c *server.Config) { c.ElectionTicks = 1 }, server.ErrConfig},
		"a log holds some messages":                {func(c *server.Config) { c.LogBytesMax = 16<<20 - 1 }, server.ErrConfig},
		"a first member is a name and an address":  {func(c *server.Config) { c.InitialCluster = []string{"tenure-1"} }, server.ErrConfig},
		"this member is one of the first":          {func(c *server.Config) { c.InitialCluster = []string{"b=h:7402"} }, server.ErrConfig},
		"no two first members share an address": {func(c *server.Config) {
			c.InitialCluster = []string{"tenure-1=h:7402", "b=h:7402"}
		}, server.ErrConfig},
		"three first members are fine": {func(c *server.Config) {
			c.InitialCluster = []string{"tenure-1=h1:7402", "b=h2:7402", "c=h3:7402"}
		}, nil},
		"a member begins a cluster or joins one": {func(c *server.Config) {
			c.InitialCluster, c.Join = []string{"tenure-1=h:7402"}, []string{"h:7402"}
		}, server.ErrConfig},
		"a member that joins knows where":   {func(c *server.Config) { c.Join = []string{"h"} }, server.ErrConfig},
		"only who joins can stay a learner": {func(c *server.Config) { c.StayLearner = true }, server.ErrConfig},
		"a limit cannot be negative":        {func(c *server.Config) { c.CallsMax = -1 }, server.ErrConfig},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			config := good
			tc.adjust(&config)
			if _, err := server.New(config); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestAddressesWithoutTLSAreRefusedTogether(t *testing.T) {
	_, err := server.New(server.Config{DataDir: "d", ListenAddr: "10.0.0.4:7400", HTTPAddr: "10.0.0.4:7401", PeerAddr: "10.0.0.4:7402", CallsMax: -1})
	if !errors.Is(err, server.ErrInsecure) || !errors.Is(err, server.ErrConfig) {
		t.Errorf("got %v, want both mistakes", err)
	}
	const together = "--listen 10.0.0.4:7400, --http 10.0.0.4:7401, --peer 10.0.0.4:7402: "
	if text := fmt.Sprint(err); !strings.Contains(text, together) || strings.Count(text, "can take every lock") != 1 {
		t.Errorf("got %s, want one sentence that begins with %s", text, together)
	}
}

func TestRunFailsWhenTheAddressIsTaken(t *testing.T) {
	m := start(t)
	s, err := server.New(server.Config{
		DataDir: "other", FS: m.fs, ListenAddr: m.at.GRPC, HTTPAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run returned nil, want that the address is in use")
	}
	if err := s.Run(t.Context()); !errors.Is(err, server.ErrRan) {
		t.Errorf("the second Run returned %v, want %v", err, server.ErrRan)
	}
}

// ttl is short for durations in requests.
func seconds(n float64) *durationpb.Duration {
	return durationpb.New(time.Duration(n * float64(time.Second)))
}
