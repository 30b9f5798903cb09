// Uses the package consul of npm: node contend.js LIBRARY ADDRESS FOLDER tour|contend. As contend.py, with the library's own watch.
const assert = require("assert");
const fs = require("fs");
const path = require("path");

const [, , , address, folder, what] = process.argv;
const [host, port] = address.split(":");
const Consul = require("consul");
const consul = new Consul({ host, port: Number(port) });
const key = "thirdparty/leader/npm";
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function tour() {
  assert(await consul.kv.set({ key: "tour-npm/a", value: "one", flags: 7 }));
  const row = await consul.kv.get("tour-npm/a");
  assert.strictEqual(row.Value, "one");
  assert.strictEqual(row.Flags, 7);
  assert.strictEqual(await consul.kv.set({ key: "tour-npm/a", value: "two", cas: row.ModifyIndex }), true);
  // The library makes undefined of false.
  assert.strictEqual(await consul.kv.set({ key: "tour-npm/a", value: "three", cas: row.ModifyIndex }), undefined);
  assert.deepStrictEqual(await consul.kv.keys("tour-npm/"), ["tour-npm/a"]);
  assert.strictEqual(await consul.kv.get("tour-npm/none"), undefined);
  // The watch shows each value that it finds, and the one after.
  const seen = [];
  const watch = consul.watch({ method: consul.kv.get, options: { key: "tour-npm/a" } });
  await new Promise((done, failed) => {
    watch.on("error", failed);
    watch.on("change", async (found) => {
      seen.push(found.Value);
      if (seen.length === 1) await consul.kv.set("tour-npm/a", "changed");
      else done();
    });
  });
  watch.end();
  assert.deepStrictEqual(seen, ["two", "changed"]);
  const { ID: one } = await consul.session.create({ name: "one", ttl: "10s", behavior: "delete" });
  const info = await consul.session.info(one);
  assert.strictEqual(info.Name, "one");
  assert((await consul.session.list()).some((s) => s.ID === one));
  assert((await consul.session.node(info.Node)).some((s) => s.ID === one));
  assert(await consul.kv.set({ key: "tour-npm/lock", value: "", acquire: one }));
  await consul.session.renew(one);
  await consul.session.destroy(one);
  assert.strictEqual(await consul.kv.get("tour-npm/lock"), undefined);
  const results = await consul.transaction.create([{ KV: { Verb: "set", Key: "tour-npm/txn", Value: Buffer.from("x").toString("base64") } }]);
  assert.strictEqual(results.Results.length, 1);
  await consul.kv.del({ key: "tour-npm/", recurse: true });
  assert(await consul.status.leader());
  assert.deepStrictEqual(await consul.catalog.datacenters(), ["dc1"]);
  console.log("toured");
}

async function contend() {
  let session = null;
  for (;;) {
    try {
      if (!session) session = (await consul.session.create({ ttl: "10s", lockdelay: "1s" })).ID;
      await consul.session.renew(session);
      if (!(await consul.kv.set({ key, value: "here", acquire: session }))) {
        let index = 0;
        for (let found = await consul.kv.get(key); found && found.Session; found = await consul.kv.get({ key, index, wait: "2s" })) index = found.ModifyIndex;
        continue;
      }
      const place = path.join(folder, "0");
      try {
        fs.mkdirSync(place);
      } catch (failure) {
        console.log("two are in");
        process.exit(1);
      }
      await sleep(20);
      fs.rmdirSync(place);
      if (!(await consul.kv.set({ key, value: "gone", release: session }))) session = null; // It was lost, and so was the session.
      console.log("in");
      await sleep(50);
    } catch (failure) {
      console.log("failed: " + String(failure).slice(0, 200));
      if (/not found|invalid session/.test(String(failure))) session = null;
      await sleep(300);
    }
  }
}

(what === "tour" ? tour() : contend()).catch((failure) => {
  console.log(failure.stack);
  process.exit(1);
});
