import { ownPathsPrefix } from '../proxy/own-path-target.ts';

/** Whether a request is answered by the router itself rather than by a server behind it, as far as its path tells. */
export function belongsToTheRouter(url: string): boolean {
  return new URL(url).pathname.startsWith(`${ownPathsPrefix}/`);
}
