package fields

import (
	"fmt"
	"maps"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Place is one hostile value in one field.
type Place struct {
	// Path is the field, as errors name it: services[0].meta.
	Path string
	set  func(m protoreflect.Message)
}

// In returns a copy of a message with the value in it.
func (p Place) In(m proto.Message) proto.Message {
	changed := proto.Clone(m)
	p.set(changed.ProtoReflect())
	return changed
}

// Places are all hostile values, in each field of a message that is there, by what they are.
func Places(m proto.Message) map[string]Place {
	return places("", m.ProtoReflect(), func(p Place) Place { return p })
}

// within leads to a message in another one.
type within func(p Place) Place

func places(name string, m protoreflect.Message, to within) map[string]Place {
	all := map[string]Place{}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		path := strings.TrimPrefix(name+"."+string(f.Name()), ".")
		add := func(what string, set func(m protoreflect.Message)) {
			all[path+" "+what] = to(Place{Path: path, set: set})
		}
		add("is missing", func(m protoreflect.Message) { m.Clear(f) })
		switch {
		case f.IsMap():
			addPairs(f, add)
		case f.IsList():
			maps.Copy(all, listPlaces(path, f, v.List(), to))
			addLists(f, add)
		case f.Kind() == protoreflect.MessageKind:
			maps.Copy(all, places(path, v.Message(), func(p Place) Place {
				return to(Place{Path: p.Path, set: func(m protoreflect.Message) { p.set(m.Mutable(f).Message()) }})
			}))
		default:
			for what, value := range valuesOf(f.Kind()) {
				add("is "+what, func(m protoreflect.Message) { m.Set(f, value) })
			}
		}
		return true
	})
	return all
}

// addPairs adds what hostile pairs a map may have.
func addPairs(f protoreflect.FieldDescriptor, add func(string, func(protoreflect.Message))) {
	put := func(m protoreflect.Message, name, value string) {
		m.Mutable(f).Map().Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfString(value))
	}
	for what, text := range Texts() {
		add("has the name "+what, func(m protoreflect.Message) { put(m, text, "v") })
		add("has the value "+what, func(m protoreflect.Message) { put(m, "n", text) })
	}
	add("has many", func(m protoreflect.Message) {
		for i := range 65 {
			put(m, fmt.Sprint(i), "v")
		}
	})
}

// addLists adds what hostile elements a list may have, beside those that it has.
func addLists(f protoreflect.FieldDescriptor, add func(string, func(protoreflect.Message))) {
	if f.Kind() == protoreflect.MessageKind {
		add("has many", func(m protoreflect.Message) {
			for range 3000 {
				m.Mutable(f).List().AppendMutable()
			}
		})
		return
	}
	for what, text := range Texts() {
		add("has "+what, func(m protoreflect.Message) { m.Mutable(f).List().Append(protoreflect.ValueOfString(text)) })
	}
	add("has one twice", func(m protoreflect.Message) {
		for range 2 {
			m.Mutable(f).List().Append(protoreflect.ValueOfString("twice"))
		}
	})
	add("has many", func(m protoreflect.Message) {
		for i := range 129 {
			m.Mutable(f).List().Append(protoreflect.ValueOfString(fmt.Sprint(i)))
		}
	})
}

// listPlaces are those in the messages of a list.
func listPlaces(path string, f protoreflect.FieldDescriptor, list protoreflect.List, to within) map[string]Place {
	all := map[string]Place{}
	for i := range list.Len() {
		if f.Kind() != protoreflect.MessageKind {
			continue
		}
		maps.Copy(all, places(fmt.Sprintf("%s[%d]", path, i), list.Get(i).Message(), func(p Place) Place {
			return to(Place{Path: p.Path, set: func(m protoreflect.Message) { p.set(m.Mutable(f).List().Get(i).Message()) }})
		}))
	}
	return all
}

// valuesOf are the hostile values of a kind.
func valuesOf(kind protoreflect.Kind) map[string]protoreflect.Value {
	all := map[string]protoreflect.Value{}
	switch kind {
	case protoreflect.StringKind:
		for what, text := range Texts() {
			all[what] = protoreflect.ValueOfString(text)
		}
	case protoreflect.BoolKind:
		all["not"] = protoreflect.ValueOfBool(false)
	case protoreflect.Uint32Kind:
		for _, n := range []uint32{0, 1, 1000, 1001, 65_535, 65_536, 1 << 31, 1<<32 - 1} {
			all[fmt.Sprint(n)] = protoreflect.ValueOfUint32(n)
		}
	case protoreflect.Uint64Kind:
		for _, n := range []uint64{0, 1, 1 << 32, 1 << 63, 1<<64 - 1} {
			all[fmt.Sprint(n)] = protoreflect.ValueOfUint64(n)
		}
	case protoreflect.Int64Kind:
		for _, n := range []int64{-1 << 63, -1, 0, 1, 1 << 32, 315_576_000_000, 315_576_000_001, 1<<63 - 1} {
			all[fmt.Sprint(n)] = protoreflect.ValueOfInt64(n)
		}
	case protoreflect.Int32Kind:
		for _, n := range []int32{-1 << 31, -1, 0, 1, 1<<31 - 1} {
			all[fmt.Sprint(n)] = protoreflect.ValueOfInt32(n)
		}
	case protoreflect.EnumKind:
		for _, n := range []protoreflect.EnumNumber{-1, 0, 1, 2, 3, 4, 99} {
			all[fmt.Sprint(n)] = protoreflect.ValueOfEnum(n)
		}
	default:
		panic(fmt.Sprintf("no hostile values are known for the kind %v", kind))
	}
	return all
}

// Texts are what stands in each place of a text, by what it is. All are UTF-8: the codecs refuse what is not.
func Texts() map[string]string {
	texts := map[string]string{
		"empty": "", "a blank": " ", "a slash": "a/b", "control characters": "a\x00\r\n\x7f", "a line separator": "a\u2028b", "a letter beyond ASCII": "ä",
		"the cluster's check": "liveness", "Consul's check": "serfHealth", "maintenance": "_maintenance", "maintenance of a service": "_maintenance:s",
		"a URL of a file": "file:///etc/passwd", "an address without a port": "127.0.0.1", "a port too high": "127.0.0.1:65536",
		"a UUID": "00000000-0000-4000-8000-00000000000a", "a reference": "${match(1)}", "not a regular expression": "(",
	}
	for _, n := range []int{242, 243, 255, 256, 512, 513, 4096, 4097, 8192, 8193, 16_384, 100_000} {
		texts[fmt.Sprintf("%d bytes", n)] = strings.Repeat("x", n)
	}
	texts["a URL of 4 096 bytes"] = "http://h/" + strings.Repeat("x", 4096-9)
	texts["a long address"] = strings.Repeat("h", 4000) + ":1"
	return texts
}

// Unset returns the fields of the messages, and of all messages in them, that none of them sets, by their full names. All kinds of a choice
// must be there.
func Unset(messages ...proto.Message) []string {
	seen := map[protoreflect.FullName]bool{}
	var known []protoreflect.FullName
	var visit func(m protoreflect.Message)
	visit = func(m protoreflect.Message) {
		for i := range m.Descriptor().Fields().Len() {
			f := m.Descriptor().Fields().Get(i)
			if _, is := seen[f.FullName()]; !is {
				seen[f.FullName()] = false
				known = append(known, f.FullName())
			}
			if !m.Has(f) {
				continue
			}
			seen[f.FullName()] = true
			switch {
			case f.IsMap() || f.Kind() != protoreflect.MessageKind:
			case f.IsList():
				for j := range m.Get(f).List().Len() {
					visit(m.Get(f).List().Get(j).Message())
				}
			default:
				visit(m.Get(f).Message())
			}
		}
	}
	for _, m := range messages {
		visit(m.ProtoReflect())
	}
	var unset []string
	for _, name := range known {
		if !seen[name] {
			unset = append(unset, string(name))
		}
	}
	return unset
}
