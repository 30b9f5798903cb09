package reply

import (
	"bytes"
	"encoding/json"
	"io"
)

// arrayPartBytes is how much of an array is gathered before it is written.
const arrayPartBytes = 256 << 10

// Array writes a JSON array an element at a time.
type Array struct {
	To     io.Writer
	Pretty bool
	part   bytes.Buffer
	begun  bool
}

// Add adds an element.
func (w *Array) Add(element any) error {
	switch {
	case !w.begun:
		w.part.WriteByte('[')
	default:
		w.part.WriteByte(',')
	}
	w.begun = true
	var text []byte
	var err error
	if w.Pretty {
		w.part.WriteString("\n" + indent)
		text, err = json.MarshalIndent(element, indent, indent)
	} else {
		text, err = json.Marshal(element)
	}
	if err != nil {
		return err
	}
	w.part.Write(text)
	if w.part.Len() < arrayPartBytes {
		return nil
	}
	return w.flush()
}

// flush writes what was gathered.
func (w *Array) flush() error {
	_, err := w.To.Write(w.part.Bytes())
	w.part.Reset()
	return err
}

// Close ends the array.
func (w *Array) Close() error {
	if !w.begun {
		w.part.WriteByte('[')
	} else if w.Pretty {
		w.part.WriteByte('\n')
	}
	w.part.WriteByte(']')
	if w.Pretty {
		w.part.WriteByte('\n')
	}
	return w.flush()
}
