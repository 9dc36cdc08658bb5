import { headerLines, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { forward } from '../../proxy/forward.ts';
import type { MixedVersionProxyOptions } from '../../proxy/options.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { AdmittedRequest, Router } from '../../request/router.ts';
import type { Decision } from '../../routing/decision.ts';
import { readText } from '../../runtime/read-text.ts';

export type CheckOutcome = 'ok' | 'excluded' | 'failed';

/** One API server's own health checks. */
export interface ServerReport {
  /** API server ID; `undefined` for the local server. */
  readonly serverId: string | undefined;
  /** `unknown`: it did not respond in time, or does not let this caller read the path. */
  readonly result: 'passed' | 'failed' | 'unknown';
  readonly checks: ReadonlyMap<string, CheckOutcome>;
}

/** Asks servers for their checks. Never rejects, and ends within `timeout`. */
export type AskServerChecks = (
  request: Pick<AdmittedRequest, 'inbound' | 'requestInfo'>,
  endpoint: string,
  exclude: readonly string[],
) => Promise<readonly ServerReport[]>;

interface ServerChecksOptions
  extends Pick<MixedVersionProxyOptions, 'transport' | 'serverId' | 'routingTable'> {
  readonly router: Router;
}

/** Milliseconds for all servers: a health check responds even if a server hangs. As long as kube-apiserver gives its etcd. */
const timeout = 2_000;
/** Bytes of a response; a kube-apiserver names some 60 checks in 3,000. */
const maximumBytes = 64 * 1024;
/** Checks in progress, limited: anyone may ask, and a gateway asks every server for each. */
const maximumQuestions = 8;

/**
 * The servers' own health checks, asked for in the name of the caller like any other request, so that no caller sees
 * here what a server would not show them (by default everybody may, ClusterRole `system:public-info-viewer`).
 */
export function createServerChecks({
  router,
  transport,
  serverId,
  routingTable,
}: ServerChecksOptions): AskServerChecks {
  let questions = 0;

  async function ask(
    { inbound, requestInfo }: Pick<AdmittedRequest, 'inbound' | 'requestInfo'>,
    target: string,
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<ServerReport> {
    const unknown: ServerReport = { serverId: id, result: 'unknown', checks: new Map() };
    try {
      const question = questionOf(inbound, target, signal);
      const caller = await router.identify(question);
      if (caller instanceof Response) return unknown;
      const decision = id === undefined ? router.decide(question, requestInfo, caller) : decisionFor(id);
      if (decision === undefined) return unknown;
      const response = await forward({ inbound: question, requestInfo, caller, decision }, router, transport);
      // Another server's checks are not this one's.
      const isTheServers =
        question.isPassedOn === true && (id !== undefined || decision.decision === 'local');
      if (!isTheServers || (response.status !== 200 && response.status !== 500)) {
        await response.body?.cancel();
        return unknown;
      }
      const text = response.body === null ? '' : await readText(response.body, maximumBytes);
      const checks = checksIn(text ?? '');
      if (checks.size === 0) return unknown;
      return { serverId: id, result: response.status === 200 ? 'passed' : 'failed', checks };
    } catch {
      return unknown;
    }
  }

  function decisionFor(id: string): Decision | undefined {
    const server = routingTable.current()?.server(id);
    if (server?.origin === undefined) return undefined;
    return { decision: 'peer', reason: 'NotAResourceRequest', candidates: [server] };
  }

  return async (request, endpoint, exclude) => {
    // In the gateway form all servers of the snapshot are asked.
    const ids: readonly (string | undefined)[] =
      serverId === undefined
        ? (routingTable.current()?.snapshot.servers.map(({ id }) => id) ?? [])
        : [undefined];
    const target = `/${endpoint}?${['verbose', ...exclude.map((name) => `exclude=${encodeURIComponent(name)}`)].join('&')}`;
    const unknown = ids.map((id): ServerReport => ({ serverId: id, result: 'unknown', checks: new Map() }));
    if (questions >= maximumQuestions) return unknown;
    questions++;
    const deadline = new AbortController();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      deadline.abort();
      resolve();
    }, timeout);
    try {
      const signal = AbortSignal.any([request.inbound.signal, deadline.signal]);
      const readings = ids.map((id, index) =>
        ask(request, target, id, signal).then((report) => {
          unknown[index] = report;
        }),
      );
      await Promise.race([Promise.all(readings), over]);
      return [...unknown];
    } finally {
      clearTimeout(timer);
      questions--;
    }
  };
}

/** Header lines that would change the response: the whole text is wanted. */
const leftOut =
  /^(?:accept|accept-encoding|if-.*|range|content-.*|transfer-encoding|expect|te|trailer|upgrade)$/i;

function questionOf(inbound: InboundRequest, target: string, signal: AbortSignal): InboundRequest {
  const headers: string[] = ['accept', '*/*', 'accept-encoding', 'identity'];
  for (const [name, value] of headerLines(inbound.headers)) {
    if (!leftOut.test(name)) headers.push(name, value);
  }
  return {
    method: 'GET',
    target,
    headers: headers satisfies RawHeaders,
    ...(inbound.httpVersion === undefined ? {} : { httpVersion: inbound.httpVersion }),
    connection: inbound.connection,
    body: () => null,
    signal,
    auditId: inbound.auditId,
  };
}

/** Lines as k8s.io/apiserver pkg/server/healthz/healthz.go writes them; everything else is left out. */
const checkLine = /^\[(?:\+\]([\x21-\x7e]{1,256}) (ok|excluded: ok)|-\]([\x21-\x7e]{1,256}) failed: .*)$/;

function checksIn(text: string): Map<string, CheckOutcome> {
  const checks = new Map<string, CheckOutcome>();
  for (const line of text.split('\n')) {
    const [, passed, how, failed] = checkLine.exec(line) ?? [];
    if (failed !== undefined) checks.set(failed, 'failed');
    else if (passed !== undefined) checks.set(passed, how === 'ok' ? 'ok' : 'excluded');
  }
  return checks;
}
