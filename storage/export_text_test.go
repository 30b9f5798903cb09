package storage

import (
	storev1 "github.com/tenure-io/tenure/gen/go/tenure/store/v1"
	"github.com/tenure-io/tenure/storage/rule"
)

// HasText says whether there is a text for a detail.
func HasText(d storev1.FailureDetail) bool { return rule.Texts[d] != "" }

// RewordAll words all texts of failures otherwise, until the function that it returns is called.
func RewordAll() (undo func()) {
	was := rule.Reworded
	rule.Reworded = map[storev1.FailureDetail]string{}
	before := rule.Texts
	rule.Texts = map[storev1.FailureDetail]string{}
	for d, text := range before {
		rule.Texts[d] = "in other words: " + text
	}
	return func() { rule.Texts, rule.Reworded = before, was }
}

// FirstWords shows all failures in the texts of version 1, until the function that it returns is called.
func FirstWords() (undo func()) {
	was := rule.Reworded
	rule.Reworded = map[storev1.FailureDetail]string{}
	return func() { rule.Reworded = was }
}

// Rewordings returns the texts of version 1 and those that replace them.
func Rewordings() (was, now map[storev1.FailureDetail]string) { return rule.Texts, rule.Reworded }
