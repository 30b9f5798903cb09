package cli

import (
	"github.com/spf13/pflag"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
	"github.com/tenure-io/tenure/sequencer"
)

// sequencerWanted says what the value of --if-held must be.
const sequencerWanted = "it must be a sequencer, as the command of `tenure lock` finds it in TENURE_LOCK_SEQUENCER"

// GuardFlag is the flag --if-held, with the sequencers whose locks a write demands to be held.
type GuardFlag struct {
	texts  []string
	guards []*tenurev1.Guard
}

// Add adds the flag to a command that does something, which verb names.
func (f *GuardFlag) Add(flags *pflag.FlagSet, verb string) {
	flags.StringArrayVar(&f.texts, "if-held", nil,
		verb+" only if the lock of this `sequencer`, as in TENURE_LOCK_SEQUENCER, is still held; repeatable, up to 16")
}

// Read reads the sequencers. Nothing is not a sequencer: an empty variable of a shell must not make a write one without guard.
func (f *GuardFlag) Read() error {
	f.guards = nil
	for _, text := range f.texts {
		if text == "" {
			return UsageError("--if-held must not be empty; %s", sequencerWanted)
		}
		held, err := sequencer.Parse(text)
		if err != nil {
			return UsageError("--if-held is %s; %s: %s", Quoted(text), sequencerWanted, Printable(err.Error()))
		}
		f.guards = append(f.guards, &tenurev1.Guard{Condition: &tenurev1.Guard_Held{Held: held}})
	}
	return nil
}

// Guard adds what was read to the options of a call, and returns them.
func (f *GuardFlag) Guard(options *tenurev1.CallOptions) *tenurev1.CallOptions {
	options.Guards = append(options.GetGuards(), f.guards...)
	return options
}
