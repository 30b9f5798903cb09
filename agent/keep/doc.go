// Package keep is the directory of an agent: what must outlive it. That is the id of its node, the number of its starts,
// what calls registered, and the last state of every check. Each file is replaced whole: it is written beside, synced and
// renamed, and then its directory is synced. So after a crash each file is the one before or the one after. A file that
// is damaged all the same is refused, and named: an agent that forgot its checks would turn them critical.
package keep
