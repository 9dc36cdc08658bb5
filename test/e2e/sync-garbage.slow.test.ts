import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { JWK } from 'jose';
import { signingKeyFile } from '../../src/cli/commands/keygen.ts';
import { syncOnce } from '../../src/sync/node/index.ts';
import { htmlPage, hugeDocument, jsonText } from '../support/garbage-answers.ts';
import { type RecordedRouters, startRecordedRouters } from '../support/recorded-routers.ts';
import type { ReplayAnswer } from '../support/replay-server.ts';

/** What server b answers instead of discovery, in whatever form it is asked. */
const garbage: Readonly<Record<string, ReplayAnswer>> = {
  'an HTML page': htmlPage,
  'an HTML page that says it is JSON': jsonText('<html></html>'),
  'JSON that breaks off': jsonText('{"kind":"APIGroupList","groups":[{"na'),
  'no group at all': jsonText('{"kind":"APIGroupList","apiVersion":"v1","groups":"none"}'),
  'a document of 200 MB': hugeDocument,
};

describe('the sync job over TLS, a server answers /apis with garbage', () => {
  let running: RecordedRouters;
  let round: () => ReturnType<typeof syncOnce>;
  before(async () => {
    running = await startRecordedRouters('kubernetes-1.25-1.26');
    const { clusterCa, sync } = running.certificates;
    const read = (file: string) => readFile(file, 'utf8');
    const options = {
      servers: Object.values(running.servers).map(({ id, url }) => ({ id, url })),
      stateFile: join(running.home, 'state'),
      files: [{ file: join(running.home, 'snapshot.json'), unsigned: true }],
      certificateAuthorities: await read(clusterCa),
      clientCertificate: { certificate: await read(sync.certificate), key: await read(sync.privateKey) },
      signingKey: JSON.parse(await read(join(running.home, 'keys', signingKeyFile))) as JWK,
    };
    round = () => syncOnce(options, new AbortController().signal);
  });
  after(() => running.stop());

  for (const [what, answer] of Object.entries(garbage)) {
    test(`${what}: the others are taken, and of it what was last known, marked stale and named`, async () => {
      const { b } = running.servers;
      b.answers.delete('/apis');
      const good = (await round()).snapshot;
      assert.ok(good);
      b.answers.set('/apis', answer);
      const { snapshot, warnings } = await round();
      assert.ok(snapshot);
      const [before, now] = [good, snapshot].map(({ servers }) => servers.find(({ id }) => id === 'b'));
      assert.equal(now?.serves, before?.serves);
      assert.equal(now?.stale, true);
      assert.equal(snapshot.servers.find(({ id }) => id === 'a')?.stale, undefined);
      assert.deepEqual(Object.keys(snapshot.servedSets).sort(), Object.keys(good.servedSets).sort());
      assert.ok(
        warnings.some((warning) =>
          warning.startsWith('server b cannot be read, so its last known resources are used'),
        ),
      );
    });
  }
});
