package identity

import "testing"

// Each pair is what two members know of a member whose disk has lost something.
func TestOfTwoThingsToMendTheLaterOneStandsForBoth(t *testing.T) {
	for _, tc := range []struct{ one, other, want mend }{
		{mend{}, mend{}, mend{}},
		{mend{Index: 5, IndexTerm: 1, Term: 9}, mend{Index: 3, IndexTerm: 2, Term: 4}, mend{Index: 3, IndexTerm: 2, Term: 9}},
		{mend{Index: 5, IndexTerm: 2, Term: 2}, mend{Index: 7, IndexTerm: 2, Term: 3}, mend{Index: 7, IndexTerm: 2, Term: 3}},
		// A term that is not known says nothing.
		{mend{Index: 5, Term: 1}, mend{Index: 3, IndexTerm: 2, Term: 2}, mend{Index: 5, Term: 2}},
		{mend{Index: 5, IndexTerm: 4, Term: 4}, mend{Index: 6, Term: 1}, mend{Index: 6, Term: 4}},
	} {
		for _, got := range []mend{tc.one.and(tc.other), tc.other.and(tc.one)} {
			if got != tc.want {
				t.Errorf("%v and %v: got %v, want %v", tc.one, tc.other, got, tc.want)
			}
		}
	}
}
