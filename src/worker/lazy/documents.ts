import { parseDiscoveryPath } from '../../discovery/discovery-path.ts';

type Documents = typeof import('../../discovery/documents.ts');

/**
 * Stands for `discovery/documents.ts` in the Worker's entry (scripts/build-worker.ts): what merges discovery is loaded
 * when the first request asks for such a document. Whether the local server is to answer is known only then: to
 * `standInFor`, which waits for it, a promise of `undefined` says the same as `undefined`.
 */
export function answerDiscovery(
  ...given: Parameters<Documents['answerDiscovery']>
): Promise<Response | undefined> | undefined {
  const [{ path }] = given;
  return parseDiscoveryPath(path) === undefined ? undefined : load(given);
}

async function load(given: Parameters<Documents['answerDiscovery']>): Promise<Response | undefined> {
  const loaded = await import('../../discovery/documents.ts');
  return loaded.answerDiscovery(...given);
}
