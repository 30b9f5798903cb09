package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	tenure "github.com/tenure-io/tenure/clients/go"
)

// kv returns the keys of the client or session that a request is about.
func (c *call) kv() (*tenure.KV, error) {
	if s, err := get[*tenure.Session](c, c.On); err == nil {
		return s.KV(), nil
	}
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	return client.KV(), nil
}

func (c *call) writeOptions() ([]tenure.WriteOption, error) {
	var options []tenure.WriteOption
	if c.args.IfRevision != nil {
		options = append(options, tenure.IfRevision(*c.args.IfRevision))
	}
	if c.args.Flags != 0 {
		options = append(options, tenure.WithFlags(c.args.Flags))
	}
	if c.args.Bind {
		options = append(options, tenure.Ephemeral())
	}
	if c.args.Sequential {
		options = append(options, tenure.Sequential())
	}
	if c.args.Guard != "" {
		h, err := heldOf(c, c.args.Guard)
		if err != nil {
			return nil, err
		}
		options = append(options, tenure.WithHeld(h))
	}
	return options, nil
}

func keyValue(kv *tenure.KeyValue) value {
	return value{
		"key": kv.Key, "value": string(kv.Value), "revision": kv.ModRevision, "create_revision": kv.CreateRevision,
		"version": kv.Version, "lock_index": kv.LockIndex, "flags": kv.Flags, "session": kv.SessionID,
		"bound_session": kv.BoundSessionID,
	}
}

func getKey(ctx context.Context, c *call) (value, error) {
	kv, err := c.kv()
	if err != nil {
		return nil, err
	}
	got, err := kv.Get(ctx, c.args.Key)
	if err != nil {
		return nil, err
	}
	return keyValue(got), nil
}

func putKey(ctx context.Context, c *call) (value, error) {
	kv, err := c.kv()
	if err != nil {
		return nil, err
	}
	options, err := c.writeOptions()
	if err != nil {
		return nil, err
	}
	put, err := kv.Put(ctx, c.args.Key, c.args.value(), options...)
	if err != nil {
		return nil, err
	}
	return value{"key": put.Key, "revision": put.ModRevision}, nil
}

func deleteKey(ctx context.Context, c *call) (value, error) {
	kv, err := c.kv()
	if err != nil {
		return nil, err
	}
	options, err := c.writeOptions()
	if err != nil {
		return nil, err
	}
	deleted, err := kv.Delete(ctx, c.args.Key, options...)
	return value{"deleted": deleted}, err
}

func listKeys(ctx context.Context, c *call) (value, error) {
	kv, err := c.kv()
	if err != nil {
		return nil, err
	}
	list, err := kv.List(ctx, c.args.Prefix)
	if err != nil {
		return nil, err
	}
	return value{"kvs": keyValues(list)}, nil
}

func keyValues(list []*tenure.KeyValue) []value {
	kvs := []value{}
	for _, item := range list {
		kvs = append(kvs, keyValue(item))
	}
	return kvs
}

func deletePrefix(ctx context.Context, c *call) (value, error) {
	kv, err := c.kv()
	if err != nil {
		return nil, err
	}
	n, err := kv.DeletePrefix(ctx, c.args.Prefix)
	return value{"deleted": n}, err
}

func txn(ctx context.Context, c *call) (value, error) {
	kv, err := c.kv()
	if err != nil {
		return nil, err
	}
	options, err := c.writeOptions()
	if err != nil {
		return nil, err
	}
	t := tenure.Txn{Then: txnOps(c.args.Then), Else: txnOps(c.args.Otherwise)}
	for _, cmp := range c.args.Compares {
		switch {
		case cmp.Revision != nil:
			t.If = append(t.If, tenure.ModRevisionIs(cmp.Key, *cmp.Revision))
		case cmp.Version != nil:
			t.If = append(t.If, tenure.VersionIs(cmp.Key, *cmp.Version))
		case cmp.Value != nil:
			t.If = append(t.If, tenure.ValueIs(cmp.Key, []byte(*cmp.Value)))
		}
	}
	result, err := kv.Txn(ctx, t, options...)
	if err != nil {
		return nil, err
	}
	ran := c.args.Then
	if !result.Succeeded {
		ran = c.args.Otherwise
	}
	gets := []any{}
	for i, r := range result.Results {
		switch {
		case ran[i].Get == nil:
		case r.KV == nil:
			gets = append(gets, nil)
		default:
			gets = append(gets, value{"key": r.KV.Key, "value": string(r.KV.Value)})
		}
	}
	return value{"succeeded": result.Succeeded, "gets": gets}, nil
}

func txnOps(list []op) []tenure.Op {
	var ops []tenure.Op
	for _, o := range list {
		switch {
		case o.Put != nil:
			ops = append(ops, tenure.OpPut(o.Put.Key, []byte(o.Put.Value)))
		case o.Delete != nil:
			ops = append(ops, tenure.OpDelete(o.Delete.Key))
		case o.Get != nil:
			ops = append(ops, tenure.OpGet(o.Get.Key))
		}
	}
	return ops
}

// loop counts in a key.
func loop(ctx context.Context, c *call) (value, error) {
	s, err := get[*tenure.Session](c, c.On)
	if err != nil {
		return nil, err
	}
	for done := 0; done < c.args.Count; {
		counter, err := s.KV().Get(ctx, c.args.Key)
		if errors.Is(err, tenure.ErrKeyNotFound) {
			counter, err = &tenure.KeyValue{Value: []byte("0")}, nil
		}
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(string(counter.Value))
		if err != nil {
			return nil, protocol("%q is not a number", counter.Value)
		}
		_, err = s.KV().Put(ctx, c.args.Key, []byte(strconv.Itoa(n+1)), tenure.IfRevision(counter.ModRevision))
		if err != nil && !errors.Is(err, tenure.ErrCompareFailed) {
			return nil, err
		}
		if err == nil {
			done++
		}
	}
	return value{"done": c.args.Count}, nil
}

func openWatch(ctx context.Context, c *call) (value, error) {
	client, err := get[*tenure.Client](c, c.On)
	if err != nil {
		return nil, err
	}
	begun := make(chan struct{})
	failed := make(chan error, 1)
	options := []tenure.WatchOption{
		tenure.OnKeys(c.args.Keys...), tenure.OnLocks(c.args.Locks...), tenure.OnSessions(c.args.SessionIDs...),
		tenure.OnNodes(c.args.Nodes...), tenure.OnServices(c.args.Services...),
		tenure.OnStart(func(uint64) { close(begun) }),
	}
	for _, prefix := range c.args.Prefixes {
		options = append(options, tenure.OnPrefix(prefix))
	}
	if c.args.AllSessions {
		options = append(options, tenure.OnEverySession())
	}
	if c.args.AllQueries {
		options = append(options, tenure.OnEveryQuery())
	}
	if c.args.Initial {
		options = append(options, tenure.WithInitial())
	}
	if c.args.AfterRevision > 0 {
		options = append(options, tenure.AfterRevision(c.args.AfterRevision, ""))
	}
	if c.args.ResumeToken != "" {
		options = append(options, tenure.FromToken(c.args.ResumeToken))
	}
	c.background(func(ctx context.Context) {
		for e, err := range client.Watch(ctx, options...) {
			if err == nil {
				c.tellEvent(e)
				continue
			}
			kind := kindOf(err)
			if ctx.Err() != nil {
				kind = ""
			}
			failed <- err
			c.event("watch.ended", c.As, value{"kind": kind})
		}
	})
	select {
	case <-begun:
		return value{}, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tellEvent tells an event of a watch.
func (c *call) tellEvent(e *tenure.Event) {
	if e.Type == tenure.EventInitial {
		c.event("watch.initial", c.As, value{
			"kvs": keyValues(e.Initial), "items": items(e.InitialCatalog), "revision": e.Revision,
		})
	} else {
		name := strings.ToLower(strings.TrimPrefix(e.Message.GetType().String(), "EVENT_TYPE_"))
		v := value{"type": name, "key": e.Key, "revision": e.Revision, "index": e.Index}
		if e.KV != nil {
			v["value"] = string(e.KV.Value)
		}
		if e.SessionID != "" {
			v["session"] = e.SessionID
		}
		if found := items(catalogOf(e.Message)); len(found) > 0 {
			v["item"] = found[0]
		}
		if e.Type == tenure.EventCheckStatus {
			v["previous_status"] = status(e.Message.GetPreviousStatus())
		}
		if end := e.Message.GetSession().GetEnd(); end != nil {
			v["cause"] = strings.ToLower(strings.TrimPrefix(end.GetCause().String(), "SESSION_END_CAUSE_"))
		}
		c.event("watch.event", c.As, v)
	}
	if e.ResumeToken != "" {
		c.event("watch.token", c.As, value{"resume_token": e.ResumeToken})
	}
}
