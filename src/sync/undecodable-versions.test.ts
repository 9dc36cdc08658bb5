import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { storageVersionHash } from '../apimachinery/storage-version-hash.ts';
import { type StoringServer, undecodableVersions } from './storage-versions.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const name = `${group}.flowschemas`;

/** A server that serves FlowSchemas at these versions, and stores them at one. */
async function server(
  id: string,
  version: string,
  serves: string[],
  storedAt: string,
): Promise<StoringServer> {
  const resources = [{ resource: 'flowschemas', responseKind: { group, version: '', kind: 'FlowSchema' } }];
  return {
    id,
    version,
    set: {
      storageVersions: { [name]: serves },
      storageVersionHashes: { [name]: await storageVersionHash(group, storedAt, 'FlowSchema') },
      discovery: [
        { metadata: { name: group }, versions: serves.map((served) => ({ version: served, resources })) },
      ],
    },
  };
}

// As kube-apiserver has them: flowcontrol v1 came with 1.29, v1beta3 went with 1.32.
const v128 = await server('a', 'v1.28.9', ['v1beta2', 'v1beta3'], 'v1beta3');
const v129 = await server('b', 'v1.29.4', ['v1', 'v1beta3'], 'v1beta3');
const v131 = await server('c', 'v1.31.0', ['v1', 'v1beta3'], 'v1');
const v132 = await server('d', 'v1.32.0', ['v1'], 'v1');
const none = new Set<string>();

const found = async (...servers: StoringServer[]) =>
  Object.fromEntries(await undecodableVersions(servers, new Map(), none));

describe('versions that a server cannot decode', () => {
  test('an older server that does not serve the version', async () => {
    assert.deepEqual(await found(v128, v131), { a: { [name]: [`${group}/v1`] } });
  });

  test('not an older server that serves it', async () => {
    assert.deepEqual(await found(v129, v131), {});
  });

  test('a newer server decodes what older releases stored, though it no longer serves it', async () => {
    assert.deepEqual(await found(v129, v132), {});
  });

  test('servers of one version decode everything of each other', async () => {
    assert.deepEqual(await found(v128, { ...v128, id: 'e' }), {});
  });

  test('StorageVersions decide, whatever the server serves', async () => {
    const decodable = new Map([['a', new Map([[name, [`${group}/v1beta3`, `${group}/v1`]]])]]);
    assert.equal((await undecodableVersions([v128, v131], decodable, none)).size, 0);
  });

  test('a server whose StorageVersions do not name it cannot, be it newer', async () => {
    const decodable = new Map([['d', new Map([[name, [`${group}/v1`]]])]]);
    assert.deepEqual(Object.fromEntries(await undecodableVersions([v129, v132], decodable, none)), {
      d: { [name]: [`${group}/v1beta3`] },
    });
  });

  test('custom resources and resources of extension API servers do not count', async () => {
    assert.equal((await undecodableVersions([v128, v131], new Map(), new Set([`${group}/v1`]))).size, 0);
  });

  test('a hash of no served version does not count', async () => {
    const unexplained = { ...v131, set: { ...v131.set, storageVersionHashes: { [name]: 'AAAAAAAAAAA=' } } };
    assert.deepEqual(await found(v128, unexplained), {});
  });

  test('a resource can be stored under another group', async () => {
    // Events of events.k8s.io are stored as those of the legacy group, which all serve.
    const events = (id: string, version: string): StoringServer => ({
      id,
      version,
      set: {
        storageVersions: { 'core.events': ['v1'], 'events.k8s.io.events': ['v1'] },
        storageVersionHashes: { 'core.events': 'r2yiGXH7wu8=', 'events.k8s.io.events': 'r2yiGXH7wu8=' },
        discovery: [
          {
            metadata: { name: '' },
            versions: [
              { version: 'v1', resources: [{ resource: 'events', responseKind: { kind: 'Event' } }] },
            ],
          },
        ],
      },
    });
    const older = events('a', 'v1.28.0');
    const other = { ...older.set, storageVersionHashes: { 'core.events': 'AAAAAAAAAAA=' } };
    assert.deepEqual(await found({ ...older, set: other }, events('b', 'v1.31.0')), {});
  });
});
