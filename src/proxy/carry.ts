import type { Outcome } from '../request/outcome.ts';
import type { AdmittedRequest, Router } from '../request/router.ts';
import { forward } from './forward.ts';
import type { DocumentMerger } from './merged-document.ts';
import type { MixedVersionProxyOptions } from './options.ts';
import { replacementFor } from './replacement.ts';

/** Takes admitted requests to API servers and brings their responses. */
interface Carrier {
  /** The server's response, or the merged document in its place. */
  carry(request: AdmittedRequest): Promise<Outcome>;
  /** The response in place of that of a library's own handlers; `undefined` when theirs is to be passed on. */
  inPlaceOf(response: Response, request: AdmittedRequest): Promise<Response | undefined>;
}

export function createCarrier(options: MixedVersionProxyOptions, router: Router): Carrier {
  const { routingTable, transport } = options;
  let merger: DocumentMerger | undefined;

  /** In a module of its own: a Worker loads what merges documents when it is first asked for one (docs/decisions/0008). */
  const loadedMerger = async (): Promise<DocumentMerger> => {
    const { DocumentMerger } = await import('./merged-document.ts');
    merger ??= new DocumentMerger(options);
    return merger;
  };
  const forwarded = (request: AdmittedRequest): Promise<Outcome> =>
    forward(request, router, transport, { replacement: replacementFor(request) });

  return {
    carry(request) {
      const table = routingTable.current();
      if (request.decision.reason !== 'MergedDocument' || table === undefined) return forwarded(request);
      return loadedMerger()
        .then((documents) => documents.respond(request, table, router))
        .then((outcome) => outcome ?? forwarded(request));
    },
    async inPlaceOf(response, request) {
      const table = routingTable.current();
      if (request.decision.reason !== 'MergedDocument' || table === undefined) {
        return replacementFor(request)?.(response.status);
      }
      return (await loadedMerger()).inPlaceOf(response, request, table);
    },
  };
}
