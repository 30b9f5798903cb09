// Package descriptor holds the public API's descriptors with their comments, for the reflection service: what the
// generated Go code carries has none. `make gen` writes tenure.binpb.
package descriptor

import (
	_ "embed"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed tenure.binpb
var image []byte

// Files finds descriptors: those of the public API with their comments, all others as the program has them.
type Files struct {
	api *protoregistry.Files
}

// Load returns the embedded descriptors. A process reads them once: all its members share them.
var Load = sync.OnceValues(load)

func load() (*Files, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(image, set); err != nil {
		return nil, fmt.Errorf("embedded descriptors: %w", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("embedded descriptors: %w", err)
	}
	return &Files{api: files}, nil
}

// FindFileByPath finds a file.
func (f *Files) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if file, err := f.api.FindFileByPath(path); err == nil {
		return file, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName finds anything that has a name.
func (f *Files) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := f.api.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
