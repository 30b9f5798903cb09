package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kinds of mutants.
const (
	kindOperator  = "operator"
	kindCondition = "condition"
	kindNumber    = "number"
	kindLeftOut   = "left out"
)

var kinds = []string{kindOperator, kindCondition, kindNumber, kindLeftOut}

// swapped says what an operator becomes.
var swapped = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
}

// mutant replaces some bytes of a file.
type mutant struct {
	Kind, File string
	Function   string // with its receiver
	Nth        int    // how many before it in the function are alike
	Line       int
	from, to   int // offsets in the file
	text       string
	was        string
}

// String names the place and the change.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s -> %s", m.File, m.Line, m.Kind, strconv.Quote(m.was), strconv.Quote(m.text))
}

// name names the mutant by what does not change when lines are added before it, or elsewhere.
func (m mutant) name() string {
	return fmt.Sprintf("%s %s: %s: %s -> %s #%d", m.File, m.Function, m.Kind, strconv.Quote(m.was), strconv.Quote(m.text), m.Nth+1)
}

// lot is a number drawn for the mutant: the same for the same seed, whatever else there is to change.
func (m mutant) lot(seed uint64) uint64 {
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), m.name()...))
	return binary.BigEndian.Uint64(sum[:])
}

// overlay writes the changed file, and the JSON that puts it in the place of the original.
func (m mutant) overlay() (name string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	source, err := os.ReadFile(m.File)
	if err != nil {
		return "", remove, err
	}
	changed := slices.Concat(source[:m.from], []byte(m.text), source[m.to:])
	file := filepath.Join(dir, filepath.Base(m.File))
	if err = os.WriteFile(file, changed, 0o600); err != nil {
		return "", remove, err
	}
	at, err := filepath.Abs(m.File)
	if err != nil {
		return "", remove, err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {at: file}})
	if err != nil {
		return "", remove, err
	}
	name = filepath.Join(dir, "overlay.json")
	return name, remove, os.WriteFile(name, text, 0o600)
}

// sites returns every mutant of some folders, in the order of files and offsets.
func sites(rooms []string) ([]mutant, error) {
	var all []mutant
	for _, room := range rooms {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			found, err := sitesOf(path)
			all = append(all, found...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// finder collects the mutants of one file.
type finder struct {
	file   string
	source []byte
	set    *token.FileSet
	found  []mutant

	function string         // the one that is looked at
	alike    map[string]int // mutants of it by their names
}

func sitesOf(path string) ([]mutant, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &finder{file: path, source: source, set: token.NewFileSet()}
	tree, err := parser.ParseFile(f.set, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil {
			f.function, f.alike = function.Name.Name, map[string]int{}
			if function.Recv != nil {
				f.function = "(" + f.text(function.Recv.List[0].Type) + ")." + f.function
			}
			ast.Inspect(function.Body, f.visit)
		}
	}
	return f.found, nil
}

func (f *finder) add(kind string, from, to token.Pos, text string) {
	a, b := f.set.Position(from), f.set.Position(to)
	m := mutant{
		Kind: kind, File: f.file, Function: f.function, Line: a.Line, from: a.Offset, to: b.Offset, text: text, was: string(f.source[a.Offset:b.Offset]),
	}
	alike := m.name()
	m.Nth = f.alike[alike]
	f.alike[alike]++
	f.found = append(f.found, m)
}

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.IfStmt:
		f.add(kindCondition, n.Cond.Pos(), n.Cond.End(), "!("+f.text(n.Cond)+")")
	case *ast.ForStmt:
		return true
	case *ast.CallExpr:
		f.call(n)
	case *ast.BlockStmt:
		f.locks(n)
	}
	return true
}

// binary swaps an operator, and moves a number that is compared or added by one.
func (f *finder) binary(n *ast.BinaryExpr) {
	to, ok := swapped[n.Op]
	if !ok {
		return
	}
	if text, ok := n.X.(*ast.BasicLit); !ok || text.Kind != token.STRING {
		f.add(kindOperator, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String())
	}
	if lit, ok := n.Y.(*ast.BasicLit); ok && lit.Kind == token.INT {
		if value, err := strconv.ParseInt(lit.Value, 0, 64); err == nil {
			f.add(kindNumber, lit.Pos(), lit.End(), strconv.FormatInt(value+1, 10))
		}
	}
}

// call leaves out a sync whose error is looked at.
func (f *finder) call(n *ast.CallExpr) {
	method, ok := n.Fun.(*ast.SelectorExpr)
	if ok && len(n.Args) == 0 && slices.Contains([]string{"Sync", "Flush", "SyncData"}, method.Sel.Name) {
		f.add(kindLeftOut, n.Pos(), n.End(), "error(nil)")
	}
}

// locks leaves out both halves of a lock: the statement that takes it, and the one right behind it that defers giving it back.
func (f *finder) locks(n *ast.BlockStmt) {
	for i := 0; i+1 < len(n.List); i++ {
		taken, ok := n.List[i].(*ast.ExprStmt)
		if !ok || !strings.HasSuffix(f.text(taken), "Lock()") {
			continue
		}
		if back, ok := n.List[i+1].(*ast.DeferStmt); ok && strings.HasSuffix(f.text(back), "Unlock()") {
			f.add(kindLeftOut, taken.Pos(), back.End(), "")
		}
	}
}
