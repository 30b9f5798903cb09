package body

import (
	"encoding/json"
	"strings"
)

// UnmarshalJSON reads the names of fields in both of Consul's spellings.
func (b *Check) UnmarshalJSON(data []byte) error {
	type plain Check
	return unmarshal(data, (*plain)(b))
}

// UnmarshalJSON reads the names of fields in both of Consul's spellings.
func (b *Service) UnmarshalJSON(data []byte) error {
	type plain Service
	return unmarshal(data, (*plain)(b))
}

// unmarshal reads an object whose fields may be named as service_id, too: as in Consul's configuration, which its API accepts. Names that differ in
// nothing but case are the same to encoding/json. Where a field is given in both spellings, the one without underscores counts.
func unmarshal(data []byte, into any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	given, snakes := map[string]bool{}, map[string]json.RawMessage{}
	for name, value := range fields {
		if strings.Contains(name, "_") {
			snakes[strings.ToLower(strings.ReplaceAll(name, "_", ""))] = value
			continue
		}
		given[strings.ToLower(name)] = true
	}
	for name := range snakes {
		if given[name] {
			delete(snakes, name)
		}
	}
	if len(snakes) > 0 {
		spelled, err := json.Marshal(snakes)
		if err != nil {
			return err
		}
		if err = json.Unmarshal(spelled, into); err != nil {
			return err
		}
	}
	return json.Unmarshal(data, into)
}
