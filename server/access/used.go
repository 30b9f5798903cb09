package access

import "github.com/tenure-io/tenure/storage"

// usedMax is how many tokens are noted as used between two looks: as many as there can be.
const usedMax = storage.TokensMax

// Accessor is the id of a token.
type Accessor [16]byte

// use notes that a call of the caller was served. It takes no lock and reads no clock.
func (w *Who) use() {
	if w != nil && !w.used.Load() { // A load leaves the line of memory with all who read it.
		w.used.Store(true)
	}
}

// noteUsed notes which tokens the callers that are remembered have used. The caller holds mu.
func (c *cache) noteUsed() {
	for _, who := range c.known {
		c.noteUse(who)
	}
}

// noteUse notes whether a caller has used its token. The caller holds mu.
func (c *cache) noteUse(who *Who) {
	if len(who.Accessor) > 0 && who.used.Swap(false) {
		c.add(Accessor(who.Accessor))
	}
}

// add notes that a token was used. The caller holds mu.
func (c *cache) add(accessor Accessor) {
	if c.used == nil {
		c.used = map[Accessor]struct{}{}
	}
	if len(c.used) < usedMax {
		c.used[accessor] = struct{}{}
	}
}

// Used returns the tokens with which calls were served here since it was called last, and those of the streams that are open. A use at the
// very moment at which its caller is forgotten may be missing.
func (a *Authority) Used() map[Accessor]struct{} {
	streams := a.open()
	c := &a.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteUsed()
	for _, s := range streams {
		if g := s.grant.Load(); g != nil && g.Who() != nil && len(g.Who().Accessor) > 0 {
			c.add(Accessor(g.Who().Accessor))
		}
	}
	used := c.used
	c.used = nil
	return used
}
