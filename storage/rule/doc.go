// Package rule says which rule a command broke, and in which words: the failures that end up in a command's result, and their
// texts.
//
// An error of this package stands for a refused command and is a value of the state, the same on every member. Any other error
// means that the disk failed, or that the log holds what this program does not know.
package rule
