package gate

import "testing"

func TestDescriptorsAreKeptForTheStore(t *testing.T) {
	for files, want := range map[uint64]int{
		0: connectionsMaxDefault, 200: 100, 1024: 512, 20_000: 20_000 - storeFiles, 1 << 30: connectionsMaxDefault,
	} {
		if got := ConnectionsFor(files); got != want {
			t.Errorf("of %d descriptors %d are for connections, want %d", files, got, want)
		}
	}
}
