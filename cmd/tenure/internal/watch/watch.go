package watch

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// watchFlags are the flags of `tenure watch`.
type watchFlags struct {
	prefix   string
	from     uint64
	initial  bool
	once     bool
	locks    bool
	nodes    []string
	services []string
	sessions bool
	queries  bool
	// missing says, when the present state is empty, what is not there.
	missing string
}

// NewCommand returns `tenure watch`.
func NewCommand(env *cli.Environment) *cobra.Command {
	f := &watchFlags{}
	cmd := &cobra.Command{
		Use:   "watch KEY | --prefix PREFIX | --node NODE | --service SERVICE | --queries [flags] [-- COMMAND ARGS...]",
		Short: "Print changes of keys, or run a command for each",
		Long: `Print each change of a key, or of all keys with a prefix, one line each: revision, type of event, key,
and value or holder, separated by tabs; with -o json, a JSON object. With --initial, print the current
state first, as if each key had just been written. The watch resumes after disconnects and on other
members, and misses nothing. If no member ever responds, it stops after --timeout, but not before 10s.
Ctrl-C ends it with exit code 0.

--node and --service print changes of the catalog, alone or beside those of keys: of a node with its
services and checks, or of the instances of a service with all checks that count for them. --sessions
adds the start and end of sessions. --queries prints changes of all prepared queries. What changes
together has the same revision.

With COMMAND, run the command for each key of the current state and then for each change, in order and
one at a time. It reads the event as JSON from standard input, and gets TENURE_WATCH_TYPE,
TENURE_WATCH_KEY, TENURE_WATCH_REVISION and TENURE_WATCH_PRESENT (true for a key of the current state,
false for a change) in its environment. A key with a NUL byte is in the JSON only, and TENURE_WATCH_KEY is
not set. With --from, the current state is left out. If the command fails, the watch stops with its exit
code.`,
		Example: `  tenure watch service/leader
  tenure watch --prefix service/ --initial
  tenure watch service/leader --from 42 -o json
  tenure watch service/leader --once
  tenure watch jobs/nightly --locks --node web1 --sessions
  tenure watch service/leader -- jq -r .kv.value`,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := cli.SplitCommand(cmd, args)
			selected, err := f.options(env, cmd, own, len(command) > 0)
			if err != nil {
				return err
			}
			return follow(cmd.Context(), env, f, selected, command)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.prefix, cli.PrefixFlag, "", "watch all keys with this prefix; \"\" is every key")
	flags.Uint64Var(&f.from, "from", 0, "start after this revision (default: now)")
	flags.BoolVar(&f.initial, "initial", false, "start with the current state")
	flags.BoolVar(&f.once, "once", false, "stop after the first event; with --initial, or a COMMAND that runs for the current state, after that state")
	flags.BoolVar(&f.locks, "locks", false, "also print events of locks: waits, grants, losses, lock-delays")
	flags.StringArrayVar(&f.nodes, "node", nil, "also print changes of this node of the catalog; repeatable")
	flags.StringArrayVar(&f.services, "service", nil, "also print changes of this service of the catalog; repeatable")
	flags.BoolVar(&f.sessions, "sessions", false, "also print the start and end of sessions")
	flags.BoolVar(&f.queries, "queries", false, "also print changes of prepared queries")
	cmd.MarkFlagsMutuallyExclusive("from", "initial")
	return cmd
}

// options returns the watch that the command line asks for.
func (f *watchFlags) options(env *cli.Environment, cmd *cobra.Command, args []string, command bool) ([]tenure.WatchOption, error) {
	fromSet, prefixSet := cmd.Flags().Changed("from"), cmd.Flags().Changed(cli.PrefixFlag)
	var options []tenure.WatchOption
	switch {
	case fromSet && f.from == 0:
		return nil, cli.UsageError("--from is 0; the first revision is 1")
	case fromSet:
		options = append(options, tenure.AfterRevision(f.from, ""))
	case f.initial, command:
		options = append(options, tenure.WithInitial())
	}
	if f.locks {
		// The locks' own events say the same, and more.
		options = append(options, tenure.WithoutHolderChanges())
	}
	if len(f.nodes) > 0 {
		options = append(options, tenure.OnNodes(f.nodes...))
	}
	if len(f.services) > 0 {
		options = append(options, tenure.OnServices(f.services...))
	}
	if f.sessions {
		options = append(options, tenure.OnEverySession())
	}
	if f.queries {
		options = append(options, tenure.OnEveryQuery())
	}
	onKeys, onLocks := tenure.OnPrefix, tenure.OnLockPrefix
	f.missing = "nothing of that"
	var argument string
	switch {
	case !prefixSet && len(args) == 0 && (f.queries || len(f.nodes)+len(f.services) > 0):
		return options, nil
	case prefixSet && len(args) > 0:
		return nil, cli.UsageError("want a KEY or --prefix, not both; put \"--\" before a command to run")
	case prefixSet:
		argument = env.PrefixArgument(f.prefix)
		f.missing = "no key with prefix " + cli.Quoted(argument)
	case len(args) != 1:
		return nil, cli.UsageError("want one KEY, or --prefix, --node, --service or --queries; put \"--\" before a command to run")
	default:
		key, err := env.KeyArgument(args[0])
		if err != nil {
			return nil, err
		}
		onKeys, onLocks, argument = onKey, onLock, key
		f.missing = "no key " + cli.Quoted(key)
	}
	options = append(options, onKeys(argument))
	if f.locks {
		options = append(options, onLocks(argument))
	}
	return options, nil
}

func onKey(key string) tenure.WatchOption  { return tenure.OnKeys(key) }
func onLock(key string) tenure.WatchOption { return tenure.OnLocks(key) }

// follow follows the watch until Ctrl-C.
func follow(ctx context.Context, e *cli.Environment, f *watchFlags, selected []tenure.WatchOption, command []string) error {
	show, err := eventHandler(ctx, e, command)
	if err != nil {
		return err
	}
	c, err := e.Client(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = c.Close() }() // It has no session, so there is nothing to tell.
	ctx, first := cli.AwaitFirst(ctx, e, c)
	defer first.End()
	options := append(selected, tenure.OnStart(func(uint64) { first.Came() }), tenure.OnBreak(e.NoteBreak("The watch was interrupted", "The watch has resumed; nothing was missed.")))
	for event, err := range c.Watch(ctx, options...) {
		if err == nil {
			first.Came()
			err = showAll(event, show)
		}
		switch {
		case err != nil:
			return first.Ended(ctx, err)
		case f.once && (f.initial || !isEmpty(event)):
			if isEmpty(event) {
				e.Notef("Note: there is %s now.", f.missing)
			}
			return nil
		}
	}
	return nil
}

// isEmpty reports whether an event is a present state with nothing in it.
func isEmpty(event *tenure.Event) bool {
	return event.Type == tenure.EventInitial && len(event.Initial)+len(catalogEvents(event.InitialCatalog)) == 0
}

// showAll shows an event: of the present state one for each key, node, service, check and prepared query.
func showAll(event *tenure.Event, show func(event *tenurev1.Event, initial bool) error) error {
	if event.Type != tenure.EventInitial {
		return show(event.Message, false)
	}
	for _, kv := range event.Initial {
		if err := show(initialEvent(kv.Message), true); err != nil {
			return err
		}
	}
	for _, e := range catalogEvents(event.InitialCatalog) {
		if err := show(e, true); err != nil {
			return err
		}
	}
	return nil
}

// catalogEvents returns the events that would have led to the present state of the catalog.
func catalogEvents(c tenure.Catalog) []*tenurev1.Event {
	var all []*tenurev1.Event
	for _, n := range c.Nodes {
		all = append(all, &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_NODE_PUT, Revision: n.GetModRevision(), Node: n})
	}
	for _, s := range c.Services {
		all = append(all, &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_SERVICE_PUT, Revision: s.GetModRevision(), Service: s})
	}
	for _, k := range c.Checks {
		all = append(all, &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_CHECK_PUT, Revision: k.GetModRevision(), Check: k})
	}
	for _, q := range c.Queries {
		all = append(all, &tenurev1.Event{Type: tenurev1.EventType_EVENT_TYPE_QUERY_PUT, Revision: q.GetModRevision(), Query: q})
	}
	return all
}

// initialEvent returns the event that would have led to the present state of a key.
func initialEvent(kv *tenurev1.KeyValue) *tenurev1.Event {
	return &tenurev1.Event{
		Type:     tenurev1.EventType_EVENT_TYPE_PUT,
		Revision: kv.GetModRevision(),
		Time:     cloneTime(kv.GetModTime()),
		Key:      kv.GetKey(),
		Kv:       kv,
	}
}

// cloneTime keeps two messages from sharing one.
func cloneTime(t *timestamppb.Timestamp) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return &timestamppb.Timestamp{Seconds: t.GetSeconds(), Nanos: t.GetNanos()}
}

// eventType returns the type of an event in a word.
func eventType(event *tenurev1.Event) string {
	return cli.EnumWord(event.GetType().Descriptor(), event.GetType().String())
}
