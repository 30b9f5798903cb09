package watch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"github.com/tenure-io/tenure/cmd/tenure/internal/catalog"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	"github.com/tenure-io/tenure/cmd/tenure/internal/process"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// eventHandler returns what is done with each event: it is printed, or a command runs on it.
func eventHandler(
	ctx context.Context, e *cli.Environment, command []string,
) (show func(event *tenurev1.Event, initial bool) error, err error) {
	if len(command) == 0 {
		return func(event *tenurev1.Event, _ bool) error { return printEvent(e, event) }, nil
	}
	program, err := process.LookUp(command)
	if err != nil {
		return nil, err
	}
	return func(event *tenurev1.Event, initial bool) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := runOnEvent(e, program, command, event, initial); err != nil && ctx.Err() == nil {
			return err
		}
		return ctx.Err()
	}, nil
}

// printEvent prints an event as a line.
func printEvent(e *cli.Environment, event *tenurev1.Event) error {
	if e.JSON() {
		return e.PrintLine(event)
	}
	what := cli.Printable(event.GetKey())
	if what == "" {
		what = event.GetSession().GetSessionId()
	}
	if what == "" {
		what = cli.Printable(catalogSubject(event))
	}
	return e.Printf("%d\t%s\t%s\t%s\n", event.GetRevision(), eventType(event), what, eventText(event))
}

// eventText returns the value, or the holder, that an event is about.
func eventText(event *tenurev1.Event) string {
	switch event.GetType() {
	case tenurev1.EventType_EVENT_TYPE_PUT:
		text := cli.Printable(string(event.GetKv().GetValue()))
		if holder := event.GetKv().GetSessionId(); holder != "" {
			text += "\theld by session " + holder
		}
		return text
	case tenurev1.EventType_EVENT_TYPE_DELETED:
		return ""
	case tenurev1.EventType_EVENT_TYPE_HOLDER_GRANTED:
		return "held by session " + event.GetKv().GetSessionId()
	case tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED, tenurev1.EventType_EVENT_TYPE_LOCK_LEFT:
		return cli.WhoText(event.GetPlace().GetSessionName(), event.GetPlace().GetSessionId())
	case tenurev1.EventType_EVENT_TYPE_SESSION_ENDED:
		return cli.Words(event.GetSession().GetEnd().GetCause().String(), "SESSION_END_CAUSE_")
	case tenurev1.EventType_EVENT_TYPE_CHECK_PUT, tenurev1.EventType_EVENT_TYPE_CHECK_STATUS:
		return catalog.StatusWord(event.GetCheck().GetStatus()) + catalog.OutputLine(event.GetCheck().GetOutput())
	case tenurev1.EventType_EVENT_TYPE_NODE_PUT:
		return cli.OrDash(event.GetNode().GetAddress())
	case tenurev1.EventType_EVENT_TYPE_SERVICE_PUT:
		return cli.Printable(event.GetService().GetName())
	case tenurev1.EventType_EVENT_TYPE_QUERY_PUT:
		return cli.Printable(event.GetQuery().GetService())
	default:
		return holdText(event)
	}
}

// catalogSubject returns what an event of the catalog is about.
func catalogSubject(event *tenurev1.Event) string {
	switch {
	case event.GetNode() != nil:
		return event.GetNode().GetName()
	case event.GetService() != nil:
		return event.GetService().GetNode() + "/" + event.GetService().GetServiceId()
	case event.GetCheck() != nil:
		return event.GetCheck().GetNode() + "/" + event.GetCheck().GetCheckId()
	case event.GetQuery() != nil:
		return cmp.Or(event.GetQuery().GetName(), event.GetQuery().GetQueryId())
	default:
		return ""
	}
}

// holdText returns the hold that an event is about, and how it ended.
func holdText(event *tenurev1.Event) string {
	hold := event.GetHold()
	if hold == nil {
		return cli.OrDash(event.GetReason())
	}
	text := cli.WhoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId())
	if text == "" {
		text = fmt.Sprintf("lock index %d", hold.GetSequencer().GetLockIndex())
	}
	if cause := event.GetHoldEndCause(); cause != tenurev1.HoldEndCause_HOLD_END_CAUSE_UNSPECIFIED {
		text += ": " + cli.EndText(cause)
	}
	if event.GetReason() != "" {
		text += ": " + cli.Printable(event.GetReason())
	}
	return text
}

// runOnEvent runs a command on an event and waits for it. Signals are passed on.
func runOnEvent(
	e *cli.Environment, program string, argv []string, event *tenurev1.Event, initial bool,
) error {
	line, err := cli.JSONLine(event)
	if err != nil {
		return err
	}
	key := "TENURE_WATCH_KEY=" + event.GetKey()
	if strings.ContainsRune(key, 0) {
		key = "TENURE_WATCH_KEY" // No variable can have a NUL. The event on standard input has the key.
	}
	signals, stop := process.CatchSignals()
	defer stop()
	p, err := process.Start(program, argv, []string{
		"TENURE_WATCH_TYPE=" + eventType(event),
		key,
		"TENURE_WATCH_REVISION=" + strconv.FormatUint(event.GetRevision(), 10),
		"TENURE_WATCH_PRESENT=" + strconv.FormatBool(initial),
	}, process.Streams{In: bytes.NewReader(line), Out: e.Stdout, Err: e.Stderr})
	if err != nil {
		return err
	}
	for running := true; running; {
		select {
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				p.Signal(number)
			}
		case <-p.Done:
			running = false
		}
	}
	if p.Failed != nil {
		return p.Failed
	}
	if code := p.ExitCode(); code != cli.ExitOK {
		return &cli.ExitError{Code: code, Err: fmt.Errorf("the command ended with exit code %d", code)}
	}
	return nil
}
