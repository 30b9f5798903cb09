package server_test

import (
	"fmt"
	"slices"
	"strings"
)

// onlooker is a caller of lists, as a naive reader of rules knows it: the texts of its policies and of those of its token's parent; nil: it has none.
type onlooker struct {
	rules  string
	parent *string
	// own says that it made the session that is called own.
	own bool
}

// met reports whether one line of the onlooker's rules passes a test, and one of its parent's.
func (o onlooker) met(test func(noun, selector, verbs string) bool) bool {
	for _, rules := range []*string{&o.rules, o.parent} {
		if rules == nil {
			continue
		}
		if !slices.ContainsFunc(strings.Split(*rules, "\n"), func(line string) bool {
			words := strings.Fields(line)
			for i, word := range words {
				if i > 0 && (strings.HasPrefix(word, `"`) || word == "*" || word == "own") {
					return test(strings.Join(words[:i], " "), word, " "+strings.Join(words[i+1:], " ")+" ")
				}
			}
			return len(words) > 0 && test(words[0], "", "")
		}) {
			return false
		}
	}
	return true
}

// includes reports whether verbs of a rule include one.
func includes(noun, verbs, verb string) bool {
	switch {
	case strings.Contains(verbs, " "+verb+" "), noun != "key" && verb == "read" && strings.Contains(verbs, " write "):
		return true
	default:
		return strings.Contains(verbs, " ro ") && verb != "write"
	}
}

// picks reports whether a selector picks a name, or all names that begin with it.
func picks(selector, name string, all bool) bool {
	begins := strings.HasSuffix(selector, "*")
	text := strings.Trim(strings.TrimSuffix(selector, "*"), `"`)
	return begins && strings.HasPrefix(name, text) || !all && name == text
}

// rule reports whether there is any rule at all.
func (o onlooker) rule() bool {
	return o.met(func(string, string, string) bool { return true })
}

// may reports whether there is a rule for a name.
func (o onlooker) may(noun, verb, name string) bool {
	if noun == "node" {
		name = strings.ToLower(name)
	}
	return o.met(func(of, selector, verbs string) bool {
		if noun == "node" {
			selector = strings.ToLower(selector)
		}
		return of == noun && includes(noun, verbs, verb) && picks(selector, name, false)
	})
}

// mayAll reports whether there is one rule for all names that begin with a prefix.
func (o onlooker) mayAll(noun, verb, prefix string) bool {
	return o.met(func(of, selector, verbs string) bool {
		return of == noun && includes(noun, verbs, verb) && picks(strings.ToLower(selector), strings.ToLower(prefix), true)
	})
}

// maySession reports whether there is a rule for a session, by its name, its node or because it is the onlooker's own.
func (o onlooker) maySession(s seenSession) bool {
	return o.met(func(of, selector, verbs string) bool {
		switch {
		case !includes("session", verbs, "read"):
			return false
		case of == "session" && selector == "own":
			return s.own && o.own
		case of == "session node":
			return s.node != "" && picks(selector, s.node, false)
		default:
			return of == "session" && picks(selector, s.name, false)
		}
	})
}

// What is there to be seen. Every name, and every mark of a name, is in no other.
type (
	seenSession struct {
		name, node string
		own        bool
	}
	seenInstance struct{ id, service, node string }
	// seenCheck is a check of an instance, or of a node if the service is empty.
	seenCheck struct{ id, instance, service, node string }
)

var (
	seenKeys     = []string{"a/fig9", "a/fig9/pip", "a/kiwi7", "a0lime", "b/plum4", "zquince"}
	seenNodes    = []string{"Qant7", "qbee8", "qcat6", "wdog5"}
	seenSessions = []seenSession{
		{name: "web-elk5", node: "qant7"}, {name: "web-gnu6", node: "qbee8"}, {name: "job-yak2"}, {name: "own-emu3", own: true}, {name: "own-owl4"},
	}
	seenInstances = []seenInstance{
		{"i1sole", "sape1", "qant7"},
		{"i2tuna", "sape1", "qbee8"},
		{"i3carp", "sbat2", "qbee8"},
		{"i4pike", "scow3", "qcat6"},
		{"i5dace", "scow3", "qant7"},
		{"i6bass", "tcow4", "wdog5"},
	}
	seenChecks = []seenCheck{
		{"c1oak", "", "", "qant7"},
		{"c2elm", "", "", "qcat6"},
		{"c3ash", "i1sole", "sape1", "qant7"},
		{"c4fir", "i2tuna", "sape1", "qbee8"},
		{"c5yew", "i4pike", "scow3", "qcat6"},
		{"c6box", "i6bass", "tcow4", "wdog5"},
	}
	seenQueries = []string{"find-ruby", "find-opal", "seek-jade", ""}
)

// markOf is what something has in it that only who sees it may see.
func markOf(name string) string { return "mark of " + name }

// services returns the names of all services.
func services() []string {
	var names []string
	for _, i := range seenInstances {
		if !slices.Contains(names, i.service) {
			names = append(names, i.service)
		}
	}
	return names
}

// instance and check report what of the catalog an onlooker sees.
func (o onlooker) instance(i seenInstance) bool {
	return o.may("service", "read", i.service) && o.may("node", "read", i.node)
}

func (o onlooker) check(c seenCheck) bool {
	return o.may("node", "read", c.node) && (c.service == "" || o.may("service", "read", c.service))
}

// summary is what an onlooker is told of a service: how many instances it has, and their tags; empty: nothing. Who may read all services that a list selects
// may read the list whole, whatever it may read of nodes.
func (o onlooker) summary(service string, whole bool) string {
	var tags []string
	for _, i := range seenInstances {
		if i.service == service && (whole || o.instance(i)) {
			tags = append(tags, markOf(i.id))
		}
	}
	if len(tags) == 0 {
		return ""
	}
	slices.Sort(tags)
	return fmt.Sprint(service, len(tags), tags)
}
