import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { assertionKeysFile, type Speaker, speaker } from './assertions.ts';
import {
  type Protocol,
  type ReceivedRequest,
  type RecordingBackend,
  startRecordingBackend,
} from './security/recording-backend.ts';
import { pushSnapshot, startOne } from './security/router-under-test.ts';
import { keepSecret } from './security/secrets.ts';
import type { FlagChanges } from './serve-options.ts';
import { snapshotOf } from './snapshot-builder.ts';

interface TokenRouter {
  readonly port: number;
  /** What it logged, at its most talkative; searched for secrets at the end. */
  readonly logLines: readonly string[];
}

/** A router by its flags, in front of `local`. Files beside the usual ones are given by name. */
export async function startTokenRouter(
  context: TestContext,
  serverId: string,
  local: RecordingBackend,
  flags: FlagChanges,
  files: Readonly<Record<string, string>> = {},
): Promise<TokenRouter> {
  const logLines: string[] = [];
  const given: FlagChanges = {
    'server-id': [serverId],
    'local-server': [local.origin],
    'requestheader-client-ca-file': ['front-proxy-ca.crt'],
    'requestheader-allowed-names': ['front-proxy-client'],
    ...flags,
  };
  return { port: await startOne(context, logLines, given, files), logLines };
}

interface AssertingRouters {
  /** Router A, which clients ask; pods and deployments are its own, jobs B's. */
  readonly a: TokenRouter;
  /** Router B, which has pinned A's key. */
  readonly b: TokenRouter;
  readonly backendOfA: RecordingBackend;
  readonly backendOfB: RecordingBackend;
  /** What A signs with. */
  readonly speakerA: Speaker;
}

interface AssertingRoutersOptions {
  /** What both API servers speak. */
  readonly protocol?: Protocol;
  /** Whose keys B has pinned. Default: A's. */
  readonly pinned?: (speakerA: Speaker) => readonly Speaker[];
}

/** Two routers, each in front of an API server of its own; A tells B by assertions who calls. */
export async function startAssertingRouters(
  context: TestContext,
  { protocol = 'http/1.1', pinned = (speakerA) => [speakerA] }: AssertingRoutersOptions = {},
): Promise<AssertingRouters> {
  const speakerA = await speaker('cp-a');
  keepSecret(String(speakerA.privateJwk.d));
  const backendOfA = await startRecordingBackend(context, 'cp-a', { protocol });
  const backendOfB = await startRecordingBackend(context, 'cp-b', { protocol });
  const keys = pinned(speakerA);
  const b = await startTokenRouter(
    context,
    'cp-b',
    backendOfB,
    keys.length === 0 ? {} : { 'assertion-keys': ['routers.json'] },
    { 'routers.json': assertionKeysFile(keys) },
  );
  const a = await startTokenRouter(
    context,
    'cp-a',
    backendOfA,
    { 'peer-identity': ['assertion'], 'assertion-signing-key': ['signing-key.json'] },
    { 'signing-key.json': JSON.stringify(speakerA.privateJwk) },
  );
  const snapshot = snapshotOf({
    'cp-a': { serves: ['v1/pods', 'apps/v1/deployments'], address: `127.0.0.1:${a.port}` },
    'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${b.port}` },
  });
  for (const { port } of [a, b]) assert.equal((await pushSnapshot(port, snapshot)).status, 200);
  return { a, b, backendOfA, backendOfB, speakerA };
}

/** What an API server was asked at `target`. The routers ask for documents of their own besides. */
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
