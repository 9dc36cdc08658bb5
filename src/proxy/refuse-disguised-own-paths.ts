import { createMiddleware } from 'hono/factory';
import { statusResponse } from '../apimachinery/status.ts';
import type { HandlerEnvironment } from './handler-environment.ts';
import { ownPathSpelling, ownPathsPrefix } from './own-path-target.ts';

/**
 * Refuses other spellings of the own paths, before anything matches on one reading of them. For every request;
 * behind `acceptRequest`.
 */
export const refuseDisguisedOwnPaths = createMiddleware<HandlerEnvironment>((context, next) => {
  const { inbound, requestInfo } = context.var;
  if (ownPathSpelling(inbound.target, requestInfo.path) !== 'disguised') return next();
  const message = `request target refused: write paths under ${ownPathsPrefix} without percent escapes and doubled slashes`;
  return Promise.resolve(statusResponse('BadRequest', message));
});
