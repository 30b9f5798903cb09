// Package identity reads who calls from what came with a call: the text of a token, or a verified client certificate.
//
// It promises that a credential that is there and wrong never makes its caller anonymous, and that the text of a token goes no
// further than this package: what it returns is its hash, and of a JSON Web Token also the text, which is verified elsewhere
// and does not print. A connection keeps the text that came last. It looks nothing up, and knows no rights.
package identity
