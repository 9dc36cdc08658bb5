import { type Answer, objectAnswer, textAnswer } from './answer.ts';
import { methodNotAllowed, PathNotFoundError } from './api-error.ts';
import type { ExampleUser } from './authentication.ts';
import { authorize } from './authorization.ts';
import { discoveryAnswer } from './discovery.ts';
import { openApiV2Answer } from './openapi-v2.ts';
import { openApiV3Answer } from './openapi-v3.ts';
import { parseRequestTarget, type RequestTarget } from './request-target.ts';
import { handleResource, resolveResource } from './resource-handler.ts';
import type { ResourceRequest, ServerContext } from './resource-request.ts';

/** A request with its body read and its caller known. */
export interface ReceivedRequest {
  readonly method: string;
  /** As received. */
  readonly url: string;
  readonly user: ExampleUser;
  readonly accept: string | undefined;
  readonly contentType: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly body: Uint8Array;
}

/** The whole of a request's way, in order: what it asks for, whether it may, and the answer. */
export function handleRequest(server: ServerContext, received: ReceivedRequest): Answer {
  const target = parseRequestTarget(received.method, received.url);
  authorize(received.user, target);
  if (target.resource !== undefined) return handleResource(resourceRequest(server, received, target));
  if (received.method !== 'GET' && received.method !== 'HEAD') throw methodNotAllowed();
  return handlePath(server, received, target);
}

/**
 * A request for a resource, for whoever is allowed to make it.
 * @throws {ApiError} MethodNotAllowed
 * @throws {PathNotFoundError}
 */
export function resourceRequest(
  server: ServerContext,
  received: ReceivedRequest,
  target: RequestTarget,
): ResourceRequest {
  const served = resolveResource(server.served, target);
  if (target.resource === undefined) throw new PathNotFoundError();
  const { user, accept, contentType, body } = received;
  return { server, target: target.resource, served, query: target.query, user, accept, contentType, body };
}

function handlePath(
  server: ServerContext,
  received: ReceivedRequest,
  { path, query }: Pick<RequestTarget, 'path' | 'query'>,
): Answer {
  const { accept, ifNoneMatch } = received;
  const [, endpoint] = /^\/(livez|readyz|healthz)\/?$/.exec(path) ?? [];
  if (endpoint !== undefined) return textAnswer(200, healthText(endpoint, query));
  if (path === '/version' || path === '/version/') return objectAnswer(versionInfo(server));
  if (path === '/openapi/v2') return openApiV2Answer(server, accept);
  if (/^\/openapi\/v3(\/|$)/.test(path)) return openApiV3Answer(server, path, ifNoneMatch);
  if (/^\/(api(\/[^/]+)?|apis(\/[^/]+){0,2})\/?$/.test(path)) {
    return discoveryAnswer(server, { path, accept, ifNoneMatch });
  }
  throw new PathNotFoundError();
}

/** k8s.io/apiserver pkg/server/healthz/healthz.go. */
function healthText(endpoint: string, query: URLSearchParams): string {
  if (!query.has('verbose')) return 'ok';
  const excluded = query.getAll('exclude');
  const checks = ['ping', 'log', 'etcd'].map((name) =>
    excluded.includes(name) ? `[+]${name} excluded: ok\n` : `[+]${name} ok\n`,
  );
  return `${checks.join('')}${endpoint} check passed\n`;
}

/** k8s.io/apimachinery pkg/version Info. */
function versionInfo({ version }: ServerContext): Record<string, string> {
  const [major = '', minor = ''] = version.name.split('.');
  return {
    major,
    minor,
    gitVersion: version.gitVersion,
    gitCommit: '',
    gitTreeState: '',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: 'linux/amd64',
  };
}
