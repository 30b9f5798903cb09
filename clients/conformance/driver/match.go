package driver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	variable = regexp.MustCompile(`\$\{([a-zA-Z0-9_.]+)\}`)
	nested   = regexp.MustCompile(`(\$\{[a-zA-Z0-9_.]+)(\$\{[a-zA-Z0-9_.]+\})`)
)

// expand puts variables in their places. A text that is one variable and nothing else becomes its value, of whatever type.
func expand(value any, variables map[string]any) (any, error) {
	switch v := value.(type) {
	case string:
		return expandText(v, variables)
	case map[string]any:
		expanded := map[string]any{}
		for name, item := range v {
			e, err := expand(item, variables)
			if err != nil {
				return nil, err
			}
			expanded[name] = e
		}
		return expanded, nil
	case []any:
		expanded := make([]any, len(v))
		for i, item := range v {
			e, err := expand(item, variables)
			if err != nil {
				return nil, err
			}
			expanded[i] = e
		}
		return expanded, nil
	default:
		return value, nil
	}
}

// expandText is expand for a text. The name of a variable may hold another one: ${at${n}}.
func expandText(text string, variables map[string]any) (any, error) {
	for m := nested.FindStringSubmatch(text); m != nil; m = nested.FindStringSubmatch(text) {
		value, ok := variables[m[2][2:len(m[2])-1]]
		if !ok {
			return nil, fmt.Errorf("unknown variable %s", m[2])
		}
		text = strings.ReplaceAll(text, m[0], m[1]+plain(value))
	}
	var missing error
	if m := variable.FindString(text); m == text && text != "" {
		value, ok := variables[text[2:len(text)-1]]
		if !ok {
			return nil, fmt.Errorf("unknown variable %s", text)
		}
		return value, nil
	}
	expanded := variable.ReplaceAllStringFunc(text, func(m string) string {
		value, ok := variables[m[2:len(m)-1]]
		if !ok {
			missing = fmt.Errorf("unknown variable %s", m)
		}
		return plain(value)
	})
	return expanded, missing
}

// plain returns a value as text.
func plain(value any) string {
	if n, ok := value.(float64); ok {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprint(value)
}

// match compares a value with what is expected: what is not mentioned may be anything. It returns the first difference, or "".
// Texts that begin with > >= < <= != compare with the number or text behind; one that begins with "in" names all that it may be,
// one that begins with ~ is a pattern.
func match(want, got any, where string) string {
	switch w := want.(type) {
	case nil:
		if got != nil {
			return fmt.Sprintf("%s is %s, want null", where, show(got))
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %s, want %s", where, show(got), show(want))
		}
		for name, item := range w {
			if _, there := g[name]; !there && item != nil {
				return fmt.Sprintf("%s.%s is missing, want %s", where, name, show(item))
			}
			if difference := match(item, g[name], where+"."+name); difference != "" {
				return difference
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %s, want %s", where, show(got), show(want))
		}
		for i := range w {
			if difference := match(w[i], g[i], fmt.Sprintf("%s[%d]", where, i)); difference != "" {
				return difference
			}
		}
	default:
		if !same(want, got) {
			return fmt.Sprintf("%s is %s, want %s", where, show(got), show(want))
		}
	}
	return ""
}

// same compares two plain values.
func same(want, got any) bool {
	if text, ok := want.(string); ok {
		if rest, found := strings.CutPrefix(text, "in "); found {
			return slices.Contains(strings.Fields(rest), plain(got))
		}
		if pattern, found := strings.CutPrefix(text, "~ "); found {
			matched, err := regexp.MatchString(pattern, plain(got))
			return matched && err == nil
		}
		for _, operator := range []string{">=", "<=", "!=", ">", "<"} {
			if rest, found := strings.CutPrefix(text, operator+" "); found {
				return compare(operator, got, rest)
			}
		}
	}
	w, isNumber := number(want)
	g, gotNumber := number(got)
	if isNumber && gotNumber {
		return w == g
	}
	return want == got
}

func compare(operator string, got any, want string) bool {
	if operator == "!=" {
		return plain(got) != want
	}
	g, ok := number(got)
	var w float64
	if _, err := fmt.Sscan(want, &w); err != nil || !ok {
		return false
	}
	switch operator {
	case ">=":
		return g >= w
	case "<=":
		return g <= w
	case ">":
		return g > w
	default:
		return g < w
	}
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	default:
		return 0, false
	}
}

// show returns a value as it stands in a protocol line.
func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
