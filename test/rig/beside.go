package rig

import (
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/tenure-io/tenure/internal/invariants"
)

// Beside has up to n tests that call t.Parallel run at once, however many processors there are: those of the package mostly wait, for
// elections and the like. It is called in TestMain. Who gives the flag -parallel decides, and so does the race detector, under which tests
// have more to compute.
func Beside(n int) {
	flag.Parse()
	given := invariants.Enabled
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
