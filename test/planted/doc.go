// Package planted names deliberate mistakes in the product, with which the tests are tested: a simulator that does not
// find them would not find real ones either.
//
// The product contains none of them. Each is a patch in the folder patches, which adds a line such as
//
//	if planted.Is("no-lock-delay") {
//
// The program in the folder overlay applies all patches, in the order of their names, to copies of the files, and writes
// an overlay for the go command. A program built with this overlay has every mistake, of which at most one is active, for
// the whole process: Plant chooses it, or the variable TENURE_PLANTED when the process starts.
//
// A patch begins with what is wrong in plain words, then "Found by:" with the checkers that must notice it (any checker
// if the line is left out), or "Proof:" with the test of test/proof that must fail if the simulator does not hunt it.
// Where the mistake is to leave out a rule about how fresh rights are, "Freshness:" names a package and its test that must fail; the simulator hunts
// it only if it says "Found by:" as well.
package planted
