package tenure

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// portDefault is the port of a member that is named without one.
const portDefault = "7400"

// The schemes of connection strings.
const (
	schemeClear = "tenure"
	schemeTLS   = "tenures"
)

// ttlDefault is the TTL of a session for which nobody said one.
const ttlDefault = 15 * time.Second

// target is what a connection string says.
type target struct {
	members   []string
	namespace string
	scheme    string // Empty if none was given.
	ttl       time.Duration
	lockDelay *time.Duration
	name      string
	secured   securedBy
}

// parseTarget reads a connection string: tenure://h1:7400,h2:7400/namespace?ttl=15s. Without a scheme it is read as tenure://.
func parseTarget(text string) (*target, error) {
	if _, query, _ := strings.Cut(text, "?"); tellsToken(query) {
		return nil, invalid("token= is refused in a connection string, which ends up in logs: use token_file=, WithToken or TENURE_TOKEN")
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	if found && scheme != schemeClear && scheme != schemeTLS {
		return nil, invalid("the connection string %q does not start with tenure:// or tenures://", text)
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	t := &target{scheme: scheme, ttl: ttlDefault}
	for host := range strings.SplitSeq(hosts, ",") {
		address, err := memberAddress(host)
		if err != nil {
			return nil, err
		}
		t.members = append(t.members, address)
	}
	namespace, err := url.PathUnescape(strings.Trim(path, "/"))
	if err != nil {
		return nil, invalid("the namespace %q is not escaped as in a URL", path)
	}
	t.namespace = namespace
	if err := t.parseQuery(query); err != nil {
		return nil, err
	}
	if !utf8.ValidString(t.namespace) || !utf8.ValidString(t.name) {
		return nil, invalid("the connection string %q is not UTF-8", text)
	}
	return t, nil
}

// tellsToken reports whether the parameters have a token in them, which no error may repeat.
func tellsToken(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if unescaped, err := url.QueryUnescape(name); name == "token" || err == nil && unescaped == "token" {
			return true
		}
	}
	return false
}

// memberAddress returns host:port of a member as it stands in a connection string.
func memberAddress(text string) (string, error) {
	host, port := text, portDefault
	if bracketed := strings.HasPrefix(text, "["); bracketed && strings.HasSuffix(text, "]") {
		host = text[1 : len(text)-1]
	} else if bracketed || strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", invalid("the member %q is not host:port: %v", text, err)
		}
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 || host == "" || strings.ContainsAny(host, " @") {
		return "", invalid("the member %q is not host:port", text)
	}
	return net.JoinHostPort(host, port), nil
}

func (t *target) parseQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return invalid("the parameters %q cannot be read: %v", query, err)
	}
	for name, list := range values {
		if len(list) != 1 {
			return invalid("the parameter %q is given %d times", name, len(list))
		}
		switch name {
		case "ttl":
			t.ttl, err = time.ParseDuration(list[0])
			if err == nil && t.ttl < 0 {
				return invalid("ttl=%s is negative", list[0])
			}
		case "lock_delay":
			var delay time.Duration
			delay, err = time.ParseDuration(list[0])
			t.lockDelay = &delay
		case "name":
			t.name = list[0]
		default:
			err = t.secured.parameter(name, list[0])
		}
		if _, told := errors.AsType[*Error](err); told {
			return err
		}
		if err != nil {
			return invalid("%s=%s is not a duration such as 15s", name, list[0])
		}
	}
	return nil
}

// space puts a client's namespace on keys, and takes it off.
type space struct{ prefix string }

func newSpace(namespace string) space {
	if namespace == "" {
		return space{}
	}
	return space{prefix: namespace + "/"}
}

// full returns the key as the cluster has it.
func (s space) full(key string) string { return s.prefix + key }

// fullKey is full for a key that must not be empty, and must be UTF-8.
func (s space) fullKey(key string) (string, error) {
	if key == "" {
		return "", invalid("the key is empty")
	}
	if !utf8.ValidString(key) {
		return "", invalid("the key %q is not UTF-8", key)
	}
	return s.prefix + key, nil
}

// own returns the key as the client's user has it.
func (s space) own(key string) string { return strings.TrimPrefix(key, s.prefix) }
