package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// NewLimitsCommand returns `tenure limits`.
func NewLimitsCommand(env *cli.Environment) *cobra.Command {
	return cli.GroupCommand("limits", "Show and change the limits that all members share",
		`  tenure limits get
  tenure limits set sessionsMax=2000000`,
		newLimitsGetCommand(env), newLimitsSetCommand(env))
}

// newLimitsGetCommand returns `tenure limits get`.
func newLimitsGetCommand(env *cli.Environment) *cobra.Command {
	return &cobra.Command{
		Use:     "get",
		Short:   "Show the limits in force",
		Long:    "Show the limits in force. They are the same on all members.",
		Example: "  tenure limits get\n  tenure limits get -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				var answer *tenurev1.GetLimitsResponse
				err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
					answer, err = l.Cluster().GetLimits(ctx, &tenurev1.GetLimitsRequest{})
					return err
				})
				if err != nil {
					return err
				}
				if env.JSON() {
					return env.PrintDocument(answer)
				}
				return env.PrintTable(limitRows(answer.GetLimits(), answer.GetLimits()))
			})
		},
	}
}

// newLimitsSetCommand returns `tenure limits set`.
func newLimitsSetCommand(env *cli.Environment) *cobra.Command {
	request := &tenurev1.SetLimitsRequest{Limits: &tenurev1.Limits{}}
	cmd := &cobra.Command{
		Use:   "set NAME=VALUE...",
		Short: "Change limits",
		Long: `Change limits, immediately and on all members. Names are those that "tenure limits get" shows, or those in
errors, such as sessions_max. A value is a whole number. For bytes it can also be 64MiB or 8GiB, and for a
duration 10m or 1h30m. 0 resets a limit to its default. Every limit has a lower and an upper bound. Lowering
a limit below what is in use now is refused without --force. With --force, a state or a number of sessions
above its limit cannot grow, and history, ended sessions and remembered requests above their limit are
discarded.`,
		Example: `  tenure limits set sessionsMax=2000000
  tenure limits set storeBytesMax=16GiB historyDuration=30m
  tenure limits set historyBytesMax=256MiB --force`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if err := setLimit(request.GetLimits(), arg); err != nil {
					return err
				}
			}
			return env.WithMembers(cmd.Context(), func(ctx context.Context, m *cli.Members) error {
				return setLimits(ctx, env, m, request)
			})
		},
	}
	cmd.Flags().BoolVar(&request.Force, "force", false, "lower limits even below what is in use now")
	return cmd
}

// setLimits changes limits, and shows those that were named as they are now.
func setLimits(ctx context.Context, e *cli.Environment, m *cli.Members, request *tenurev1.SetLimitsRequest) error {
	var answer *tenurev1.SetLimitsResponse
	err := m.Call(ctx, cli.MayRepeat, func(ctx context.Context, l *cli.Link) (err error) {
		answer, err = l.Cluster().SetLimits(ctx, request)
		return err
	})
	if err != nil {
		return inUnits(err)
	}
	if e.JSON() {
		return e.PrintDocument(answer)
	}
	if err = e.Printf("Success! The limits are now:\n"); err != nil {
		return err
	}
	return e.PrintTable(limitRows(answer.GetLimits(), request.GetLimits()))
}

// setLimit sets the limit that an argument names.
func setLimit(limits *tenurev1.Limits, arg string) error {
	name, text, found := strings.Cut(arg, "=")
	m := limits.ProtoReflect()
	f := m.Descriptor().Fields().ByJSONName(name)
	if f == nil {
		f = m.Descriptor().Fields().ByName(protoreflect.Name(name)) // as errors name it
	}
	switch {
	case !found:
		return cli.UsageError("%s is not NAME=VALUE", cli.Quoted(arg))
	case f == nil:
		return cli.UsageError("there is no limit %s; `tenure limits get` shows their names", cli.Quoted(name))
	case m.Has(f):
		return cli.UsageError("%s is given twice", name)
	case f.Kind() == protoreflect.MessageKind:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return cli.UsageError("%s is %s; it must be a duration such as 30s, 10m or 1h30m", name, cli.Quoted(text))
		}
		m.Set(f, protoreflect.ValueOfMessage(durationpb.New(d).ProtoReflect()))
		return nil
	}
	bytes := isBytes(f)
	n, err := parseAmount(text, bytes)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return cli.UsageError("%s is %s; it is too large", name, cli.Quoted(text))
	case err != nil && bytes:
		return cli.UsageError("%s is %s; it must be a number of bytes such as 1000000, 64MiB or 8GiB", name, cli.Quoted(text))
	case err != nil:
		return cli.UsageError("%s is %s; it must be a whole number, zero or more", name, cli.Quoted(text))
	case f.Kind() == protoreflect.Uint64Kind:
		m.Set(f, protoreflect.ValueOfUint64(n))
	case n > math.MaxUint32:
		return cli.UsageError("%s is %s; it is too large", name, cli.Quoted(text))
	default:
		m.Set(f, protoreflect.ValueOfUint32(uint32(n)))
	}
	return nil
}

// The errors for a limit that is outside its bounds, or below what is in use: the limit's name and numbers are in them.
var (
	outOfBounds = regexp.MustCompile(`^(\w+) must be at least (\d+) and at most (\d+), not (\d+)$`)
	belowUse    = regexp.MustCompile(`^(\w+) of (\d+) is too low: (\d+) is in use, which needs a limit of at least (\d+)(; .*)$`)
)

// inUnits returns an error of SetLimits with the names and units in which people give limits. Where it fits, --force is named.
func inUnits(err error) error {
	text := cli.ErrorText(err)
	if m := outOfBounds.FindStringSubmatch(text); m != nil {
		if f := limitField(m[1]); f != nil {
			return cli.RefusedError("%s must be at least %s and at most %s, not %s", f.JSONName(), inUnit(f, m[2]), inUnit(f, m[3]), inUnit(f, m[4]))
		}
	}
	if m := belowUse.FindStringSubmatch(text); m != nil {
		if f := limitField(m[1]); f != nil {
			return cli.RefusedError("%s of %s is too low: %s is in use, which needs a limit of at least %s; with --force it is set anyway",
				f.JSONName(), inUnit(f, m[2]), inUnit(f, m[3]), inUnit(f, m[4]))
		}
	}
	return err
}

// limitField returns the limit that errors name so.
func limitField(name string) protoreflect.FieldDescriptor {
	if name == "history_ms" {
		name = "history_duration"
	}
	return (&tenurev1.Limits{}).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
}

// inUnit returns a number of an error as people give it.
func inUnit(f protoreflect.FieldDescriptor, text string) string {
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err != nil:
		return text
	case f.Kind() == protoreflect.MessageKind && n <= math.MaxInt64/uint64(time.Millisecond):
		return (time.Duration(n) * time.Millisecond).String()
	case isBytes(f):
		return amountText(n)
	default:
		return text
	}
}

// isBytes reports whether a limit is a number of bytes.
func isBytes(f protoreflect.FieldDescriptor) bool { return strings.Contains(f.JSONName(), "Bytes") }

// byteUnits are the units of bytes, each 1 024 of the one before.
var byteUnits = []string{"KiB", "MiB", "GiB", "TiB"}

// parseAmount reads a number, which may have a unit of bytes.
func parseAmount(text string, bytes bool) (n uint64, err error) {
	shift := 0
	for i, unit := range byteUnits {
		if number, found := strings.CutSuffix(text, unit); found && bytes {
			text, shift = strings.TrimSpace(number), 10*(i+1)
		}
	}
	n, err = strconv.ParseUint(text, 10, 64)
	if err == nil && bits.Len64(n)+shift > 64 {
		err = strconv.ErrRange
	}
	return n << shift, err
}

// limitRows returns the rows of a table of limits: of those that are set in named.
func limitRows(limits, named *tenurev1.Limits) [][]string {
	var rows [][]string
	m := limits.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if !named.ProtoReflect().Has(f) {
			continue
		}
		text := fmt.Sprint(m.Get(f).Interface())
		switch {
		case f.Kind() == protoreflect.MessageKind:
			text = cli.Length(limits.GetHistoryDuration())
		case isBytes(f):
			text = amountText(m.Get(f).Uint())
		}
		rows = append(rows, []string{f.JSONName(), text})
	}
	return rows
}

// amountText returns a number of bytes in the largest unit of which it is a whole number.
func amountText(n uint64) string {
	unit := ""
	for _, next := range byteUnits {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, next
	}
	return strconv.FormatUint(n, 10) + unit
}
