import type { AdmittedRequest } from '../request/router.ts';
import { knowledgeMissing } from './delivery/undelivered.ts';

/** Given the code of a server's response: the response in its place, or `undefined` to pass it on. */
export type Replacement = (status: number) => Response | undefined;

/** While there has been no snapshot, a 404 of the local server for a resource path proves nothing. */
export function replacementFor({ decision }: AdmittedRequest): Replacement | undefined {
  return decision.reason === 'NoSnapshot' ? withoutSnapshot : undefined;
}

const withoutSnapshot: Replacement = (status) => (status === 404 ? knowledgeMissing() : undefined);
