package catalog

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
)

const (
	// LivenessID is the id of the check that says what the pool sees of a node.
	LivenessID = "liveness"
	// serfHealthID is what Consul calls that check; nobody may register it.
	serfHealthID = "serfHealth"

	// RowsMax is how many nodes, services and checks one command may write or delete.
	RowsMax = 128
	// BoundChecksMax is how many checks a session may be bound to.
	BoundChecksMax = 16
	// NodesMax is how many nodes the catalog may have.
	NodesMax = 10_000
	// ServicesMax is how many instances of services the catalog may have.
	ServicesMax = 100_000
	// ChecksMax is how many checks the catalog may have.
	ChecksMax = 200_000
	// NodeServicesMax is how many instances of services one node may have.
	NodeServicesMax = 1_024
	// NodeChecksMax is how many checks one node may have.
	NodeChecksMax = 2_048
	// NodeBytesMax is how many bytes they may have together, without the output of checks: all that is registered on a node can be
	// read and deleted by one command.
	NodeBytesMax = 2 << 20
	// OutputBytesMax is how long the output of a check may be.
	OutputBytesMax = 4_096
	// GossipBytesMax is how long the address of gossip may be.
	GossipBytesMax = 512
	// ZoneBytesMax is how long a zone may be.
	ZoneBytesMax = 128
	// NotesBytesMax is how long the notes of a check may be.
	NotesBytesMax = 4_096
	// DefinitionBytesMax is how long the definition of a check may be.
	DefinitionBytesMax = 16 << 10

	nodeNameBytesMax  = 253
	textBytesMax      = 255
	kindBytesMax      = 64
	taggedMax         = 16
	tagsMax           = 64
	metaMax           = 64
	metaNameBytesMax  = 128
	pairValueBytesMax = 512
	portMax           = 65_535
	weightMax         = 65_535
	nodeIDBytes       = 16
)

// MalformedError says which field of a registration is out of its bounds, and how.
type MalformedError struct{ Field, Problem string }

// Error returns both.
func (m *MalformedError) Error() string { return m.Field + ": " + m.Problem }

// under returns the error with the field that the malformed one is part of.
func under(field string, err error) error {
	if m, ok := err.(*MalformedError); ok { //nolint:errorlint // Made here, and never wrapped.
		return &MalformedError{Field: field + "." + m.Field, Problem: m.Problem}
	}
	return err
}

func malformed(field, format string, args ...any) error {
	return &MalformedError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// NodeKey returns the name of a node as its rows have it: in ASCII lower case.
func NodeKey(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// IsNodeName reports whether a text can be the name of a node.
func IsNodeName(name string) bool {
	if name == "" || len(name) > nodeNameBytesMax {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// CheckNodeName refuses what cannot be the name of a node.
func CheckNodeName(field, name string) error {
	if !IsNodeName(name) {
		return malformed(field, "must be 1 to %d of A-Z, a-z, 0-9, dot, underscore and hyphen", nodeNameBytesMax)
	}
	return nil
}

// CheckID refuses what cannot be an id, a name or a tag.
func CheckID(field, text string) error {
	if text == "" {
		return malformed(field, "must not be empty")
	}
	return checkText(field, text, textBytesMax)
}

// checkText refuses a text that is too long, or has control characters.
func checkText(field, text string, bytesMax int) error {
	if len(text) > bytesMax {
		return malformed(field, "must be at most %d bytes", bytesMax)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return malformed(field, "must be UTF-8 without control characters")
	}
	return nil
}

// checkPairs refuses pairs that are too many or too long, or not sorted by name.
func checkPairs(field string, pairs []*storev1.MetadataEntry, most, nameBytesMax int) error {
	if len(pairs) > most {
		return malformed(field, "must be at most %d", most)
	}
	for i, p := range pairs {
		if p.GetName() == "" {
			return malformed(field, "must have no empty name")
		}
		if i > 0 && p.GetName() <= pairs[i-1].GetName() {
			return malformed(field, "must be sorted, each name once")
		}
		if err := checkText(field, p.GetName(), nameBytesMax); err != nil {
			return err
		}
		if len(p.GetValue()) > pairValueBytesMax || !utf8.ValidString(p.GetValue()) {
			return malformed(field, "must have values of at most %d bytes of UTF-8", pairValueBytesMax)
		}
	}
	return nil
}

// CheckNode refuses a node that is out of bounds.
func CheckNode(n *storev1.Node) error {
	if err := CheckNodeName("name", n.GetName()); err != nil {
		return err
	}
	if len(n.GetNodeId()) != 0 && len(n.GetNodeId()) != nodeIDBytes {
		return malformed("node_id", "must be a UUID")
	}
	if err := checkText("address", n.GetAddress(), textBytesMax); err != nil {
		return err
	}
	if err := checkText("gossip_address", n.GetGossipAddress(), GossipBytesMax); err != nil {
		return err
	}
	if err := checkText("zone", n.GetZone(), ZoneBytesMax); err != nil {
		return err
	}
	if err := checkPairs("tagged_addresses", n.GetTaggedAddresses(), taggedMax, textBytesMax); err != nil {
		return err
	}
	return checkPairs("meta", n.GetMeta(), metaMax, metaNameBytesMax)
}

// CheckService refuses an instance of a service that is out of bounds.
func CheckService(s *storev1.Service) error {
	if err := CheckID("service_id", s.GetServiceId()); err != nil {
		return err
	}
	if err := CheckID("name", s.GetName()); err != nil {
		return err
	}
	if len(s.GetTags()) > tagsMax {
		return malformed("tags", "must be at most %d", tagsMax)
	}
	for i, tag := range s.GetTags() {
		if err := CheckID("tags", tag); err != nil {
			return err
		}
		if err := after("tags", i, tag, s.GetTags()); err != nil {
			return err
		}
	}
	if err := checkText("address", s.GetAddress(), textBytesMax); err != nil {
		return err
	}
	switch {
	case s.GetPort() > portMax:
		return malformed("port", "must be 0 to %d", portMax)
	case s.GetWeightPassing() > weightMax || s.GetWeightWarning() > weightMax:
		return malformed("weights", "must be 0 to %d", weightMax)
	}
	return checkPairs("meta", s.GetMeta(), metaMax, metaNameBytesMax)
}

// CheckCheck refuses a check that is out of bounds, or that nobody but the cluster may register.
func CheckCheck(k *storev1.Check, origin storev1.CatalogOrigin) error {
	if err := CheckID("check_id", k.GetCheckId()); err != nil {
		return err
	}
	byAgent := origin == storev1.CatalogOrigin_CATALOG_ORIGIN_AGENT
	switch {
	case k.GetCheckId() == serfHealthID:
		return malformed("check_id", "must not be %s", serfHealthID)
	case k.GetCheckId() == LivenessID && (byAgent || k.GetServiceId() != ""):
		return malformed("check_id", "must not be %s: neither an agent nor a service may register it", LivenessID)
	}
	if err := CheckID("name", k.GetName()); err != nil {
		return err
	}
	if k.GetServiceId() != "" {
		if err := CheckID("service_id", k.GetServiceId()); err != nil {
			return err
		}
	}
	switch {
	case k.GetStatus() < 0 || k.GetStatus() > storev1.CheckStatus_CHECK_STATUS_CRITICAL:
		return malformed("status", "is not known")
	case len(k.GetNotes()) > NotesBytesMax || !utf8.ValidString(k.GetNotes()):
		return malformed("notes", "must be at most %d bytes of UTF-8", NotesBytesMax)
	case len(k.GetDefinition()) > DefinitionBytesMax:
		return malformed("definition", "must be at most %d bytes", DefinitionBytesMax)
	}
	if err := CheckOutput(k.GetOutput()); err != nil {
		return err
	}
	return checkText("kind", k.GetKind(), kindBytesMax)
}

// CheckOutput refuses an output that is too long. CutOutput makes one that is not.
func CheckOutput(output string) error {
	if len(output) > OutputBytesMax || !utf8.ValidString(output) {
		return malformed("output", "must be at most %d bytes of UTF-8", OutputBytesMax)
	}
	return nil
}

// CutOutput returns the beginning of an output that a check may have; no character is cut.
func CutOutput(output string) string {
	if len(output) <= OutputBytesMax {
		return output
	}
	cut := OutputBytesMax
	for cut > 0 && !utf8.RuneStart(output[cut]) {
		cut--
	}
	return output[:cut]
}

// after refuses a name that does not come after the one before it. Callers may give them in any order, each once: the
// server sorts them.
func after(field string, i int, name string, names []string) error {
	switch {
	case i > 0 && name == names[i-1]:
		return malformed(field, "must each be given only once")
	case i > 0 && name < names[i-1]:
		return malformed(field, "must be sorted")
	}
	return nil
}

// CheckBoundChecks refuses names of checks that a session cannot be bound to.
func CheckBoundChecks(ids []string) error {
	if len(ids) > BoundChecksMax {
		return malformed("checks", "must be at most %d", BoundChecksMax)
	}
	for i, id := range ids {
		if err := CheckID("checks", id); err != nil {
			return err
		}
		if err := after("checks", i, id, ids); err != nil {
			return err
		}
	}
	return nil
}

// CheckRegistration refuses services and checks of one command that are out of bounds, or named twice.
func CheckRegistration(services []*storev1.Service, checks []*storev1.Check, origin storev1.CatalogOrigin, others int) error {
	if len(services)+len(checks)+others > RowsMax {
		return malformed("services", "must be at most %d entries in all", RowsMax)
	}
	ids := make([]string, 0, RowsMax)
	for i, s := range services {
		if err := CheckService(s); err != nil {
			return under(fmt.Sprintf("services[%d]", i), err)
		}
		ids = append(ids, s.GetServiceId())
	}
	if twice(ids) {
		return malformed("services", "must be named once")
	}
	ids = ids[:0]
	for i, k := range checks {
		if err := CheckCheck(k, origin); err != nil {
			return under(fmt.Sprintf("checks[%d]", i), err)
		}
		ids = append(ids, k.GetCheckId())
	}
	if twice(ids) {
		return malformed("checks", "must be named once")
	}
	return nil
}

// twice reports whether a text is there twice; it sorts them.
func twice(ids []string) bool {
	slices.Sort(ids)
	return len(slices.Compact(slices.Clone(ids))) != len(ids)
}

// ServiceBytes returns how much an instance of a service counts on its node.
func ServiceBytes(s *storev1.Service) uint64 { return uint64(proto.Size(s)) }

// CheckBytes returns how much a check counts on its node.
func CheckBytes(k *storev1.Check) uint64 {
	const numbers = 16
	texts := len(k.GetCheckId()) + len(k.GetName()) + len(k.GetServiceId()) + len(k.GetNotes()) + len(k.GetKind()) + len(k.GetDefinition())
	return uint64(texts) + numbers
}
