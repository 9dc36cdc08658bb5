import assert from 'node:assert/strict';
import { CompactSign } from 'jose';
import type { StatusReason } from '../../../src/apimachinery/status.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { sealedMediaType } from '../../../src/snapshot/receiving/snapshot-endpoint.ts';
import { sealedSnapshotType } from '../../../src/snapshot/signing/open-sealed.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';
import { admin, user } from '../callers.ts';
import { clusterSnapshot } from '../cluster.ts';
import type { CaseGroup, WholeAnswer, World } from '../conformance-case.ts';
import { snapshotKey } from '../credentials.ts';
import { monitorToken } from '../peers.ts';
import { assertStatus } from '../status-answer.ts';

const snapshotPath = '/.mixed-version-proxy/v1/snapshot';
const stranger = signingKeyOf((await generateSigningKey('EdDSA')).privateJwk);

export const ownPaths: CaseGroup = {
  title: 'The router’s own paths',
  cases: [
    {
      id: 'own-paths/allowed-callers',
      rule: 'Snapshot, status and explain are for whom RBAC allows path and verb, asked in the caller’s own name; 403 for others',
      citation: 'k8s.io/apiserver pkg/server/options/authorization.go',
      async run(world) {
        for (const target of [
          snapshotPath,
          '/.mixed-version-proxy/v1/status',
          '/.mixed-version-proxy/v1/explain?url=/apis/batch/v1/jobs',
        ]) {
          const forged = ['X-Remote-User', 'admin', 'X-Remote-Group', 'system:masters'];
          assertStatus(await world.ask({ target, headers: forged }), 403, 'Forbidden');
          assertStatus(await world.ask({ target, headers: forged }, user('alice')), 403, 'Forbidden');
          const answer = await world.ask({ target }, admin);
          assert.equal(answer.status, 200, answer.body);
        }
        const monitor = ['Authorization', `Bearer ${monitorToken}`];
        const status = '/.mixed-version-proxy/v1/status';
        assert.equal((await world.ask({ target: status, headers: monitor })).status, 200);
        assertStatus(await world.ask({ target: snapshotPath, headers: monitor }), 403, 'Forbidden');
        for (const { requests } of world.cluster.all) assert.deepEqual(requests, []);
      },
    },
    {
      id: 'own-paths/disguised',
      rule: 'Other spellings of an own path are a 400 Status',
      citation: 'src/request/own-path-target.ts',
      async run(world) {
        for (const target of [
          '/%2emixed-version-proxy/v1/snapshot',
          '/.mixed-version-proxy%2Fv1/snapshot',
          '//.mixed-version-proxy/v1/snapshot',
          '/.mixed-version-proxy//v1/snapshot',
        ]) {
          assertStatus(await world.ask({ target }, admin), 400, 'BadRequest');
        }
        for (const { requests } of world.cluster.all) assert.deepEqual(requests, []);
      },
    },
    {
      id: 'own-paths/explain',
      rule: 'Explain gives the same decision everywhere',
      citation: 'design, Contracts',
      async run(world) {
        const url = encodeURIComponent('/apis/batch/v1/namespaces/default/jobs');
        const answer = await world.ask({ target: `/.mixed-version-proxy/v1/explain?url=${url}` }, admin);
        const { decision, reason } = JSON.parse(answer.body) as { decision: string; reason: string };
        assert.deepEqual({ decision, reason }, { decision: 'peer', reason: 'ServedByPeer' });
      },
    },
    {
      id: 'own-paths/push',
      rule: 'A signed snapshot of a higher generation is taken whole, and routed by at once',
      citation: 'design, The snapshot',
      async run(world) {
        const generation = (await heldGeneration(world)) + 1;
        const next = clusterSnapshot(world.cluster, { generation });
        const answer = await push(world, await sealSnapshot(next, snapshotKey));
        assert.equal(answer.status, 200, answer.body);
        assert.equal(await heldGeneration(world), generation);
      },
    },
    {
      id: 'own-paths/push-forged',
      rule: 'One that is unsigned, altered or signed with a key that is not pinned is a 401',
      citation: 'RFC 7515 section 5.2',
      async run(world) {
        const next = await nextSnapshot(world);
        const good = await sealSnapshot(next, snapshotKey);
        const [head = '', payload = '', signature = ''] = good.split(/[.\n]/);
        const none = Buffer.from(JSON.stringify({ alg: 'none', typ: sealedSnapshotType })).toString(
          'base64url',
        );
        await eachIsRefused(world, 401, 'Unauthorized', {
          'no signature at all': JSON.stringify(next),
          'alg none': `${none}.${payload}.`,
          'an altered payload': `${head}.${payload.slice(0, -4)}AAAA.${signature}`,
          'a key that is not pinned': await sealSnapshot(next, stranger),
          'another type of token': await sign(JSON.stringify(next), { typ: 'JWT' }),
        });
      },
    },
    {
      id: 'own-paths/push-older',
      rule: 'One whose generation does not rise is a 409',
      citation: 'design, The snapshot',
      async run(world) {
        const held = await heldGeneration(world);
        await eachIsRefused(world, 409, 'Conflict', {
          'an older generation': await sealSnapshot(
            clusterSnapshot(world.cluster, { generation: held - 1 }),
            snapshotKey,
          ),
          'the same generation with other content': await sealSnapshot(
            {
              ...clusterSnapshot(world.cluster, { generation: held }),
              customResourceGroups: [{ group: 'late.example.com', version: 'v1' }],
            },
            snapshotKey,
          ),
          'a generation that nothing could be above': await sealSnapshot(
            clusterSnapshot(world.cluster, { generation: Number.MAX_SAFE_INTEGER }),
            snapshotKey,
          ),
        });
      },
    },
    {
      id: 'own-paths/push-malformed',
      rule: 'One that breaks the schema is a 422 that names every fault by its path',
      citation: 'design, The snapshot',
      async run(world) {
        const next = await nextSnapshot(world);
        const servers = next.servers.map((server) => ({ ...server, serves: 'unknown' }));
        const faulty = { ...next, servers, surplus: true };
        const answer = await push(world, await sign(JSON.stringify(faulty)));
        const { details, message } = assertStatus(answer, 422, 'Invalid');
        const fields = details?.causes?.flatMap(({ reason, field }) =>
          reason === 'FieldValueInvalid' ? [field] : [],
        );
        assert.deepEqual(fields?.slice(0, 2), ['surplus', 'servers[0].serves'], answer.body);
        world.agree('422 for a schema fault', message);
        // The fault is said in the words of the runtime's own parser.
        assertStatus(await push(world, await sign('{')), 422, 'Invalid');
      },
    },
  ],
};

async function heldGeneration(world: World): Promise<number> {
  const answer = await world.ask({ target: snapshotPath }, admin);
  return (JSON.parse(answer.body) as Snapshot).metadata.generation;
}

async function nextSnapshot(world: World): Promise<Snapshot> {
  return clusterSnapshot(world.cluster, { generation: (await heldGeneration(world)) + 1 });
}

function push(world: World, body: string): Promise<WholeAnswer> {
  const headers = ['Content-Type', sealedMediaType];
  return world.ask({ target: snapshotPath, method: 'PUT', headers, body }, admin);
}

async function eachIsRefused(
  world: World,
  code: number,
  reason: StatusReason,
  pushes: Readonly<Record<string, string>>,
): Promise<void> {
  const before = await heldGeneration(world);
  for (const [what, body] of Object.entries(pushes)) {
    const { message } = assertStatus(await push(world, body), code, reason);
    world.agree(`${code} for a pushed snapshot: ${what}`, message);
    assert.equal(await heldGeneration(world), before, what);
  }
}

function sign(payload: string, header: object = {}): Promise<string> {
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: snapshotKey.alg, kid: snapshotKey.kid, typ: sealedSnapshotType, ...header })
    .sign(snapshotKey.privateKey);
}
