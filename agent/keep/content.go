package keep

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tenure-io/tenure/agent/check"
	"github.com/tenure-io/tenure/agent/message"
	"github.com/tenure-io/tenure/agent/registry"
	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

// registered is what calls registered, as messages of tenure.v1 in JSON.
type registered struct {
	Services []json.RawMessage `json:"services,omitempty"`
	Checks   []json.RawMessage `json:"checks,omitempty"`
}

// state is the last state of a check.
type state struct {
	Status string `json:"status"`
	Output string `json:"output,omitempty"`
}

// Registered returns what calls registered.
func (d *Dir) Registered() (registry.Content, error) {
	var of registered
	if _, err := d.read(registeredFile, &of); err != nil {
		return registry.Content{}, err
	}
	var c registry.Content
	decode := protojson.UnmarshalOptions{DiscardUnknown: true}
	for _, raw := range of.Services {
		var m tenurev1.Service
		if err := decode.Unmarshal(raw, &m); err != nil {
			return registry.Content{}, fmt.Errorf("%s: %w: %w", d.file(registeredFile), ErrDamaged, err)
		}
		c.Services = append(c.Services, message.ToService(&m))
	}
	for _, raw := range of.Checks {
		var m tenurev1.Check
		if err := decode.Unmarshal(raw, &m); err != nil {
			return registry.Content{}, fmt.Errorf("%s: %w: %w", d.file(registeredFile), ErrDamaged, err)
		}
		// What a definition cannot express, such as what a newer version wrote, shows when it is registered again.
		definition, _ := message.ToDefinition(&m)
		if maintenance := (check.Maintenance{}); m.GetKind() == maintenance.Name() {
			definition.Kind = maintenance
		}
		c.Checks = append(c.Checks, definition)
	}
	return c, nil
}

// SetRegistered writes what calls registered.
func (d *Dir) SetRegistered(c registry.Content) error {
	var of registered
	for _, s := range c.Services {
		raw, err := protojson.Marshal(message.Service(s))
		if err != nil {
			return fmt.Errorf("encode service %q: %w", s.ID, err)
		}
		of.Services = append(of.Services, raw)
	}
	for _, definition := range c.Checks {
		raw, err := protojson.Marshal(message.Registration(definition))
		if err != nil {
			return fmt.Errorf("encode check %q: %w", definition.ID, err)
		}
		of.Checks = append(of.Checks, raw)
	}
	return d.write(registeredFile, of)
}

// States returns the last state of each check, by id.
func (d *Dir) States() (map[string]check.State, error) {
	var of map[string]state
	if _, err := d.read(statesFile, &of); err != nil {
		return nil, err
	}
	states := make(map[string]check.State, len(of))
	for id, s := range of {
		status, known := check.ParseStatus(s.Status)
		if !known {
			return nil, fmt.Errorf("%s: %w: check %q has the status %q", d.file(statesFile), ErrDamaged, id, s.Status)
		}
		states[id] = check.State{Status: status, Output: s.Output}
	}
	return states, nil
}

// SetStates writes the state of each check.
func (d *Dir) SetStates(states map[string]check.State) error {
	of := make(map[string]state, len(states))
	for id, s := range states {
		of[id] = state{Status: s.Status.String(), Output: s.Output}
	}
	return d.write(statesFile, of)
}
