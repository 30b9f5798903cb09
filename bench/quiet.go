package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	tenurev1 "github.com/tenure-io/tenure/gen/go/tenure/v1"
)

const (
	// quietCommand makes the program the quiet client, until it is asked to end.
	quietCommand = "quiet-client"
	// quietPutEvery is the pause between its puts.
	quietPutEvery = 5 * time.Millisecond
	quietKeys     = 1_000
)

// quiet is a client in a process of its own, so that it waits for nothing but the members.
type quiet struct {
	*process
	path string // The file with its latencies, at the end.
}

func (f *fleet) startQuiet(ctx context.Context) (*quiet, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	q := &quiet{path: filepath.Join(f.dir, "quiet.json")}
	if q.process, err = startProcess(ctx, os.Stderr, program, quietCommand, f.leader.addresses.GRPC, q.path); err != nil {
		return nil, err
	}
	return q, nil
}

// quietPut is one of its puts.
type quietPut struct {
	Began time.Time     `json:"began"`
	Took  time.Duration `json:"took"`
}

// percentileOf returns a percentile of the latencies of those puts that are wanted, in microseconds.
func percentileOf(puts []quietPut, p float64, wanted func(quietPut) bool) float64 {
	var latencies []time.Duration
	for _, put := range puts {
		if wanted(put) {
			latencies = append(latencies, put.Took)
		}
	}
	slices.Sort(latencies)
	return micros(percentile(latencies, p))
}

// end ends the client, and returns its puts.
func (q *quiet) end() (puts []quietPut, err error) {
	if err = q.stop(); err != nil {
		return nil, fmt.Errorf("the quiet client: %w", err)
	}
	text, err := os.ReadFile(q.path)
	if err == nil {
		err = json.Unmarshal(text, &puts)
	}
	return puts, err
}

// putQuietly puts with pauses until ctx ends, and writes the latencies to a file.
func putQuietly(ctx context.Context, address, path string) (err error) {
	conns, err := dialAll(address, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conns.close()) }()
	value := randomValue(256)
	var puts []quietPut
	for i := 0; ; i++ {
		began := time.Now()
		_, err = tenurev1.NewKVServiceClient(conns.of(0)).Put(context.WithoutCancel(ctx), &tenurev1.PutRequest{
			Key: fmt.Sprintf("bench/quiet/%d", i%quietKeys), Content: &tenurev1.PutRequest_Value{Value: value},
		})
		if err != nil {
			return err
		}
		puts = append(puts, quietPut{Began: began, Took: time.Since(began)})
		if pause(ctx, quietPutEvery) != nil {
			break
		}
	}
	text, err := json.Marshal(puts)
	if err != nil {
		return err
	}
	return replaceFile(path, text)
}
