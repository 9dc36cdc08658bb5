import type { ServedSet, Snapshot, SnapshotServer } from '../../snapshot/format/types.ts';
import type { ReadErrorCode } from '../documents/server-documents.ts';

/** What was learnt of a server's own OpenAPI v3 index. */
export type OpenApiReading =
  /** Path to `serverRelativeURL`, as in `ServedSet.openapiV3`. */
  | { readonly kind: 'read'; readonly paths: Readonly<Record<string, string>> }
  /** The server has none (before 1.24). */
  | { readonly kind: 'not-served' }
  /** Not known this time. */
  | { readonly kind: 'failed'; readonly reason: string };

/**
 * What reading one server gave: everything it serves, or why that is not known. There is nothing in between,
 * so a fault can never look like a server that serves less.
 */
export type ServerReading =
  | {
      readonly ok: true;
      /** Without `openapiV3`, which may fail on its own. */
      readonly set: ServedSet;
      readonly openApi: OpenApiReading;
      /** `gitVersion` of `/version`; `undefined` when it could not be read. */
      readonly version: string | undefined;
    }
  | { readonly ok: false; readonly code: ReadErrorCode; readonly reason: string };

/** What the previous snapshot says of a server. */
export function lastKnown(
  previous: Snapshot | undefined,
  id: string,
): { readonly server: SnapshotServer; readonly set: ServedSet } | undefined {
  const server = previous?.servers.find((candidate) => candidate.id === id);
  const set = server === undefined ? undefined : previous?.servedSets[server.serves];
  return server === undefined || set === undefined ? undefined : { server, set };
}
