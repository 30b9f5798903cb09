package main

import (
	"bytes"
	"encoding/json"
)

// args are the arguments of all operations.
type args struct {
	URI           string            `json:"uri"`
	TTLMs         *int64            `json:"ttl_ms"`
	LockDelayMs   *int64            `json:"lock_delay_ms"`
	Behavior      string            `json:"behavior"`
	Name          string            `json:"name"`
	Metadata      map[string]string `json:"metadata"`
	Listener      string            `json:"listener"`
	WaitMs        *int64            `json:"wait_ms"`
	Token         string            `json:"token"`
	ID            string            `json:"id"`
	Key           string            `json:"key"`
	Mode          string            `json:"mode"`
	Permits       uint32            `json:"permits"`
	Limit         uint32            `json:"limit"`
	Owner         *string           `json:"owner"`
	Value         *string           `json:"value"`
	Reason        string            `json:"reason"`
	Sequencer     string            `json:"sequencer"`
	Flags         uint64            `json:"flags"`
	IfRevision    *uint64           `json:"if_revision"`
	Bind          bool              `json:"bind"`
	Sequential    bool              `json:"sequential"`
	Guard         string            `json:"guard"`
	Prefix        string            `json:"prefix"`
	Compares      []compare         `json:"compares"`
	Then          []op              `json:"then"`
	Otherwise     []op              `json:"otherwise"`
	Count         int               `json:"count"`
	Keys          []string          `json:"keys"`
	Prefixes      []string          `json:"prefixes"`
	Locks         []string          `json:"locks"`
	SessionIDs    []string          `json:"session_ids"`
	AllSessions   bool              `json:"all_sessions"`
	Nodes         []string          `json:"nodes"`
	AllQueries    bool              `json:"all_queries"`
	Initial       bool              `json:"initial"`
	AfterRevision uint64            `json:"after_revision"`
	ResumeToken   string            `json:"resume_token"`
	ToSession     string            `json:"to_session"`
	ToOwner       string            `json:"to_owner"`
	Group         string            `json:"group"`
	Gate          string            `json:"gate"`
	Request       int               `json:"request"`
	On            string            `json:"on"`
	Address       string            `json:"address"`
	Node          string            `json:"node"`
	Checks        []string          `json:"checks"`
	DefaultCheck  bool              `json:"default_check"`
	Port          int               `json:"port"`
	Status        string            `json:"status"`
	Output        string            `json:"output"`
	Services      []string          `json:"services"`
	Service       string            `json:"service"`
	Tags          []string          `json:"tags"`
	Passing       bool              `json:"passing"`
	ByPrefix      bool              `json:"by_prefix"`
	Regexp        string            `json:"regexp"`
	Near          string            `json:"near"`
	CallerNode    string            `json:"caller_node"`
	Stale         bool              `json:"stale"`
	MinRevision   uint64            `json:"min_revision"`
	Fallbacks     []fallback        `json:"fallbacks"`
}

// fallback is where a prepared query looks if it finds nothing.
type fallback struct {
	Service string   `json:"service"`
	Tags    []string `json:"tags"`
	Zone    string   `json:"zone"`
}

// compare is one condition of a transaction.
type compare struct {
	Key      string  `json:"key"`
	Revision *uint64 `json:"revision"`
	Version  *uint64 `json:"version"`
	Value    *string `json:"value"`
}

// op is one operation of a transaction.
type op struct {
	Put    *keyed `json:"put"`
	Delete *keyed `json:"delete"`
	Get    *keyed `json:"get"`
}

type keyed struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (a *args) parse(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(a); err != nil {
		return protocol("arguments: %v", err)
	}
	return nil
}

// value returns the value argument, empty if there is none.
func (a *args) value() []byte {
	if a.Value == nil {
		return nil
	}
	return []byte(*a.Value)
}
