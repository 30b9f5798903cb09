// Package backup writes the rows of a state to a file, and reads and checks such a file to its end.
//
// The format is the file's own: it depends neither on the database nor on the rows that a program of today knows how to order.
package backup
