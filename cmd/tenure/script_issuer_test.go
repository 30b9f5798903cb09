package main

import (
	"net/http/httptest"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tenure-io/tenure/internal/issuer"
)

// issuerKey finds a script's provider of JSON Web Tokens.
type issuerKey struct{}

func scriptIssuer(ts *testscript.TestScript, _ bool, _ []string) {
	i, ok := ts.Value(issuerKey{}).(*issuer.Issuer)
	if !ok {
		ts.Fatalf("there is no issuer")
	}
	server := httptest.NewServer(i)
	ts.Defer(server.Close)
	i.At(server.URL)
	ts.Setenv("ISSUER", server.URL)
	ts.Check(os.WriteFile(ts.MkAbs("keys.json"), []byte(i.KeySet()), 0o600))
}

func scriptJWT(ts *testscript.TestScript, _ bool, args []string) {
	i, ok := ts.Value(issuerKey{}).(*issuer.Issuer)
	if !ok || len(args) != 3 {
		ts.Fatalf("usage: jwt FILE SUBJECT LIFE, after issuer")
	}
	life, err := time.ParseDuration(args[2])
	ts.Check(err)
	now := time.Now()
	text := i.Sign(map[string]any{"sub": args[1], "iat": now.Unix(), "exp": now.Add(life).Unix()})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text+"\n"), 0o600))
}
