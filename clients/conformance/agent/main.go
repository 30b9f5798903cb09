// Command agent drives the Go client for the conformance scenarios: it reads requests as JSON lines, does what they say with the client,
// and writes replies and events. The protocol is in the README of clients/conformance.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// lineBytesMax is the longest request.
const lineBytesMax = 16 << 20

// request is a line that was read.
type request struct {
	ID   int             `json:"id"`
	Op   string          `json:"op"`
	On   string          `json:"on"`
	As   string          `json:"as"`
	Args json.RawMessage `json:"args"`
}

// call is a request that runs.
type call struct {
	*agent
	request

	args args
}

// object is anything a request made.
type object any

// value is what a request returns.
type value map[string]any

// agent is the program.
type agent struct {
	out sync.Mutex // Held while a line is written.

	mu       sync.Mutex // Guards what follows.
	objects  map[string]object
	clients  []*tenure.Client
	machines []*tenure.Agent
	gates    map[string]*tenure.FenceGate
	cancels  map[int]context.CancelFunc
	baseline int
	measured bool
}

func main() {
	a := &agent{
		objects: map[string]object{}, gates: map[string]*tenure.FenceGate{}, cancels: map[int]context.CancelFunc{},
	}
	a.write(map[string]any{"hello": map[string]any{
		"protocol": 1, "language": "go", "variant": "", "features": []string{"cancel", "catalog", "queries"},
	}})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, "not a request:", err)
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		a.mu.Lock()
		a.cancels[r.ID] = cancel
		a.mu.Unlock()
		go func() {
			a.serve(ctx, r)
			a.mu.Lock()
			delete(a.cancels, r.ID)
			a.mu.Unlock()
			cancel()
		}()
	}
}

// write writes one line.
func (a *agent) write(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		fmt.Fprintln(os.Stderr, "a line that JSON cannot say:", err)
		return
	}
	a.out.Lock()
	defer a.out.Unlock()
	_, _ = os.Stdout.Write(append(text, '\n')) // Without a reader there is nothing left to do.
}

// event tells what happened to an object.
func (a *agent) event(kind, of string, v any) {
	a.write(map[string]any{"event": kind, "of": of, "value": v})
}

// serve does what a request says, and replies.
func (a *agent) serve(ctx context.Context, r request) {
	c := &call{agent: a, request: r}
	v, err := c.run(ctx)
	if err != nil {
		a.write(map[string]any{"id": r.ID, "ok": false, "error": failure(err)})
		return
	}
	if v == nil {
		v = value{}
	}
	a.write(map[string]any{"id": r.ID, "ok": true, "value": v})
}

func (c *call) run(ctx context.Context) (value, error) {
	if len(c.Args) > 0 {
		if err := c.args.parse(c.Args); err != nil {
			return nil, err
		}
	}
	f, ok := ops[c.Op]
	if !ok {
		return nil, protocol("unknown op %q", c.Op)
	}
	if wait := c.args.WaitMs; wait != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*wait)*time.Millisecond)
		defer cancel()
	}
	return f(ctx, c)
}

// keep remembers an object by the request's name.
func (c *call) keep(o object) { c.keepAs(c.As, o) }

func (c *call) keepAs(name string, o object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects[name] = o
}

// get returns the object of a name, if it is of a type.
func get[T any](c *call, name string) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, ok := c.objects[name].(T)
	if !ok {
		return o, protocol("%q is not a %T", name, o)
	}
	return o, nil
}

// errProtocol says that the driver asked for what there is not.
var errProtocol = errors.New("protocol")

func protocol(format string, values ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errProtocol}, values...)...)
}
