package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// profileCPU saves where the member spends its CPU time for the next d.
func (s *server) profileCPU(ctx context.Context, dir, name string, d time.Duration) error {
	return s.saveProfile(ctx, fmt.Sprintf("profile?seconds=%d", max(1, int(d.Seconds()))), dir, name+".cpu.pb.gz")
}

// profileHeap saves what the member's heap holds after a collection.
func (s *server) profileHeap(ctx context.Context, dir, name string) error {
	return s.saveProfile(ctx, "heap?gc=1", dir, name+".heap.pb.gz")
}

// collectGarbage makes the member collect its garbage, which it does before it tells what its heap holds.
func (s *server) collectGarbage(ctx context.Context) error {
	return s.getProfile(ctx, "heap?gc=1", io.Discard)
}

func (s *server) saveProfile(ctx context.Context, what, dir, name string) (err error) {
	if err = os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return s.getProfile(ctx, what, file)
}

func (s *server) getProfile(ctx context.Context, what string, to io.Writer) error {
	if s.addresses.Debug == "" {
		return errors.New("the member serves no profiles")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addresses.Debug+"/debug/pprof/"+what, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile %s: %s", what, response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}
