package query

import (
	"slices"
	"testing"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

func TestTextsAreFilledIn(t *testing.T) {
	const name, regexp = "geo-db-north-7", `^geo-db-(.*?)-([^\-]+?)$`
	for text, want := range map[string]string{
		"plain":                       "plain",
		"":                            "",
		"${name.full}":                name,
		"${ name.prefix }x":           "geo-x",
		"a${name.suffix}b":            "adb-north-7b",
		"${match(0)}":                 name,
		"${match(1)}.${match(2)}":     "north.7",
		"${match(3)}":                 "",
		"$${name.full}":               "${name.full}",
		"$$${name.full}":              "$${name.full}",
		"costs 5$":                    "costs 5$",
		"$${match(1)}${match(1)}":     "${match(1)}north",
		"{name.full}":                 "{name.full}",
		"${match(1)}${name.prefix}$}": "northgeo-$}",
	} {
		q, err := filled(&storev1.Query{Name: "geo-", Match: storev1.QueryMatch_QUERY_MATCH_PREFIX, Regexp: regexp, Service: text}, name)
		if err != nil || q.GetService() != want {
			t.Errorf("%q: got %q, %v, want %q", text, q.GetService(), err, want)
		}
	}
}

func TestTextsOfAQueryWithANameStay(t *testing.T) {
	stored := &storev1.Query{Name: "a", Match: storev1.QueryMatch_QUERY_MATCH_NAME, Service: "${name.full}"}
	if q, err := filled(stored, "a"); err != nil || q.GetService() != "${name.full}" {
		t.Errorf("got %v, %v", q, err)
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	for _, text := range []string{"${", "${name.full", "${}", "${name}", "${agent.segment}", "${match(x)}", "${match(-1)}", "${match(100)}", "${match(1)", "${match}"} {
		if parts, err := parse(text); err == nil {
			t.Errorf("%q: got %v, want it refused", text, parts)
		}
	}
}

func TestEmptyTagsGoIfTheQuerySaysSo(t *testing.T) {
	stored := &storev1.Query{
		Match: storev1.QueryMatch_QUERY_MATCH_PREFIX, Tags: []string{"${match(1)}", "!${match(1)}", "a"},
		Fallbacks: []*storev1.QueryFallback{{Tags: []string{"${name.prefix}"}}},
	}
	q, err := filled(stored, "x")
	if err != nil || !slices.Equal(q.GetTags(), []string{"", "!", "a"}) {
		t.Errorf("got %v, %v", q, err)
	}
	stored.RemoveEmptyTags = true
	q, err = filled(stored, "x")
	if err != nil || !slices.Equal(q.GetTags(), []string{"a"}) || len(q.GetFallbacks()[0].GetTags()) != 0 {
		t.Errorf("got %v, %v", q, err)
	}
	if len(stored.GetTags()) != 3 || stored.GetTags()[0] != "${match(1)}" {
		t.Errorf("the stored query changed: %v", stored)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add("${match(1)}$${name.full}", "^(.)", "name")
	f.Fuzz(func(t *testing.T, text, regexp, name string) {
		if _, err := parse(text); err != nil {
			return
		}
		q := &storev1.Query{Match: storev1.QueryMatch_QUERY_MATCH_PREFIX, Service: text, Regexp: regexp}
		if _, err := filled(q, name); err != nil && regexp == "" {
			t.Errorf("%q can be stored, and not filled in: %v", text, err)
		}
	})
}
