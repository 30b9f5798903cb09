// Package planted names deliberate mistakes in the product, with which the tests are tested: a simulator that does not
// find them would not find real ones either.
//
// They exist only in programs built with the tag planted. In every other build Is is the constant false, and the
// compiler leaves the mistakes out. In a tagged build one bug at most is active, for the whole process.
package planted
