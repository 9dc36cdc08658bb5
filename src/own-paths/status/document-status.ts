import { mergedDocumentsOf } from '../../discovery/merged-documents.ts';
import type { DiscoveryConflict } from '../../discovery/merging/merge-resource.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** Conflicts shown at most; `conflictCount` has them all. */
const shownConflicts = 100;

/** What is missing in the merged documents, or not up to date there. */
interface DocumentProblem {
  readonly path: string;
  readonly server: string;
  readonly problem: string;
}

/** What `v1/status` shows of the merged documents. */
export interface DocumentStatus {
  readonly discovery: {
    /** Resources that servers describe in ways that exclude each other. */
    readonly conflictCount: number;
    /** The first hundred: who says what, the word that is shown first. */
    readonly conflicts: readonly DiscoveryConflict[];
  };
  /** Documents of servers that are missing in the merged ones, or not up to date there, and why. */
  readonly documents: readonly DocumentProblem[];
}

/**
 * Pure, given a table whose documents are made.
 * @param isReadHere whether this router reads the cluster itself. Default: the sync job does.
 */
export function documentStatus(table: RoutingTable | undefined, isReadHere = false): DocumentStatus {
  const conflicts = (table && mergedDocumentsOf(table).discovery?.conflicts) ?? [];
  return {
    discovery: { conflictCount: conflicts.length, conflicts: conflicts.slice(0, shownConflicts) },
    documents: table === undefined ? [] : snapshotProblems(table, isReadHere),
  };
}

/** What could not be read; the log of whoever reads says why. */
function snapshotProblems({ snapshot }: RoutingTable, isReadHere: boolean): DocumentProblem[] {
  const reader = isReadHere ? 'This router' : 'The sync job';
  const problems: DocumentProblem[] = [];
  for (const { id: server, serves, stale, departedAt } of snapshot.servers) {
    const { discovery, openapiV3 } = snapshot.servedSets[serves] ?? {};
    const name = (path: string, problem: string) => problems.push({ path, server, problem });
    if (discovery === undefined) name('/apis', 'What it discovers is not known.');
    else if (departedAt !== undefined) name('/apis', 'It has left: what was last known of it is shown.');
    else if (stale === true) name('/apis', `${reader} cannot read it: what was last known of it is shown.`);
    if (openapiV3 === undefined)
      name('/openapi/v3', 'Its index is not known: it has none, or it could not be read.');
  }
  return problems;
}
