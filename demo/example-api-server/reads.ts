import type { Answer } from './answer.ts';
import { badRequest, expired } from './api-error.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import { validateListOptions } from './list-options.ts';
import type { ResourceRequest } from './resource-request.ts';
import { selectorOf } from './selectors.ts';
import { decoded } from './storage-version.ts';
import { inVersion } from './strategy.ts';
import { presentList } from './table.ts';
import { answered, existing } from './writes.ts';

export function get(request: ResourceRequest): Answer {
  return answered(request, existing(request));
}

/** Where a list in pages goes on; opaque to clients. */
interface ContinueToken {
  readonly revision: number;
  /** `<namespace>/<name>` of the last item given. */
  readonly after: string;
}

export function list(request: ResourceRequest): Answer {
  const { server, served, target, query } = request;
  const { store } = server;
  const matches = selectorOf(query, served.storage);
  validateListOptions(server.version, query, false);
  const token = parseContinue(query.get('continue'));
  if (token !== undefined) checkNotCompacted(request, token);
  const after = token?.after ?? '';
  const limit = Number(query.get('limit') ?? '0');
  if (!Number.isSafeInteger(limit) || limit < 0) throw badRequest(`limit: ${query.get('limit')} is no count`);

  const rest = store
    .list(served.storage, target.namespace)
    .map((object) => decoded(server, object))
    .filter((object) => after === '' || keyOf(object) > after)
    .map((object) => inVersion(served, object))
    .filter(matches);
  const page = limit === 0 ? rest : rest.slice(0, limit);
  const last = page.at(-1);
  const isPartial = page.length < rest.length && last !== undefined;
  const revision = token?.revision ?? store.revision;
  const hasSelector = (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== '';
  return presentList(request, page, {
    resourceVersion: String(revision),
    ...(isPartial ? { continue: writeContinue({ revision, after: keyOf(last) }) } : {}),
    // With a selector the rest is not counted, as in kube-apiserver.
    ...(isPartial && !hasSelector ? { remainingItemCount: rest.length - page.length } : {}),
  });
}

function keyOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

function writeContinue(token: ContinueToken): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** @throws {ApiError} BadRequest */
function parseContinue(text: string | null): ContinueToken | undefined {
  if (text === null || text === '') return undefined;
  try {
    const token: Partial<ContinueToken> = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    if (typeof token.revision === 'number' && typeof token.after === 'string') {
      return { revision: token.revision, after: token.after };
    }
  } catch {
    // Falls through to the one answer for every unreadable token.
  }
  throw badRequest('continue key is not valid');
}

/** Later pages show what is there now, not the state of the first page; too old a token is still refused. */
function checkNotCompacted({ server, served }: ResourceRequest, { revision }: ContinueToken): void {
  try {
    server.store.eventsSince(served.storage, revision);
  } catch {
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  }
}
