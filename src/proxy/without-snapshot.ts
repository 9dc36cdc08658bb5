import type { StandIn } from './handler-environment.ts';
import { knowledgeMissing } from './undelivered.ts';

/** While there has been no snapshot, a 404 of the local server for a resource path proves nothing. */
export const withoutSnapshot: StandIn = (status) => (status === 404 ? knowledgeMissing() : undefined);
