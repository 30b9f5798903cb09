package server_test

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// shownList is a list whose answers depend on who asks.
type shownList struct {
	method  string
	request proto.Message
	// named says whether the onlooker may read what the request names itself, and whole whether it may read all that it selects.
	named, whole func(onlooker) bool
	// shows are what the onlooker sees, of all.
	shows func(onlooker) (seen, all []string)
	// items returns what is in an answer.
	items func(proto.Message) []string
}

// those returns what an onlooker sees of some things, by their names or marks, and all of them.
func those[T any](things []T, name func(T) string, sees func(T) bool) (seen, all []string) {
	for _, thing := range things {
		all = append(all, name(thing))
		if sees(thing) {
			seen = append(seen, name(thing))
		}
	}
	return seen, all
}

func is(name string) string { return name }

// names returns the names of what an answer has.
func names[T any](things []T, name func(T) string) []string {
	var out []string
	for _, thing := range things {
		out = append(out, name(thing))
	}
	return out
}

// itemsOf makes a function of any answer of one of answers of a kind.
func itemsOf[M proto.Message](items func(M) []string) func(proto.Message) []string {
	return func(m proto.Message) []string {
		answer, _ := m.(M)
		return items(answer)
	}
}

func anybody(onlooker) bool { return true }

// shownKeys are lists of keys.
func shownKeys() []shownList {
	var lists []shownList
	for _, prefix := range []string{"", "a/", "a/fig9", "b/"} {
		for _, keysOnly := range []bool{false, true} {
			lists = append(lists, shownList{
				method: "KVService/List", request: &tenurev1.ListRequest{Prefix: prefix, KeysOnly: keysOnly}, named: anybody,
				whole: func(o onlooker) bool {
					return o.mayAll("key", "list", prefix) && (keysOnly || o.mayAll("key", "read", prefix))
				},
				shows: func(o onlooker) ([]string, []string) {
					return those(seenKeys, is, func(key string) bool {
						return strings.HasPrefix(key, prefix) && o.may("key", "list", key) && (keysOnly || o.may("key", "read", key))
					})
				},
				items: itemsOf(func(r *tenurev1.ListResponse) []string {
					return names(r.GetKvs(), (*tenurev1.KeyValue).GetKey)
				}),
			})
		}
	}
	return lists
}

// shownSessions are lists of sessions and of queries.
func shownSessions() []shownList {
	var lists []shownList
	for _, r := range []*tenurev1.ListSessionsRequest{{}, {NamePrefix: "web-"}, {Node: "QANT7"}, {NoTtl: true}} {
		lists = append(lists, shownList{
			method: "SessionService/ListSessions", request: r, named: anybody,
			whole: func(o onlooker) bool {
				return o.mayAll("session", "read", r.GetNamePrefix()) || r.GetNode() != "" && o.may("session node", "read", strings.ToLower(r.GetNode()))
			},
			shows: func(o onlooker) ([]string, []string) {
				return those(seenSessions, func(s seenSession) string { return s.name }, func(s seenSession) bool {
					return strings.HasPrefix(s.name, r.GetNamePrefix()) && (r.GetNode() == "" || strings.EqualFold(s.node, r.GetNode())) && o.maySession(s)
				})
			},
			items: itemsOf(func(r *tenurev1.ListSessionsResponse) []string {
				return names(r.GetSessions(), (*tenurev1.Session).GetName)
			}),
		})
	}
	for _, prefix := range []string{"", "find-"} {
		lists = append(lists, shownList{
			method: "QueryService/ListQueries", request: &tenurev1.ListQueriesRequest{NamePrefix: prefix}, named: anybody,
			whole: func(o onlooker) bool { return o.mayAll("query", "read", prefix) },
			shows: func(o onlooker) ([]string, []string) {
				return those(seenQueries, markOf, func(name string) bool {
					return strings.HasPrefix(name, prefix) && (name == "" && o.mayAll("query", "read", "") || name != "" && o.may("query", "read", name))
				})
			},
			items: itemsOf(func(r *tenurev1.ListQueriesResponse) []string {
				return names(r.GetQueries(), func(q *tenurev1.Query) string { return q.GetNodeMeta()["k"] })
			}),
		})
	}
	return lists
}

// shownNodes are lists of nodes and services.
func shownNodes() []shownList {
	var lists []shownList
	for _, prefix := range []string{"", "Q", "wd"} {
		lists = append(lists, shownList{
			method: "CatalogService/ListNodes", request: &tenurev1.ListNodesRequest{NamePrefix: prefix}, named: anybody,
			whole: func(o onlooker) bool { return o.mayAll("node", "read", prefix) },
			shows: func(o onlooker) ([]string, []string) {
				return those(seenNodes, markOf, func(name string) bool {
					return strings.HasPrefix(strings.ToLower(name), strings.ToLower(prefix)) && o.may("node", "read", name)
				})
			},
			items: itemsOf(func(r *tenurev1.ListNodesResponse) []string {
				return names(r.GetNodes(), func(n *tenurev1.Node) string { return n.GetMeta()["k"] })
			}),
		})
	}
	for _, prefix := range []string{"", "s", "sape1"} {
		lists = append(lists, shownList{
			method: "CatalogService/ListServices", request: &tenurev1.ListServicesRequest{NamePrefix: prefix}, named: anybody,
			whole: func(o onlooker) bool { return o.mayAll("service", "read", prefix) },
			shows: func(o onlooker) (seen, all []string) {
				for _, name := range services() {
					all = append(all, name)
					if told := o.summary(name, o.mayAll("service", "read", prefix)); strings.HasPrefix(name, prefix) && told != "" {
						seen = append(seen, told)
					}
				}
				return seen, all
			},
			items: itemsOf(func(r *tenurev1.ListServicesResponse) []string {
				return names(r.GetServices(), func(s *tenurev1.ServiceSummary) string {
					return fmt.Sprint(s.GetName(), s.GetInstances(), s.GetTags())
				})
			}),
		})
	}
	for _, node := range []string{"qANT7", "wdog5"} {
		instances := shownInstances("", strings.ToLower(node))
		checks := shownChecks("", strings.ToLower(node))
		lists = append(lists, shownList{
			method: "CatalogService/GetNode", request: &tenurev1.GetNodeRequest{Node: node},
			named: func(o onlooker) bool { return o.may("node", "read", node) },
			whole: func(o onlooker) bool { return o.mayAll("service", "read", "") },
			shows: func(o onlooker) ([]string, []string) {
				seen, all := instances.shows(o)
				alike, more := checks.shows(o)
				return append(seen, alike...), append(all, more...)
			},
			items: itemsOf(func(r *tenurev1.GetNodeResponse) []string {
				return append(names(r.GetServices(), (*tenurev1.Service).GetServiceId), names(r.GetChecks(), (*tenurev1.Check).GetCheckId)...)
			}),
		})
	}
	return lists
}

// mayWhole reports whether an onlooker may read all nodes or services, unless one is named.
func mayWhole(o onlooker, service, node string) bool {
	return (service != "" || o.mayAll("service", "read", "")) && (node != "" || o.mayAll("node", "read", ""))
}

// mayNamed reports whether an onlooker may read the node and the service that are named.
func mayNamed(o onlooker, service, node string) bool {
	return (service == "" || o.may("service", "read", service)) && (node == "" || o.may("node", "read", node))
}

func shownInstances(service, node string) shownList {
	return shownList{
		method: "CatalogService/ListInstances", request: &tenurev1.ListInstancesRequest{Service: service, Node: node},
		named: func(o onlooker) bool { return mayNamed(o, service, node) }, whole: func(o onlooker) bool { return mayWhole(o, service, node) },
		shows: func(o onlooker) ([]string, []string) {
			return those(seenInstances, func(i seenInstance) string { return i.id }, func(i seenInstance) bool {
				return (service == "" || i.service == service) && (node == "" || i.node == node) && o.instance(i)
			})
		},
		items: itemsOf(func(r *tenurev1.ListInstancesResponse) []string {
			return names(r.GetInstances(), func(i *tenurev1.ServiceInstance) string { return i.GetService().GetServiceId() })
		}),
	}
}

func shownChecks(service, node string) shownList {
	return shownList{
		method: "CatalogService/ListChecks", request: &tenurev1.ListChecksRequest{Service: service, Node: node},
		named: func(o onlooker) bool { return mayNamed(o, service, node) }, whole: func(o onlooker) bool { return mayWhole(o, service, node) },
		shows: func(o onlooker) ([]string, []string) {
			return those(seenChecks, func(c seenCheck) string { return c.id }, func(c seenCheck) bool {
				return (service == "" || c.service == service) && (node == "" || c.node == node) && o.check(c)
			})
		},
		items: itemsOf(func(r *tenurev1.ListChecksResponse) []string {
			return names(r.GetChecks(), (*tenurev1.Check).GetCheckId)
		}),
	}
}

// shownLists are all lists, with what they may ask for.
func shownLists() []shownList {
	lists := slices.Concat(shownKeys(), shownSessions(), shownNodes())
	for _, by := range [][2]string{{"sape1", ""}, {"scow3", ""}, {"", "qant7"}, {"", "qbee8"}, {"sape1", "qbee8"}} {
		lists = append(lists, shownInstances(by[0], by[1]), shownChecks(by[0], by[1]))
	}
	return append(lists, shownChecks("", ""))
}

// onlookers are callers with all kinds of rights.
func onlookers() map[string]onlooker {
	const all = "key * ro\nsession * read\nnode * read\nservice * write\nquery * read"
	exact := "key \"a/fig9\" ro\nsession \"web-elk5\" read\nnode \"QANT7\" read\nservice \"sape1\" read\nquery \"find-opal\" write"
	prefixes := "key \"a/\"* ro\nsession \"web-\"* read\nnode \"q\"* read\nservice \"s\"* read\nquery \"find-\"* read"
	return map[string]onlooker{
		"no rule":              {},
		"a rule of its own":    {rules: "operator read"},
		"all":                  {rules: all},
		"one of each":          {rules: exact},
		"those with a prefix":  {rules: prefixes},
		"neighbours":           {rules: "key \"a/fig\" ro\nkey \"a/fig9/\"* ro\nsession \"web-elk\" read\nnode \"qant\" read\nnode \"qant70\"* read\nservice \"sape\" read\nquery \"find-\" read"},
		"all, within one":      {rules: all, parent: &exact},
		"one, within those":    {rules: exact, parent: &prefixes},
		"those, within others": {rules: prefixes, parent: new("key \"a/fig9\"* ro\nkey \"b/\"* ro\nnode \"qb\"* read\nnode \"w\"* read\nservice * read\nsession * read")},
		"to list and not read": {rules: "key \"a/\"* list\nkey \"a/kiwi7\" read\nkey * watch"},
		"to read and not list": {rules: "key * read"},
		"list and read apart":  {rules: "key \"a\"* list\nkey \"a/kiwi7\" read\nkey \"a0\"* read\nkey \"b/plum4\" read"},
		"nodes":                {rules: "node * read"},
		"services":             {rules: "service * read"},
		"a node, all services": {rules: "node \"qant7\" read\nnode \"wdog5\" read\nservice * read"},
		"all nodes, a service": {rules: "node * read\nservice \"scow3\" read"},
		"sessions of a node":   {rules: "session node \"qant7\" read"},
		"its own":              {rules: "session own write\nsession \"own-emu3\" write", own: true},
		"all queries":          {rules: "query * read"},
	}
}
