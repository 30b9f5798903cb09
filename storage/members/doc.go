// Package members changes and reads the members of a cluster, and the tokens with which others join it, in the rows of a store.
package members
