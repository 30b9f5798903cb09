package storage

import storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"

// HasText says whether there is a text for a detail.
func HasText(d storev1.FailureDetail) bool { return texts[d] != "" }

// RewordAll words all texts of failures otherwise, until the function that it returns is called.
func RewordAll() (undo func()) {
	was := reworded
	reworded = map[storev1.FailureDetail]string{}
	before := texts
	texts = map[storev1.FailureDetail]string{}
	for d, text := range before {
		texts[d] = "in other words: " + text
	}
	return func() { texts, reworded = before, was }
}

// FirstWords shows all failures in the texts of version 1, until the function that it returns is called.
func FirstWords() (undo func()) {
	was := reworded
	reworded = map[storev1.FailureDetail]string{}
	return func() { reworded = was }
}

// Rewordings returns the texts of version 1 and those that replace them.
func Rewordings() (was, now map[storev1.FailureDetail]string) { return texts, reworded }
