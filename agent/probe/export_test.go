package probe

import "time"

// Patient returns a Prober that waits long for the output of a program that has ended.
func Patient() *Prober {
	p := New("tenure-test")
	p.exitWait = time.Hour
	return p
}
