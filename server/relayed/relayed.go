package relayed

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/server/call"
	"github.com/tenure-io/tenure/server/reason"
	"github.com/tenure-io/tenure/storage"
	"github.com/tenure-io/tenure/storage/catalog"
)

const (
	// AddressBytesMax is how long the address of a client may be, as a member relays it.
	AddressBytesMax = 256
	// principalBytesMax is how long a principal may be, rulesBytesMax the text of a policy.
	principalBytesMax = 2048
	rulesBytesMax     = 64 << 10
	// otherBytesMax bounds what has no bound of its own: ids and hashes.
	otherBytesMax = 64
)

// bytesMax returns how long a text, or bytes, may be in a field, whose name says what it holds. The last field of a message that
// stands in another is enough: what is called a value is one everywhere.
func bytesMax(field protoreflect.FieldDescriptor) int {
	switch field.Name() {
	case "key", "prefix":
		return call.KeyBytesMax
	case "value", "put":
		if field.Parent().FullName() == "tenure.store.v1.MetadataEntry" {
			return call.MetadataBytesMax
		}
		return call.ValueBytesMax
	case "name", "node":
		if field.Parent().FullName() == "tenure.store.v1.MetadataEntry" {
			return call.MetadataBytesMax
		}
		return call.NameBytesMax
	case "owner", "to_owner":
		return call.OwnerBytesMax
	case "reason":
		return call.ReasonBytesMax
	case "by", "peer_address":
		return AddressBytesMax
	default:
		return catalogBytesMax(field)
	}
}

// catalogBytesMax is bytesMax for what is only in the catalog.
func catalogBytesMax(field protoreflect.FieldDescriptor) int {
	switch field.Name() {
	case "service_id", "check_id", "entry_id", "check_ids", "delete_services", "delete_checks", "tags", "address", "service", "ignore_checks", "near":
		return call.NameBytesMax
	case "regexp":
		return catalog.RegexpBytesMax
	case "gossip_address":
		return catalog.GossipBytesMax
	case "zone":
		return catalog.ZoneBytesMax
	case "output":
		return catalog.OutputBytesMax
	case "notes":
		return catalog.NotesBytesMax
	case "definition":
		return catalog.DefinitionBytesMax
	case "principal":
		return principalBytesMax
	case "rules":
		return rulesBytesMax
	case "policies", "delete_policy", "delete_binding", "delete_provider", "created_by":
		return call.NameBytesMax
	default:
		return providerBytesMax(field)
	}
}

// providerBytesMax is bytesMax for what is only in providers of JSON Web Tokens.
func providerBytesMax(field protoreflect.FieldDescriptor) int {
	switch field.Name() {
	case "issuer":
		return storage.ProviderIssuerBytesMax
	case "audiences":
		return storage.ProviderAudienceBytesMax
	case "jwks":
		return storage.ProviderJWKSBytesMax
	case "jwks_url":
		return storage.ProviderURLBytesMax
	case "ca_certificates":
		return storage.ProviderCABytesMax
	default:
		return otherBytesMax
	}
}

// Check refuses a message in which a text is longer than its client could have sent it. The error names the field.
func Check(m proto.Message) error { return check("", m.ProtoReflect()) }

func check(at string, m protoreflect.Message) (err error) {
	if create, ok := m.Interface().(*storev1.CreateSession); ok {
		if err = checkMetadata(at, create); err != nil {
			return err
		}
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if !field.IsList() {
			err = checkValue(at, field, value)
			return err == nil
		}
		for list, i := value.List(), 0; i < list.Len() && err == nil; i++ {
			err = checkValue(at, field, list.Get(i))
		}
		return err == nil
	})
	return err
}

// checkValue refuses what is too long, or has in it what is.
func checkValue(at string, field protoreflect.FieldDescriptor, value protoreflect.Value) error {
	name := at + string(field.Name())
	switch field.Kind() {
	case protoreflect.MessageKind:
		return check(name+".", value.Message())
	case protoreflect.StringKind:
		return checkLength(name, field, len(value.String()))
	case protoreflect.BytesKind:
		return checkLength(name, field, len(value.Bytes()))
	default:
		return nil
	}
}

func checkLength(name string, field protoreflect.FieldDescriptor, length int) error {
	if most := bytesMax(field); length > most {
		return reason.Invalid(name, "is %d bytes long; at most %d are allowed", length, most)
	}
	return nil
}

// checkMetadata refuses more metadata than a session may have.
func checkMetadata(at string, create *storev1.CreateSession) error {
	size := 0
	for _, m := range create.GetMetadata() {
		size += len(m.GetName()) + len(m.GetValue())
	}
	if size > call.MetadataBytesMax {
		return reason.Invalid(at+"metadata", "is %d bytes long; at most %d are allowed", size, call.MetadataBytesMax)
	}
	return nil
}
