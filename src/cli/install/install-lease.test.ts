import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstallLease } from './install-lease.ts';

/** An API server that keeps one Lease, and a clock that only `sleep` turns. */
function cluster() {
  let stored: { metadata: { resourceVersion: string }; spec: { holderIdentity: string } } | undefined;
  let version = 0;
  let now = 0;
  const onSleep: (() => void)[] = [];
  const respond = (status: number) => ({ status, text: JSON.stringify(stored ?? {}) });
  const keep = (object: object) => {
    version += 1;
    stored = { ...JSON.parse(JSON.stringify(object)) };
    if (stored !== undefined) stored.metadata = { ...stored.metadata, resourceVersion: String(version) };
    return respond(200);
  };
  const ask = async (_path: string, asked: { method?: string; object?: object } = {}) => {
    const { method = 'GET', object = {} } = asked;
    const wanted = JSON.parse(JSON.stringify(object));
    if (method === 'GET') return respond(stored === undefined ? 404 : 200);
    if (method === 'POST') return stored === undefined ? keep(object) : respond(409);
    const present = stored?.metadata.resourceVersion;
    if (method === 'PUT') return wanted.metadata.resourceVersion === present ? keep(object) : respond(409);
    if (wanted.preconditions.resourceVersion !== present) return respond(409);
    stored = undefined;
    return { status: 200, text: '{}' };
  };
  const clock = {
    now: () => now,
    async sleep(milliseconds: number) {
      now += milliseconds;
      for (const each of onSleep) each();
    },
  };
  const said: string[] = [];
  return {
    lease: (node: string) =>
      new InstallLease({
        cluster: { ask },
        node,
        durationSeconds: 60,
        say: async (line) => void said.push(line),
        clock,
      }),
    holder: () => stored?.spec.holderIdentity.split('_')[0],
    pass(milliseconds: number) {
      now += milliseconds;
    },
    onSleep,
    said,
  };
}

test('while one node renews it, no other takes it, and its end lets the next one in', async () => {
  const { lease, holder, onSleep, said } = cluster();
  const a = lease('10.0.0.1');
  await a.acquire();
  const renewals: Promise<void>[] = [];
  onSleep.push(() => void renewals.push(a.renew()));
  const b = lease('10.0.0.2');
  await assert.rejects(
    b.acquire(),
    /^InstallationRefused: node 10\.0\.0\.1 holds Lease .*: install or undo one/,
  );
  assert.match(said[0] ?? '', /waiting until it renews it, or has not for 60 s$/);
  await Promise.all(renewals);
  onSleep.length = 0;
  await a.release();
  assert.equal(holder(), undefined);
  await b.acquire();
  assert.equal(holder(), '10.0.0.2');
  await b.release();
});

test('one that is not renewed is taken over once this machine has watched it for its duration', async () => {
  const { lease, holder } = cluster();
  const a = lease('10.0.0.1');
  await a.acquire();
  const b = lease('10.0.0.2');
  await b.acquire();
  assert.equal(holder(), '10.0.0.2');
  await a.renew();
  assert.throws(() => a.requireHeld(), /was lost: another node may be at work/);
  await a.release();
  assert.equal(holder(), '10.0.0.2', 'whoever does not hold it deletes nothing');
  b.requireHeld();
  await b.release();
});

test('a run of the same node that was cut off is followed at once, and the one before deletes nothing', async () => {
  const { lease, holder, said } = cluster();
  const first = lease('10.0.0.1');
  await first.acquire();
  const second = lease('10.0.0.1');
  await second.acquire();
  assert.deepEqual(said, []);
  await first.release();
  assert.equal(holder(), '10.0.0.1');
  await second.release();
  assert.equal(holder(), undefined);
});

test('one that could not be renewed for its duration counts as lost', async () => {
  const { lease, pass } = cluster();
  const a = lease('10.0.0.1');
  await a.acquire();
  a.requireHeld();
  pass(60_001);
  assert.throws(() => a.requireHeld(), /was lost/);
  await a.release();
});
