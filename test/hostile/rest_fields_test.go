package hostile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tenure-io/tenure/gen/openapi"
)

// schema is a part of the API's OpenAPI document that says what a value is.
type schema struct {
	Ref                  string             `json:"$ref"`
	Name, In, Type       string             // of a parameter
	Properties           map[string]*schema // of an object
	Items                *schema            // of a list
	AdditionalProperties *schema            // of a map
	Schema               *schema            // of a body
}

// document is the API's OpenAPI document.
type document struct {
	Paths       map[string]map[string]struct{ Parameters []*schema }
	Definitions map[string]*schema
	Parameters  map[string]*schema
}

// resolve follows a reference.
func (d document) resolve(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
		return d.Definitions[name]
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/parameters/"); ok {
		return d.Parameters[name]
	}
	return s
}

// usual is what a field has that is not the odd one.
func (a *attacker) usual(field string) (string, bool) {
	switch field {
	case "key", "prefix":
		return "hostile/odd", true
	case "sessionId":
		return a.Given["hostile session"], true
	default:
		return "", false
	}
}

// place makes a body of JSON with a text at one place in it.
type place func(text string) any

// places returns all places of texts in a value of a schema. Objects within objects of their own kind end at depth.
func (a *attacker) places(d document, s *schema, depth int) map[string]place {
	s = d.resolve(s)
	all := map[string]place{}
	const deepest = 5
	switch {
	case depth > deepest:
	case s.Items != nil:
		for name, at := range a.places(d, s.Items, depth+1) {
			all["[]"+name] = func(text string) any { return []any{at(text)} }
		}
	case s.AdditionalProperties != nil:
		all["{name}"] = func(text string) any { return map[string]any{text: "v"} }
		all["{value}"] = func(text string) any { return map[string]any{"n": text} }
	case s.Properties != nil:
		for field, of := range s.Properties {
			for name, at := range a.places(d, of, depth+1) {
				all["."+field+name] = func(text string) any {
					object := map[string]any{field: at(text)}
					for other := range s.Properties {
						if value, ok := a.usual(other); ok && other != field {
							object[other] = value
						}
					}
					return object
				}
			}
		}
	case s.Type == "string":
		all[""] = func(text string) any { return text }
	}
	return all
}

// bodyOf encodes a body; bytes that are not UTF-8 stay as they are.
func bodyOf(at place, text string) ([]byte, error) {
	const stand = "\u2603odd\u2603"
	if strings.ToValidUTF8(text, "") == text {
		return json.Marshal(at(text))
	}
	body, err := json.Marshal(at(stand))
	return []byte(strings.ReplaceAll(string(body), stand, text)), err
}

// oddREST puts odd texts into every parameter of every path, and every field of every body, that OpenAPI names.
func oddREST(ctx context.Context, a *attacker) error {
	const fieldsMin = 200
	return a.textsToREST(ctx, a.Members[0].HTTP, "", oddTexts(), fieldsMin)
}

// plainREST makes the same requests with plain texts.
func plainREST(ctx context.Context, a *attacker) error {
	return a.textsToREST(ctx, a.Members[0].HTTP, "", plainTexts(), 0)
}

// oddAgentREST does so with the paths that agents serve.
func oddAgentREST(ctx context.Context, a *attacker) error {
	const fieldsMin = 50
	return a.textsToREST(ctx, a.Given[agentGiven], "/v1/agent", oddTexts(), fieldsMin)
}

// shortTurns is how many fields in a row have each text once with -short.
const shortTurns = 4

// hasTurn tells whether a field has a text. With -short each text is in every fourth field of those that are found, so that each field has one
// or two of them; CI puts all of them into each.
func (a *attacker) hasTurn(field, text int) bool { return !a.Short || (field+text)%shortTurns == 0 }

// textsToREST puts texts into what paths with a prefix take, of which there is so much at least.
func (a *attacker) textsToREST(ctx context.Context, address, prefix string, texts map[string]string, fieldsMin int) error {
	var d document
	if err := json.Unmarshal(openapi.Document(), &d); err != nil {
		return err
	}
	maps.DeleteFunc(d.Paths, func(path string, _ map[string]struct{ Parameters []*schema }) bool {
		return !strings.HasPrefix(path, prefix)
	})
	client := a.web()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(64) // A connection whose headers are too long stays half a second.
	fields, kinds := 0, slices.Sorted(maps.Keys(texts))
	for path, methods := range d.Paths {
		for method, operation := range methods {
			for _, p := range operation.Parameters {
				p = d.resolve(p)
				places := map[string]place{"": nil}
				if p.In == "body" {
					places = a.places(d, p.Schema, 0)
				} else if p.Type != "string" && p.Type != "array" {
					continue
				}
				for name, at := range places {
					fields++
					for i, kind := range kinds {
						if !a.hasTurn(fields, i) {
							continue
						}
						text := texts[kind]
						what := fmt.Sprintf("%s %s %s%s: %s", method, path, p.Name, name, kind)
						g.Go(func() error {
							return a.untilThereIsRoom(ctx, func() (int, error) {
								r, err := a.oddRequest(ctx, method, "http://"+address, path, p, at, text)
								if err != nil {
									return 0, err
								}
								return a.askSome(client, what, r), nil
							})
						})
					}
				}
			}
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	client.CloseIdleConnections()
	if fields < fieldsMin {
		return fmt.Errorf("%d fields were found, want at least %d", fields, fieldsMin)
	}
	return nil
}

// oddRequest makes a request with one odd text.
func (a *attacker) oddRequest(ctx context.Context, method, target, path string, p *schema, at place, text string) (*http.Request, error) {
	for part := range strings.SplitSeq(path[1:], "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			part, _ = a.usual(strings.TrimSuffix(name, "}"))
			if method == "delete" && strings.HasPrefix(path, "/v1/sessions/") {
				part = noSession // Other calls need the usual one.
			}
			if p.In == "path" {
				part = text
			}
			part = url.PathEscape(part)
		}
		target += "/" + part
	}
	if p.In == "query" {
		target += "?" + url.QueryEscape(p.Name) + "=" + url.QueryEscape(text)
	}
	var body io.Reader = http.NoBody
	if p.In == "body" {
		encoded, err := bodyOf(at, text)
		if err != nil {
			return nil, err
		}
		body = strings.NewReader(string(encoded))
	}
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), target, body)
	if err == nil && p.In == "header" {
		r.Header[p.Name] = []string{strings.NewReplacer("\x00", "", "\r", "", "\n", "").Replace(text)}
	}
	return r, err
}

// untilThereIsRoom makes a request until it gets another answer than that there is no room for it: each text is to be judged.
func (a *attacker) untilThereIsRoom(ctx context.Context, ask func() (int, error)) error {
	var failed error
	err := a.until(ctx, func() (bool, error) {
		var code int
		code, failed = ask()
		return failed != nil || code != http.StatusTooManyRequests, errors.New("there is no room")
	})
	return errors.Join(err, failed)
}

// askSome is ask for answers that may not end: of a stream the first line is read. It returns the status, or 0 if there is none.
func (a *attacker) askSome(client *http.Client, what string, r *http.Request) int {
	answer, err := client.Do(r)
	if err != nil {
		return 0 // What the client refuses to send, and what the member cut.
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.Header.Get("Content-Type") != "application/x-ndjson" {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<20)) // It may break off.
		a.status(what, answer, body)
		return answer.StatusCode
	}
	line, _ := bufio.NewReader(answer.Body).ReadString('\n') // The same.
	a.status(what, answer, nil)
	var said struct {
		Error struct{ Code string }
	}
	if err = json.Unmarshal([]byte(line), &said); err == nil && (said.Error.Code == "INTERNAL" || said.Error.Code == "UNKNOWN") {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.fault(what, line)
	}
	return answer.StatusCode
}

// giveSession makes a session that the attacker may use.
func giveSession(s *scene) {
	err := s.quiet.again(s.t.Context(), "create session", func(ctx context.Context) error {
		opened, err := s.quiet.renewer.CreateSession(ctx, newSession())
		s.given["hostile session"] = opened.GetSessionId()
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
