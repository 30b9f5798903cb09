package main

import "os"

// replaceFile writes a file whole or not at all, so that who waits for it never reads half of it.
func replaceFile(path string, text []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
