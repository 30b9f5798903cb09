package descriptor_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/server/descriptor"
)

// TestEverythingIsDescribed fails when what reflection serves is not what the program speaks, or has no comment.
func TestEverythingIsDescribed(t *testing.T) {
	files, err := descriptor.Load()
	if err != nil {
		t.Fatal(err)
	}
	services, elements := 0, 0
	check := func(d protoreflect.Descriptor) {
		t.Helper()
		served, err := files.FindDescriptorByName(d.FullName())
		if err != nil {
			t.Errorf("%s is not served: %v; run make gen", d.FullName(), err)
			return
		}
		elements++
		if served.ParentFile().SourceLocations().ByDescriptor(served).LeadingComments == "" {
			t.Errorf("%s has no comment", d.FullName())
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("tenure.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			services++
			check(s)
			for j := range s.Methods().Len() {
				check(s.Methods().Get(j))
			}
		}
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			check(m)
			for j := range m.Fields().Len() {
				check(m.Fields().Get(j))
			}
		}
		for i := range f.Enums().Len() {
			check(f.Enums().Get(i))
		}
		return true
	})
	if services != 12 || elements < 300 {
		t.Errorf("looked at %d services and %d elements, want 12 and many", services, elements)
	}
}
