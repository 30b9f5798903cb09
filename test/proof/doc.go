// Package proof holds tests that prove the promises of Tenure against real members: who is granted in which order, that a
// change is made once however often it is sent, that a lost lock guards nothing, and that a watch gets exactly its part
// of the history.
//
// The tests kill members with SIGKILL and start them again. Each has a short form, which `make test` runs, and a long form
// with TENURE_SOAK=1. Each asserts floors on what it did, so nothing passes by doing nothing.
package proof
