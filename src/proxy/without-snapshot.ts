import { knowledgeMissing } from './delivery.ts';
import type { StandIn } from './handler-environment.ts';

/** While there has been no snapshot, a 404 of the local server for a resource path proves nothing. */
export const withoutSnapshot: StandIn = (status) => (status === 404 ? knowledgeMissing() : undefined);
