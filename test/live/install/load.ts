import assert from 'node:assert/strict';
import { collectionPath, type ExclusiveResource, manifestOf } from '../exclusive-resources.ts';
import { type ObjectWriter, startObjectWriter } from '../object-writer.ts';
import { describeReads, type ReadCounts, type ReadLoop, startReadLoop } from '../read-loop.ts';
import { type TlsCredentials, tlsRequest } from '../tls-request.ts';
import { describeWatch, lostOf, startWatchFollower, type WatchFollower } from '../watch-follower.ts';

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', spec: {} };
const fixed = 'read-all-the-time';

/** Clients at work on a cluster: they read, write and watch by each of these addresses. */
export interface Load {
  /** Makes an object of this resource, and reads it all the time from now on. */
  read(resource: ExclusiveResource, origin: string): Promise<void>;
  /** Stops reading it: it is about to go, and rightly so. */
  leave(resource: ExclusiveResource): Promise<void>;
  /** What has become of the reads so far. */
  tally(): Readonly<ReadCounts>;
  /** Ends it. @returns what happened, a line each, and what is wrong of it */
  stop(): Promise<{ readonly lines: readonly string[]; readonly faults: readonly string[] }>;
}

/**
 * @param origins by the name that they are reported under; the first one is written to as well
 * @param scope namespace of what is read and written; it is made
 */
export async function startLoad(
  origins: Readonly<Record<string, string>>,
  admin: TlsCredentials,
  scope: string,
): Promise<Load> {
  const configMaps = `/api/v1/namespaces/${scope}/configmaps`;
  const [[, first] = ['', '']] = Object.entries(origins);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: scope } };
  await create(first, '/api/v1/namespaces', namespace, admin);
  const paths = new Set([`${configMaps}/${fixed}`]);
  await create(first, configMaps, { ...configMap, metadata: { name: fixed } }, admin);
  const collection = { path: configMaps, object: configMap };
  const reads = new Map<string, ReadLoop>();
  for (const [name, origin] of Object.entries(origins)) {
    reads.set(
      name,
      startReadLoop(origin, () => [...paths], admin),
    );
  }
  const watch: WatchFollower = await startWatchFollower(first, collection, admin);
  const writer: ObjectWriter = startObjectWriter(first, collection, admin);
  return {
    async read(resource, origin) {
      const path = collectionPath(resource, scope);
      await create(origin, path, JSON.parse(manifestOf(resource, fixed)), admin);
      paths.add(`${path}/${fixed}`);
    },
    async leave(resource) {
      paths.delete(`${collectionPath(resource, scope)}/${fixed}`);
      await Promise.all([...reads.values()].map((loop) => loop.nextTurn()));
    },
    tally() {
      const sum = { ok: 0, notFound: 0, forbidden: 0, refused: 0, broken: 0 };
      for (const { counts } of reads.values()) {
        for (const key of Object.keys(sum) as (keyof ReadCounts)[]) sum[key] += counts[key];
      }
      return sum;
    },
    async stop() {
      await writer.stop();
      await Promise.all([...reads.values()].map((loop) => loop.stop()));
      for (let waited = 0; lostOf(watch, writer.written).length > 0 && waited < 50; waited++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await watch.stop();
      const lost = lostOf(watch, writer.written);
      const faults = [...reads].flatMap(([name, loop]) => {
        const { ok: _, ...wrong } = loop.counts;
        return Object.values(wrong).some((count) => count > 0) ? [`${name}: ${describeReads(loop)}`] : [];
      });
      return {
        lines: [
          ...[...reads].map(([name, loop]) => `reads, ${name}: ${describeReads(loop)}`),
          `written: ${writer.written.length} objects, ${writer.retries()} attempts made again`,
          `watch: ${describeWatch(watch)}; events that never came: ${lost.length}`,
        ],
        faults: [
          ...faults,
          ...(lost.length > 0 ? [`events that never came: ${lost.length}`] : []),
          ...(watch.counts.notFound > 0 ? [`watches that were a 404: ${watch.counts.notFound}`] : []),
        ],
      };
    },
  };
}

async function create(origin: string, path: string, object: object, admin: TlsCredentials): Promise<void> {
  const { statusCode, text } = await tlsRequest(`${origin}${path}`, admin, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(object),
  });
  assert.ok(statusCode === 201 || statusCode === 409, `${path}: ${statusCode} ${text}`);
}
