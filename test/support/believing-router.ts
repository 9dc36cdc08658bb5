import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { AssertionRequest } from '../../src/identity/assertion/assertion-signer.ts';
import { createAssertionSigner } from '../../src/identity/assertion/sign-assertion.ts';
import { assertionKeysFile, jane, type Speaker, speaker } from './assertions.ts';
import {
  type Protocol,
  type ReceivedRequest,
  type RecordingBackend,
  startRecordingBackend,
} from './security/recording-backend.ts';
import { pushSnapshot, startOne } from './security/router-under-test.ts';
import { keepSecret } from './security/secrets.ts';
import { snapshotOf } from './snapshot-builder.ts';

interface BelievingRouter {
  readonly port: number;
  /** What it logged, at its most talkative; searched for secrets at the end. */
  readonly logLines: readonly string[];
  /** Its own API server, `cp-b`: pods and jobs. */
  readonly local: RecordingBackend;
  /** Another API server, `cp-a`: pods and deployments. */
  readonly peer: RecordingBackend;
  /** The edge router, whose key is pinned. */
  readonly edge: Speaker;
  /** An assertion of it. Default: Jane gets jobs of `cp-b`, and the request bears no reroute mark. */
  sign(changes?: Partial<AssertionRequest>, by?: Speaker): Promise<string>;
}

export const jobs = '/apis/batch/v1/namespaces/default/jobs?limit=500&labelSelector=app%3Dweb';

/** A router by its flags, which has pinned the key of an edge router. */
export async function startBelievingRouter(
  context: TestContext,
  protocol: Protocol = 'http/1.1',
  { pins = true } = {},
): Promise<BelievingRouter> {
  const edge = await speaker('edge');
  keepSecret(String(edge.privateJwk.d));
  const local = await startRecordingBackend(context, 'cp-b', { protocol });
  const peer = await startRecordingBackend(context, 'cp-a', { protocol });
  const logLines: string[] = [];
  const port = await startOne(
    context,
    logLines,
    {
      'server-id': ['cp-b'],
      'local-server': [local.origin],
      ...(pins ? { 'assertion-keys': ['routers.json'] } : {}),
    },
    { 'routers.json': assertionKeysFile([edge]) },
  );
  const snapshot = snapshotOf({
    'cp-a': { serves: ['v1/pods', 'apps/v1/deployments'], address: new URL(peer.origin).host },
    'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], address: new URL(local.origin).host },
  });
  assert.equal((await pushSnapshot(port, snapshot)).status, 200);
  const request: AssertionRequest = {
    user: jane,
    destinationId: 'cp-b',
    method: 'GET',
    target: jobs,
    rerouted: false,
  };
  return {
    port,
    logLines,
    local,
    peer,
    edge,
    sign: (changes = {}, { key, issuer } = edge) =>
      createAssertionSigner({ key, issuer }).sign({ ...request, ...changes }),
  };
}

/** What an API server was asked at `target`. The router asks for documents of its own besides. */
export function requestsFor(backend: RecordingBackend, target: string): ReceivedRequest[] {
  return backend.requests.filter((request) => request.target === target);
}

/** The identity lines of a request, names in lower case, in order. */
export function identityLines(headers: readonly string[]): string[][] {
  const lines: string[][] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (/^(x-remote-|authorization$|mixed-version-proxy-)/i.test(name))
      lines.push([name.toLowerCase(), value]);
  }
  return lines;
}
