package hostile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/tenure-io/tenure/test/rig"
)

// ordersVariable is where a process of attackers finds its orders, as JSON.
const ordersVariable = "TENURE_HOSTILE_ORDERS"

// hostileAddress is where attackers call from; quietAddress is that of the others. Agents call members from 127.0.0.1.
const (
	hostileAddress = "127.0.0.2"
	quietAddress   = "127.0.0.3"
)

// stands is the line with which an attacker says that it is at its height.
const stands = "stands"

// orders are what an attacker is told.
type orders struct {
	Attack  string
	Members []rig.Addresses // the first is attacked, where there is no reason for another
	Long    bool
	Short   bool
	Given   map[string]string // what the test made for the attack before
}

// report is what an attacker tells at its end.
type report struct {
	Answers map[string]int // by gRPC code or HTTP status
	Faults  []string       // answers that no member may give
}

// attacker is one hostile caller. Its methods may be called by any goroutine.
type attacker struct {
	orders
	told chan struct{} // closed when the attack is to end

	mu     sync.Mutex // guards what follows
	report report
	open   []io.Closer
}

// obey makes the attack of the orders, in this process.
func obey(text string) error {
	a := &attacker{told: make(chan struct{}), report: report{Answers: map[string]int{}}}
	if err := json.Unmarshal([]byte(text), &a.orders); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // It ends when the test has seen enough, or is gone.
		close(a.told)
	}()
	for _, kind := range append(attacks(), wellBehaved) {
		name, alike := strings.CutSuffix(a.Attack, alikeEnd)
		if kind.name != name {
			continue
		}
		if alike {
			kind.attack = kind.alike
		}
		ctx, cancel := context.WithCancel(context.Background())
		err := kind.attack(ctx, a)
		if err == nil {
			a.stand()
		}
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, c := range a.open {
			_ = c.Close() // The process ends anyway.
		}
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(a.report))
	}
	return fmt.Errorf("no attack %q", a.Attack)
}

// stand tells the test that the attack is at its height, and waits until the test has seen enough.
func (a *attacker) stand() {
	fmt.Println(stands)
	<-a.told
}

// over reports whether the test has seen enough.
func (a *attacker) over() bool {
	select {
	case <-a.told:
		return true
	default:
		return false
	}
}

// keep closes something when the attack is over, not before.
func (a *attacker) keep(c io.Closer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, c)
}

// count is how often something is done in the short form and in the long one.
func (a *attacker) count(short, long int) int {
	if a.Long {
		return long
	}
	return short
}

// dialHostile connects from the attacker's address.
func dialHostile(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hostileAddress)}}).DialContext(ctx, "tcp", address)
}

// dial returns a connection of gRPC, which stays until the attack is over.
func (a *attacker) dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dialHostile), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err == nil {
		a.keep(conn)
	}
	return conn, err
}

// web returns a client of HTTP.
func (a *attacker) web() *http.Client {
	t := &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return dialHostile(ctx, address) },
		MaxIdleConnsPerHost: 16,
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// libraryFaults are how the gRPC library begins the texts with which it refuses what is not gRPC, before any code of the
// member is asked. Its protocol wants INTERNAL there.
var libraryFaults = []string{
	"grpc: ", "malformed grpc-timeout", "malformed binary metadata", "malformed header", "transport: ", "no host or :authority",
	"unexpected EOF", "cardinality violation: ",
}

// answered counts how a call ended.
func (a *attacker) answered(what string, err error) {
	s := status.Convert(err)
	if errors.Is(err, io.EOF) {
		s = nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Answers[s.Code().String()]++
	if s.Code() != codes.Internal && s.Code() != codes.Unknown {
		return
	}
	for _, text := range libraryFaults {
		if strings.HasPrefix(s.Message(), text) {
			return
		}
	}
	a.fault(what, s.String())
}

// status counts how a request over HTTP ended.
func (a *attacker) status(what string, answer *http.Response, body []byte) {
	a.statusCode(what, answer.StatusCode, body)
}

// statusCode counts a status of HTTP.
func (a *attacker) statusCode(what string, code int, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Answers[fmt.Sprint(code)]++
	switch code {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
	default:
		if code >= http.StatusInternalServerError {
			a.fault(what, fmt.Sprintf("%d: %.300s", code, body))
		}
	}
}

// fault notes an answer that no member may give. The caller holds mu.
func (a *attacker) fault(what, answer string) {
	const faultsMax = 20
	if len(a.report.Faults) < faultsMax {
		a.report.Faults = append(a.report.Faults, what+": "+answer)
	}
}

// raw connects to a listener and writes bytes, which the member may refuse at any point.
func (a *attacker) raw(ctx context.Context, address, text string) (net.Conn, error) {
	conn, err := dialHostile(ctx, address)
	if err != nil {
		return nil, err
	}
	_, _ = io.WriteString(conn, text) // The member may hang up in the middle.
	return conn, nil
}

// statusOf reads the first answer of HTTP on a connection, and closes it. A connection that was cut has none.
func (a *attacker) statusOf(what string, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return
	}
	_ = answer.Body.Close() // Only the status counts.
	a.status(what, answer, nil)
}

// until asks until something is so. A call that is refused is asked again.
func (a *attacker) until(ctx context.Context, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := so()
		if done {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it never came to stand; at last: %w", err)
		}
	}
}

// refused returns how many calls were refused because a limit was reached.
func (a *attacker) refused() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.report.Answers[codes.ResourceExhausted.String()]
}
