// Overlay applies the patches of test/planted to copies of the product's files, and writes an overlay for the go command
// that puts the copies in the place of the files.
//
//	go run ./test/planted/overlay -out .build/planted
//	go build -overlay .build/planted/overlay.json -o tenure-planted ./cmd/tenure
//	TENURE_PLANTED=no-lock-delay ./tenure-planted serve --dev
//
// It has to be run in the root of the repository. A patch that does not apply any more is an error: what it changes has
// moved, and the mistake has to be made anew.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tenure-io/tenure/test/planted"
)

const (
	importPath = "github.com/tenure-io/tenure/test/planted"
	// enabled takes the place of test/planted/enabled.go.
	enabled = `package planted

import "os"

// Enabled reports whether this program was built with the overlay.
const Enabled = true

func init() { Plant(os.Getenv("TENURE_PLANTED")) }
`
)

func main() {
	out := flag.String("out", filepath.Join(".build", "planted"), "folder that gets the changed files and overlay.json; it is emptied first")
	flag.Parse()
	if err := write(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// write makes the overlay.
func write(ctx context.Context, out string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	// Git looks for a repository around the copies, and there must be none.
	work, err := os.MkdirTemp("", "planted")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	files, err := patch(ctx, root, work)
	if err != nil {
		return err
	}
	if err = os.RemoveAll(out); err != nil {
		return err
	}
	replace := map[string]string{}
	for _, file := range files {
		var code []byte
		if code, err = os.ReadFile(filepath.Join(work, file)); err != nil {
			return err
		}
		if replace[filepath.Join(root, file)], err = keep(out, file, imported(code)); err != nil {
			return err
		}
	}
	file := filepath.Join("test", "planted", "enabled.go")
	if replace[filepath.Join(root, file)], err = keep(out, file, []byte(enabled)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]map[string]string{"Replace": replace}, "", "  ")
	if err != nil {
		return err
	}
	_, err = keep(out, "overlay.json", text)
	return err
}

// patch applies all patches to copies below work, and returns the files that they change.
func patch(ctx context.Context, root, work string) (files []string, err error) {
	patches, err := fs.Glob(planted.Patches, "patches/*.patch")
	if err != nil {
		return nil, err
	}
	copied := map[string]bool{}
	for _, name := range patches {
		text, err := planted.Patches.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for _, file := range changed(string(text)) {
			if copied[file] {
				continue
			}
			copied[file] = true
			files = append(files, file)
			code, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if _, err = keep(work, file, code); err != nil {
				return nil, err
			}
		}
		apply := exec.CommandContext(ctx, "git", "apply", "--whitespace=nowarn", "-")
		apply.Dir, apply.Stdin = work, bytes.NewReader(text)
		apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(work))
		if said, err := apply.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s does not apply; make the mistake anew: %w\n%s", name, err, said)
		}
	}
	return files, nil
}

// changed returns the files that a patch changes.
func changed(patch string) (files []string) {
	for line := range strings.Lines(patch) {
		if file, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/"); ok {
			files = append(files, file)
		}
	}
	return files
}

// imported returns a file that imports package planted, if it uses it.
func imported(code []byte) []byte {
	if !bytes.Contains(code, []byte("planted.Is(")) {
		return code
	}
	at := bytes.Index(code, []byte("\npackage ")) + 1
	end := at + bytes.IndexByte(code[at:], '\n')
	return bytes.Join([][]byte{code[:end], []byte("\n\nimport \"" + importPath + "\"\n"), code[end:]}, nil)
}

// keep writes a file of the overlay and returns its absolute path.
func keep(dir, file string, data []byte) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, file))
	if err != nil {
		return "", err
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o600)
}
