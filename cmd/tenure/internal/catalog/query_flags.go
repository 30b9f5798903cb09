package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	tenure "github.com/tenure-io/tenure/clients/go"
	"github.com/tenure-io/tenure/cmd/tenure/internal/cli"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// queryFlags are the flags that say what a query is.
type queryFlags struct {
	query                 tenurev1.Query
	name                  string
	prefix                bool
	nodeMeta, serviceMeta []string
	meta, fallbacks       []string
	tags, ignoreChecks    []string
	secret                cli.SecretFlag
}

// add adds the flags.
func (f *queryFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.query.Service, "service", "", "name of the service")
	flags.StringArrayVar(&f.tags, "tag", nil, "tag that instances must have, or with ! before it must not have; repeatable")
	flags.BoolVar(&f.query.OnlyPassing, "passing", false, "also leave out instances in warning")
	flags.StringVar(&f.query.Near, "near", "", "node near which instances are preferred; _agent: that of the caller")
	flags.StringArrayVar(&f.fallbacks, "fallback", nil, "where to look if nothing is found: service=NAME,zone=ZONE,tag=TAG; repeatable")
	flags.StringArrayVar(&f.ignoreChecks, "ignore-check", nil, "id of a check that does not count; repeatable")
	flags.StringArrayVar(&f.nodeMeta, "node-meta", nil, "fact that the node must have, NAME=VALUE; repeatable")
	flags.StringArrayVar(&f.serviceMeta, "service-meta", nil, "fact that the instance must have, NAME=VALUE; repeatable")
	flags.StringArrayVar(&f.meta, "meta", nil, "fact about the query, NAME=VALUE; repeatable")
	flags.BoolVar(&f.prefix, "prefix", false, "run it by every name that starts with its name")
	flags.StringVar(&f.query.Regexp, "regexp", "", "regular expression to find in the name; needs --prefix")
	flags.BoolVar(&f.query.RemoveEmptyTags, "remove-empty-tags", false, "leave out tags that are empty once filled in")
	flags.StringVar(&f.query.SessionId, "session", "", "session with which the query is deleted")
	f.secret.Add(flags)
}

// apply puts what flags say into a query.
func (f *queryFlags) apply(cmd *cobra.Command, q *tenurev1.Query) (err error) {
	changed := cmd.Flags().Changed
	for name, set := range map[string]func() error{
		"name":         func() error { q.Name = f.name; return nil },
		"service":      func() error { q.Service = f.query.GetService(); return nil },
		"tag":          func() error { q.Tags = cli.Present(f.tags); return nil },
		"passing":      func() error { q.OnlyPassing = f.query.GetOnlyPassing(); return nil },
		"near":         func() error { q.Near = f.query.GetNear(); return nil },
		"fallback":     func() (err error) { q.Fallbacks, err = fallbacksOf(f.fallbacks); return err },
		"ignore-check": func() error { q.IgnoreChecks = cli.Present(f.ignoreChecks); return nil },
		"node-meta":    func() (err error) { q.NodeMeta, err = cli.PairsOf("node-meta", cli.Present(f.nodeMeta)); return err },
		"service-meta": func() (err error) {
			q.ServiceMeta, err = cli.PairsOf("service-meta", cli.Present(f.serviceMeta))
			return err
		},
		"meta":              func() (err error) { q.Meta, err = cli.PairsOf("meta", cli.Present(f.meta)); return err },
		"prefix":            func() error { q.Match = matchOf(f.prefix); return nil },
		"regexp":            func() error { q.Regexp = f.query.GetRegexp(); return nil },
		"remove-empty-tags": func() error { q.RemoveEmptyTags = f.query.GetRemoveEmptyTags(); return nil },
		"session":           func() error { q.SessionId = f.query.GetSessionId(); return nil },
	} {
		if changed(name) {
			if err = set(); err != nil {
				return err
			}
		}
	}
	return nil
}

// actor returns what a call carries that acts as the session of a query; nothing for none.
func (f *queryFlags) actor(ctx context.Context, e *cli.Environment, c *tenure.Client, q *tenurev1.Query) (*tenurev1.CallOptions, error) {
	if q.GetSessionId() == "" {
		return nil, nil //nolint:nilnil // Nothing is to be added.
	}
	return f.secret.Options(ctx, e, c, q.GetSessionId())
}

// matchOf returns which names run a query.
func matchOf(prefix bool) tenurev1.QueryMatch {
	if prefix {
		return tenurev1.QueryMatch_QUERY_MATCH_PREFIX
	}
	return tenurev1.QueryMatch_QUERY_MATCH_NAME
}

// pairsText returns pairs as flags have them, in order.
func pairsText(pairs map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		all = append(all, name+"="+pairs[name])
	}
	return strings.Join(all, ",")
}

// fallbacksOf reads where to look if nothing is found.
func fallbacksOf(values []string) ([]*tenurev1.QueryFallback, error) {
	var all []*tenurev1.QueryFallback
	for _, text := range cli.Present(values) {
		f := &tenurev1.QueryFallback{}
		for part := range strings.SplitSeq(text, ",") {
			switch name, value, _ := strings.Cut(part, "="); name {
			case "service":
				f.Service = value
			case "zone":
				f.Zone = value
			case "tag":
				f.Tags = append(f.Tags, value)
			default:
				return nil, cli.UsageError("--fallback is %s; it must have service=NAME, zone=ZONE or tag=TAG, with commas between them", cli.Quoted(text))
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// fallbackText returns a fallback as the flag has it.
func fallbackText(f *tenurev1.QueryFallback) string {
	var parts []string
	if f.GetService() != "" {
		parts = append(parts, "service="+f.GetService())
	}
	if f.GetZone() != "" {
		parts = append(parts, "zone="+f.GetZone())
	}
	for _, tag := range f.GetTags() {
		parts = append(parts, "tag="+tag)
	}
	return strings.Join(parts, ",")
}
