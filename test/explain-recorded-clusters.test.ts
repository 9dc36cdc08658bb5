import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { snapshotFromFolder } from '../src/sync/node/index.ts';
import { runCommand } from './support/commands/command-context.ts';

const fixture = (path: string) => new URL(`./fixtures/${path}`, import.meta.url);
const read = (path: string) => readFileSync(fixture(path), 'utf8');

interface Recorded {
  readonly kubectl: string;
  readonly command: string;
  readonly requests: readonly { method: string; url: string; headers: Record<string, string> }[];
}
const requests = (JSON.parse(read('kubectl-requests.json')) as Recorded[]).flatMap((entry) => entry.requests);

interface Explained {
  readonly requestInfo: {
    isResourceRequest: boolean;
    apiGroup: string;
    apiVersion: string;
    resource: string;
    subresource: string;
  };
  readonly decision: string;
  readonly reason: string;
  readonly candidates: readonly { id: string }[];
}

/**
 * Resources that a recorded server serves, read off the recording by nothing but `JSON.parse`: `batch/v1/jobs`,
 * `v1/pods/log`. Lists whose file has another status in its name are not there, whatever `/apis` claims.
 */
function servedPaths(cluster: string, server: string): ReadonlySet<string> {
  const served = new Set<string>();
  const add = (groupVersion: string, file: string) => {
    const list = JSON.parse(read(`${cluster}/${server}/${file}`)) as { resources: { name: string }[] };
    for (const { name } of list.resources) served.add(`${groupVersion}/${name}`);
  };
  add('v1', 'api__v1.json');
  for (const file of readdirSync(fixture(`${cluster}/${server}/`))) {
    const [, group, version] = /^apis__([^_]+)__(v[^_.]+)\.json$/.exec(file) ?? [];
    if (group !== undefined) add(`${group}/${version}`, file);
  }
  return served;
}

/** True if the server's recorded OpenAPI v3 index lists exactly the document that is asked for. */
function holdsDocument(cluster: string, server: string, url: string): boolean {
  const { paths } = JSON.parse(read(`${cluster}/${server}/openapi__v3.json`)) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  const asked = url.replace(/&timeout=\w+/, '');
  return Object.values(paths).some(({ serverRelativeURL }) => serverRelativeURL === asked);
}

/** First match wins: local, then peer; what nobody serves is the local server's 404. */
function wayTo(servedHere: boolean, servedThere: boolean): 'local' | 'peer' {
  return !servedHere && servedThere ? 'peer' : 'local';
}

/** Requests whose way can be said by looking at the recordings, from the view of a and of b. */
const byHand: Readonly<Record<string, readonly (readonly [request: string, a: string, b: string])[]>> = {
  'kubernetes-1.25-1.26': [
    ['GET /apis/autoscaling/v2beta2/horizontalpodautoscalers', 'local', 'peer a'],
    ['GET /apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web', 'local', 'local'],
    [
      'PATCH /apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers/web/status',
      'local',
      'peer a',
    ],
    ['GET /apis/flowcontrol.apiserver.k8s.io/v1beta1/flowschemas?watch=1', 'local', 'peer a'],
    ['GET /apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas', 'local', 'local'],
    ['POST /apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas', 'peer b', 'local'],
    [
      'PUT /apis/flowcontrol.apiserver.k8s.io/v1beta3/prioritylevelconfigurations/x/status',
      'peer b',
      'local',
    ],
    ['GET /apis/flowcontrol.apiserver.k8s.io/v1beta3/nosuch', 'local', 'local'],
    ['GET /apis/batch/v1/namespaces/default/jobs', 'local', 'local'],
    ['GET /apis/batch/v1beta1/namespaces/default/cronjobs', 'local', 'local'],
    ['POST /api/v1/namespaces/default/pods/web/exec', 'local', 'local'],
    ['PATCH /api/v1/namespaces/default/pods/web/resize', 'local', 'local'],
    ['GET /apis/flowcontrol.apiserver.k8s.io/v1beta3', 'local', 'local'],
    ['GET /version', 'local', 'local'],
  ],
  'kubernetes-1.26-batch-disabled': [
    ['GET /apis/batch/v1/namespaces/default/jobs', 'peer b', 'local'],
    ['GET /apis/batch/v1/jobs?watch=true', 'peer b', 'local'],
    ['DELETE /apis/batch/v1/namespaces/default/jobs', 'peer b', 'local'],
    ['PATCH /apis/batch/v1/namespaces/default/cronjobs/backup/status', 'peer b', 'local'],
    ['GET /apis/batch/v1', 'local', 'local'],
    ['GET /api/v1/namespaces/default/pods', 'local', 'local'],
    ['GET /apis/apps/v1/deployments', 'local', 'local'],
  ],
};

for (const cluster of Object.keys(byHand)) {
  describe(`explain over the recorded cluster ${cluster}`, () => {
    let directory: string;
    const files = new Map<string, string>();
    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'explain-'));
      const file = join(directory, 'snapshot.json');
      const result = await snapshotFromFolder(fixture(cluster).pathname, {
        files: [{ file, unsigned: true }],
      });
      assert.equal(result.ok, true);
      files.set('snapshot.json', readFileSync(file, 'utf8'));
    });
    after(() => rm(directory, { recursive: true, force: true }));

    /** Through the command line, as an operator would: JSON lines in, JSON lines out. */
    async function explain(
      server: string,
      lines: readonly { method: string; url: string }[],
    ): Promise<Explained[]> {
      const { code, output, errors } = await runCommand(
        files,
        [
          'explain',
          '--stdin',
          '--snapshot',
          'snapshot.json',
          '--server-id',
          server,
          '--preferred-version=local',
        ],
        { input: lines.map((line) => `${JSON.stringify(line)}\n`) },
      );
      assert.equal(code, 0, errors);
      return output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Explained);
    }

    for (const [view, peer] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      test(`every request that kubectl sends goes where the recording says, seen from ${view}`, async () => {
        const servedHere = servedPaths(cluster, view);
        const servedThere = servedPaths(cluster, peer);
        const explained = await explain(view, requests);
        assert.equal(explained.length, requests.length);
        for (const [index, { requestInfo, decision, reason, candidates }] of explained.entries()) {
          const { method = '', url = '' } = requests[index] ?? {};
          const { apiGroup, apiVersion, resource, subresource } = requestInfo;
          const path = [apiGroup, apiVersion, resource, subresource].filter((part) => part !== '').join('/');
          const expected = requestInfo.isResourceRequest
            ? wayTo(servedHere.has(path), servedThere.has(path))
            : wayTo(true, false);
          // Which server holds the very document with this hash is said by the recorded indexes.
          if (url.startsWith('/openapi/v3/')) {
            const held = holdsDocument(cluster, view, url) || !holdsDocument(cluster, peer, url);
            assert.equal(decision, held ? 'local' : 'peer', `${method} ${url}: ${reason}`);
            continue;
          }
          // The document comes from a server of the newest version: from b, of 1.26, where a is of 1.25. Two servers of
          // 1.26 that serve different APIs are two versions, and a, which serves more, has the newer one.
          const isNewest = view === (cluster === 'kubernetes-1.25-1.26' ? 'b' : 'a');
          const way = url.startsWith('/openapi/v2') && !isNewest ? 'peer' : expected;
          assert.equal(decision, way, `${method} ${url}: ${reason}`);
          assert.deepEqual(
            candidates.map(({ id }) => id),
            decision === 'peer' ? [peer] : [],
          );
        }
      });

      test(`what can be said by hand, seen from ${view}`, async () => {
        const rows = byHand[cluster] ?? [];
        const explained = await explain(
          view,
          rows.map(([request]) => {
            const [method = '', url = ''] = request.split(' ');
            return { method, url };
          }),
        );
        for (const [index, [request, fromA, fromB]] of rows.entries()) {
          const { decision, candidates } = explained[index] ?? { decision: 'none', candidates: [] };
          const got = [decision, ...candidates.map(({ id }) => id)].join(' ');
          assert.equal(got, view === 'a' ? fromA : fromB, request);
        }
      });
    }
  });
}
