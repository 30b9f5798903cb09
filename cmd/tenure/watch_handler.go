package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"syscall"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// eventHandler returns what is done with each event: it is printed, or a command runs on it.
func eventHandler(
	ctx context.Context, e *environment, command []string,
) (show func(event *tenurev1.Event, initial bool) error, err error) {
	if len(command) == 0 {
		return func(event *tenurev1.Event, _ bool) error { return printEvent(e, event) }, nil
	}
	program, err := lookUp(command)
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
func printEvent(e *environment, event *tenurev1.Event) error {
	if e.json() {
		return e.printLine(event)
	}
	what := printable(event.GetKey())
	if what == "" {
		what = event.GetSession().GetSessionId()
	}
	if what == "" {
		what = printable(catalogSubject(event))
	}
	return e.printf("%d\t%s\t%s\t%s\n", event.GetRevision(), eventType(event), what, eventText(event))
}

// eventText returns the value, or the holder, that an event is about.
func eventText(event *tenurev1.Event) string {
	switch event.GetType() {
	case tenurev1.EventType_EVENT_TYPE_PUT:
		text := printable(string(event.GetKv().GetValue()))
		if holder := event.GetKv().GetSessionId(); holder != "" {
			text += "\theld by session " + holder
		}
		return text
	case tenurev1.EventType_EVENT_TYPE_DELETED:
		return ""
	case tenurev1.EventType_EVENT_TYPE_HOLDER_GRANTED:
		return "held by session " + event.GetKv().GetSessionId()
	case tenurev1.EventType_EVENT_TYPE_LOCK_QUEUED, tenurev1.EventType_EVENT_TYPE_LOCK_LEFT:
		return whoText(event.GetPlace().GetSessionName(), event.GetPlace().GetSessionId())
	case tenurev1.EventType_EVENT_TYPE_SESSION_ENDED:
		return words(event.GetSession().GetEnd().GetCause().String(), "SESSION_END_CAUSE_")
	case tenurev1.EventType_EVENT_TYPE_CHECK_PUT, tenurev1.EventType_EVENT_TYPE_CHECK_STATUS:
		return statusWord(event.GetCheck().GetStatus()) + outputLine(event.GetCheck().GetOutput())
	case tenurev1.EventType_EVENT_TYPE_NODE_PUT:
		return orDash(event.GetNode().GetAddress())
	case tenurev1.EventType_EVENT_TYPE_SERVICE_PUT:
		return printable(event.GetService().GetName())
	case tenurev1.EventType_EVENT_TYPE_QUERY_PUT:
		return printable(event.GetQuery().GetService())
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
		return orDash(event.GetReason())
	}
	text := whoText(hold.GetSessionName(), hold.GetSequencer().GetSessionId())
	if text == "" {
		text = fmt.Sprintf("lock index %d", hold.GetSequencer().GetLockIndex())
	}
	if cause := event.GetHoldEndCause(); cause != tenurev1.HoldEndCause_HOLD_END_CAUSE_UNSPECIFIED {
		text += ": " + endText(cause)
	}
	if event.GetReason() != "" {
		text += ": " + printable(event.GetReason())
	}
	return text
}

// runOnEvent runs a command on an event and waits for it. Signals are passed on.
func runOnEvent(
	e *environment, program string, argv []string, event *tenurev1.Event, initial bool,
) error {
	line, err := jsonLine(event)
	if err != nil {
		return err
	}
	signals, stop := catchSignals()
	defer stop()
	p, err := startProcess(program, argv, []string{
		"TENURE_WATCH_TYPE=" + eventType(event),
		"TENURE_WATCH_KEY=" + event.GetKey(),
		"TENURE_WATCH_REVISION=" + strconv.FormatUint(event.GetRevision(), 10),
		"TENURE_WATCH_PRESENT=" + strconv.FormatBool(initial),
	}, streams{in: bytes.NewReader(line), out: e.stdout, err: e.stderr})
	if err != nil {
		return err
	}
	for running := true; running; {
		select {
		case s := <-signals:
			if number, ok := s.(syscall.Signal); ok {
				p.signal(number)
			}
		case <-p.done:
			running = false
		}
	}
	if p.failed != nil {
		return p.failed
	}
	if code := p.exitCode(); code != exitOK {
		return &exitError{code: code, err: fmt.Errorf("the command ended with exit code %d", code)}
	}
	return nil
}
