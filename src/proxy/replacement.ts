import type { AdmittedRequest } from '../request/router.ts';
import { ledByPreference } from '../routing/preferred-version.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { knowledgeMissing } from './delivery/undelivered.ts';
import type { MergedDocumentOptions, Replacement } from './merged-document.ts';

/**
 * The replacement for the response of the local server, or of the server that took its place. Only a
 * merged document is asynchronous.
 */
export function replacementFor(
  request: AdmittedRequest,
  table: RoutingTable | undefined,
  options: MergedDocumentOptions,
): Replacement | undefined | Promise<Replacement | undefined> {
  const { reason } = request.decision;
  if (reason === 'NoSnapshot') return withoutSnapshot;
  return reason === 'MergedDocument' && table !== undefined
    ? merged(request, ledByPreference(table, options.preferredVersion), options)
    : undefined;
}

/** While there has been no snapshot, a 404 of the local server for a resource path proves nothing. */
const withoutSnapshot: Replacement = (status) => (status === 404 ? knowledgeMissing() : undefined);

/** In a module of its own: a Worker loads what merges documents when it is first asked for one (docs/decisions/0008). */
async function merged(
  request: AdmittedRequest,
  table: RoutingTable,
  options: MergedDocumentOptions,
): Promise<Replacement | undefined> {
  const { mergedDocument } = await import('./merged-document.ts');
  return mergedDocument(request, table, options);
}
