package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"google.golang.org/grpc"
)

// addressFile is where a member leaves the addresses it listens on, inside its data directory.
const addressFile = "addresses.json"

const (
	startWait  = 30 * time.Second      // longest time for a server to start
	startPause = 10 * time.Millisecond // between two looks whether it has
)

// logTailBytes is how much of a server's log an error shows.
const logTailBytes = 2 << 10

// addresses are host:port of a server's listeners. Consul and Debug are empty unless the member was asked to serve them.
type addresses struct {
	GRPC   string `json:"grpc"`
	HTTP   string `json:"http,omitempty"`
	Consul string `json:"consul,omitempty"`
	Debug  string `json:"debug,omitempty"`
}

func writeAddresses(path string, a addresses) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return replaceFile(path, text)
}

// debugging says whether a member serves profiles in any case.
type debugging bool

const (
	debugOnRequest debugging = false
	debugAlways    debugging = true
)

// server is a running member, or the echo server.
type server struct {
	*process
	addresses addresses
	logPath   string
	dataDir   string
	command   []string // program and flags
	dial      []grpc.DialOption
}

// again starts the program once more on its directory; it must have ended.
func (s *server) again(ctx context.Context) error {
	if err := os.Remove(filepath.Join(s.dataDir, addressFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	next, err := startServer(ctx, s.dataDir, s.command[0], s.command[1:]...)
	if err == nil {
		*s = *next
	}
	return err
}

// startMember starts the real program on an empty data directory under dir and waits until it takes writes. With debug it
// serves profiles even if nobody asked for them.
func startMember(ctx context.Context, dir string, debug debugging, o options) (*server, error) {
	dataDir, err := os.MkdirTemp(dir, "member-")
	if err != nil {
		return nil, err
	}
	args := []string{
		"serve", "--data-dir", dataDir, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0", "--name", memberName(0),
	}
	if o.has(workConsul) {
		args = append(args, "--consul-http", "127.0.0.1:0")
	}
	if o.profileDir != "" || bool(debug) {
		args = append(args, "--debug-http", "127.0.0.1:0")
	}
	s, err := startServer(ctx, dataDir, o.binary, append(args, o.flagsOf(memberName(0))...)...)
	if err != nil {
		return nil, err
	}
	s.dial = o.dial
	if err = s.awaitWrites(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("member takes no writes: %w\n%s", err, s.logTail()), s.stop())
	}
	return s, nil
}

// startServer starts a program that writes its addresses into dataDir, and waits for them.
func startServer(ctx context.Context, dataDir, name string, args ...string) (*server, error) {
	s := &server{logPath: dataDir + ".log", dataDir: dataDir, command: append([]string{name}, args...)}
	log, err := os.Create(s.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // The child has its own descriptor of the file.
	if s.process, err = startProcess(ctx, log, name, args...); err != nil {
		return nil, err
	}
	if err = s.awaitAddresses(ctx, filepath.Join(dataDir, addressFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("%s did not start: %w\n%s", filepath.Base(name), err, s.logTail()), s.stop())
	}
	return s, nil
}

func (s *server) awaitAddresses(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		text, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(text, &s.addresses) == nil && s.addresses.GRPC != "" {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("ended at once: %w", s.err)
		default:
		}
		if err = pause(ctx, startPause); err != nil {
			return err
		}
	}
}

// awaitWrites puts a key until that works.
func (s *server) awaitWrites(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	conns, err := dialAll(s.addresses.GRPC, 1, s.dial...)
	if err != nil {
		return err
	}
	request := &tenurev1.PutRequest{Key: "bench/started"}
	for {
		_, putErr := tenurev1.NewKVServiceClient(conns.of(0)).Put(ctx, request, grpc.WaitForReady(true))
		if putErr == nil {
			return conns.close()
		}
		if err = pause(ctx, startPause); err != nil {
			return errors.Join(putErr, conns.close())
		}
	}
}

// logTail returns the end of what the server printed.
func (s *server) logTail() string {
	file, err := os.Open(s.logPath)
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // Nothing was written.
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	begin := max(0, info.Size()-logTailBytes)
	tail, err := io.ReadAll(io.NewSectionReader(file, begin, logTailBytes))
	if err != nil {
		return ""
	}
	return string(tail)
}
