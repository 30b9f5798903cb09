package driver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// lineBytesMax is the longest line of an agent.
const lineBytesMax = 16 << 20

// Language is a client library with its agent.
type Language struct {
	// Name is how the table calls it.
	Name string
	// Command starts an agent.
	Command []string
	// Dir is where; empty is here.
	Dir string
	// Env is added to the environment.
	Env []string
}

// Hello is an agent's greeting.
type Hello struct {
	Protocol int      `json:"protocol"`
	Language string   `json:"language"`
	Variant  string   `json:"variant"`
	Features []string `json:"features"`
}

// message is a line of an agent.
type message struct {
	Hello *Hello          `json:"hello"`
	ID    int             `json:"id"`
	OK    bool            `json:"ok"`
	Value json.RawMessage `json:"value"`
	Error *AnswerError    `json:"error"`
	Event string          `json:"event"`
	Of    string          `json:"of"`
}

// AnswerError is the error of a reply.
type AnswerError struct {
	Kind    string `json:"kind"`
	Applied string `json:"applied"`
	Message string `json:"message"`
}

// Error returns kind and message.
func (f *AnswerError) Error() string { return f.Kind + ": " + f.Message }

// event is what an agent told of an object.
type event struct {
	kind, of string
	value    any
	at       time.Time
}

// Agent is one process of an agent.
type Agent struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	log   *tail
	done  chan struct{}
	hello chan Hello

	mu      sync.Mutex // Guards what follows, and writes to in.
	next    int
	replies map[int]chan message
	events  []event
	cursors map[string]int
	changed chan struct{} // Closed and replaced with each event, and at the end.
	ended   error
}

// errAgentEnded says that an agent ended before it answered.
var errAgentEnded = errors.New("the agent ended")

// StartAgent starts an agent and waits for its greeting.
func StartAgent(l *Language, patience time.Duration) (*Agent, Hello, error) {
	cmd := &exec.Cmd{
		Path: l.Command[0], Args: l.Command, Dir: l.Dir, Env: append(os.Environ(), l.Env...),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	a := &Agent{
		cmd: cmd, log: &tail{}, done: make(chan struct{}), hello: make(chan Hello, 1), next: 1,
		replies: map[int]chan message{}, cursors: map[string]int{}, changed: make(chan struct{}),
	}
	cmd.Stderr = a.log
	var err error
	if a.in, err = cmd.StdinPipe(); err != nil {
		return nil, Hello{}, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, Hello{}, err
	}
	if err := cmd.Start(); err != nil {
		return nil, Hello{}, err
	}
	go a.read(out)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case hello := <-a.hello:
		return a, hello, nil
	case <-a.done:
		return nil, Hello{}, fmt.Errorf("%w: %s", errAgentEnded, a.log)
	case <-timer.C:
		a.Kill()
		return nil, Hello{}, fmt.Errorf("no greeting within %v: %s", patience, a.log)
	}
}

// read takes what the agent writes until it ends.
func (a *Agent) read(out io.Reader) {
	defer close(a.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			_, _ = fmt.Fprintf(a.log, "not a line of the protocol: %s\n", lines.Bytes())
			continue
		}
		a.take(m)
	}
	_, _ = io.Copy(io.Discard, out) // After a line that is too long.
	err := a.cmd.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = fmt.Errorf("%w: %v", errAgentEnded, err) //nolint:errorlint // Nil is an end, too.
	for _, reply := range a.replies {
		close(reply)
	}
	a.replies = map[int]chan message{}
	a.notify()
}

// take files one line.
func (a *Agent) take(m message) {
	switch {
	case m.Hello != nil:
		select {
		case a.hello <- *m.Hello:
		default:
		}
		return
	case m.Event != "":
		e := event{kind: m.Event, of: m.Of, at: time.Now()}
		_ = json.Unmarshal(m.Value, &e.value) // It was part of a line that could be read.
		a.mu.Lock()
		defer a.mu.Unlock()
		a.events = append(a.events, e)
		a.notify()
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if reply, ok := a.replies[m.ID]; ok {
		delete(a.replies, m.ID)
		reply <- m
	}
}

func (a *Agent) notify() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// send sends a request. The reply comes over the channel, which is closed without one if the agent ends.
func (a *Agent) send(op, on, as string, args map[string]any) (id int, reply <-chan message, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended != nil {
		return 0, nil, a.ended
	}
	id = a.next
	a.next++
	request := map[string]any{"id": id, "op": op, "args": args}
	if args == nil {
		request["args"] = map[string]any{}
	}
	if on != "" {
		request["on"] = on
	}
	if as != "" {
		request["as"] = as
	}
	line, err := json.Marshal(request)
	if err != nil {
		return 0, nil, err
	}
	c := make(chan message, 1)
	a.replies[id] = c
	_, err = a.in.Write(append(line, '\n'))
	return id, c, err
}

// Do sends a request and waits for its value, at most so long. A *AnswerError is what the agent answered.
func (a *Agent) Do(op, on, as string, args map[string]any, within time.Duration) (map[string]any, error) {
	_, reply, err := a.send(op, on, as, args)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case m, ok := <-reply:
		switch {
		case !ok:
			return nil, errAgentEnded
		case !m.OK && m.Error != nil:
			return nil, m.Error
		}
		var value map[string]any
		err := json.Unmarshal(m.Value, &value)
		return value, err
	case <-timer.C:
		return nil, fmt.Errorf("%s: no reply within %v", op, within)
	}
}

// await waits for the next event that fits, behind the last one that was awaited of this kind and object. With next it may pass over none.
func (a *Agent) await(kind, of string, fits func(any) bool, next bool, within time.Duration) (event, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	cursor := kind + " " + of
	for {
		a.mu.Lock()
		for i := a.cursors[cursor]; i < len(a.events); i++ {
			e := a.events[i]
			if e.kind != kind || e.of != of {
				continue
			}
			fit := fits(e.value)
			if fit || next {
				a.cursors[cursor] = i + 1
				a.mu.Unlock()
				if !fit {
					return event{}, fmt.Errorf("the next event is %s; there were: %s", show(e.value), a.told(kind, of))
				}
				return e, nil
			}
		}
		changed, ended := a.changed, a.ended
		a.mu.Unlock()
		if ended != nil {
			return event{}, ended
		}
		select {
		case <-changed:
		case <-timer.C:
			return event{}, fmt.Errorf("no event %s of %s as expected within %v; there were: %s", kind, of, within, a.told(kind, of))
		}
	}
}

// never returns an error if there were more events of a kind that fit than may be; of is their object, or empty for any.
func (a *Agent) never(kind, of string, fits func(any) bool, most int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	for _, e := range a.events {
		if e.kind == kind && (of == "" || e.of == of) && fits(e.value) {
			list = append(list, e.of+": "+show(e.value))
		}
	}
	if len(list) > most {
		return fmt.Errorf("%d times there was what may be %d times: %s", len(list), most, strings.Join(list, ", "))
	}
	return nil
}

// told lists the events of a kind and object.
func (a *Agent) told(kind, of string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	for _, e := range a.events {
		if e.kind == kind && e.of == of {
			text, _ := json.Marshal(e.value) // It came as JSON.
			list = append(list, string(text))
		}
	}
	return strings.Join(list, ", ")
}

// Signal sends a signal to the agent and its children.
func (a *Agent) Signal(s syscall.Signal) error { return syscall.Kill(-a.cmd.Process.Pid, s) }

// Kill ends the agent and waits for its end.
func (a *Agent) Kill() {
	_ = a.Signal(syscall.SIGKILL) // It may have ended.
	<-a.done
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex // Guards buf.
	buf bytes.Buffer
}

const tailBytesMax = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - 2*tailBytesMax; over > 0 {
		t.buf.Next(over + tailBytesMax)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
