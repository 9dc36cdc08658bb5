import { firstHeader } from '../apimachinery/raw-headers.ts';
import {
  type AskOptions,
  askInCallersName,
  type CallersRequest,
  questionOf,
} from '../proxy/ask-in-callers-name.ts';
import type { MixedVersionProxyOptions } from '../proxy/options.ts';
import type { Caller } from '../request/user-info.ts';
import type { Decision } from '../routing/decision.ts';
import { withDeadline } from '../runtime/time.ts';

export type CheckOutcome = 'ok' | 'excluded' | 'failed';

/**
 * Why the checks of a server are not known. `unreachable`: it does not respond to this router's probes either; `hidden`:
 * it does not let this caller read them; `late`: it did not respond in time; `unknown`: for another reason.
 */
export type WhyNotKnown = 'unreachable' | 'hidden' | 'late' | 'unknown';

/** One API server's own health checks. */
export interface ServerReport {
  /** API server ID; `undefined` for the local server. */
  readonly serverId: string | undefined;
  readonly result: 'passed' | 'failed' | WhyNotKnown;
  readonly checks: ReadonlyMap<string, CheckOutcome>;
}

/** Asks servers for their checks. Never rejects, and ends within `timeout`. */
export type AskServerChecks = (
  request: CallersRequest,
  endpoint: string,
  exclude: readonly string[],
) => Promise<readonly ServerReport[]>;

interface ServerChecksOptions
  extends AskOptions,
    Pick<MixedVersionProxyOptions, 'local' | 'routingTable' | 'health' | 'monotonicClock'> {}

/** Milliseconds for all servers: a health check responds even if a server hangs. As long as kube-apiserver gives its etcd. */
const timeout = 2_000;
/** Bytes of a response; a kube-apiserver names some 60 checks in 3,000. */
const maximumBytes = 64 * 1024;
/** Checks in progress, limited: anyone may ask, and a gateway asks every server for each. */
const maximumQuestions = 8;
/** Milliseconds for which all anonymous callers get one answer. Anybody may ask, and nobody may cost a server a request for each. */
const anonymousAnswerLife = 1_000;
/** Answers to anonymous callers that are kept, one for each `exclude`. Who asks for one more is told of no server. */
const maximumAnonymousAnswers = 16;

/**
 * The servers' own health checks, asked for in the name of the caller like any other request, so that no caller sees
 * here what a server would not show them (by default everybody may, ClusterRole `system:public-info-viewer`).
 */
export function createServerChecks(options: ServerChecksOptions): AskServerChecks {
  const { router, routingTable, health, monotonicClock = () => performance.now() } = options;
  let questions = 0;
  const toAnonymous = new Map<
    string,
    { readonly until: number; readonly reports: Promise<readonly ServerReport[]> }
  >();

  async function ask(
    { inbound, requestInfo }: CallersRequest,
    caller: Caller,
    target: string,
    id: string | undefined,
    signal: AbortSignal,
  ): Promise<ServerReport> {
    const unknown = () => notKnown(id, signal.aborted ? 'late' : 'unknown');
    try {
      const question = questionOf(inbound, { target, accept: '*/*', signal });
      const decision = id === undefined ? router.decide(question, requestInfo, caller) : decisionFor(id);
      // Another server's checks are not this one's.
      if (decision === undefined || (id === undefined && decision.decision !== 'local')) return unknown();
      const { status, text, isServers } = await askInCallersName(
        { inbound: question, requestInfo, caller, decision },
        maximumBytes,
        options,
      );
      if (isServers && (status === 401 || status === 403)) return notKnown(id, 'hidden');
      if (!isServers || (status !== 200 && status !== 500)) return unknown();
      const checks = checksIn(text ?? '');
      if (checks.size === 0) return unknown();
      return { serverId: id, result: status === 200 ? 'passed' : 'failed', checks };
    } catch {
      return unknown();
    }
  }

  /** A server that probes do not reach either is known not to respond to anyone. */
  function withHealth(report: ServerReport): ServerReport {
    if (report.result === 'passed' || report.result === 'failed') return report;
    const cause = health?.report(report.serverId ?? options.local?.id ?? '')?.cause;
    return cause === 'unreachable' ? notKnown(report.serverId, 'unreachable') : report;
  }

  function decisionFor(id: string): Decision | undefined {
    const server = routingTable.current()?.server(id);
    if (server?.origin === undefined) return undefined;
    return { decision: 'peer', reason: 'NotAResourceRequest', candidates: [server] };
  }

  async function askAll(
    request: CallersRequest,
    caller: Caller,
    target: string,
    ids: readonly (string | undefined)[],
    end: AbortSignal,
  ): Promise<readonly ServerReport[]> {
    if (questions >= maximumQuestions) return ids.map((id) => withHealth(notKnown(id, 'unknown')));
    questions++;
    try {
      const late = () => new Error('no response in time');
      const reports = ids.map((id) =>
        withDeadline(timeout, end, late, (signal) => ask(request, caller, target, id, signal)).catch(() =>
          notKnown(id, 'late'),
        ),
      );
      return (await Promise.all(reports)).map(withHealth);
    } finally {
      questions--;
    }
  }

  /** Asked once for all who come within a second. */
  function askForAnonymous(
    request: CallersRequest,
    caller: Caller,
    target: string,
    ids: readonly (string | undefined)[],
  ): Promise<readonly ServerReport[]> {
    const now = monotonicClock();
    for (const [each, { until }] of toAnonymous) if (until <= now) toAnonymous.delete(each);
    const known = toAnonymous.get(target);
    if (known !== undefined) return known.reports;
    if (toAnonymous.size >= maximumAnonymousAnswers) {
      return Promise.resolve(ids.map((id) => withHealth(notKnown(id, 'unknown'))));
    }
    // The others wait for the same answer: neither does it end as the first caller leaves, nor has it that caller's headers.
    const { signal } = new AbortController();
    const inbound = { ...questionOf(request.inbound, { target, accept: '*/*', signal }), headers: [] };
    const reports = askAll({ ...request, inbound }, caller, target, ids, signal);
    toAnonymous.set(target, { until: now + anonymousAnswerLife, reports });
    return reports;
  }

  return async (request, endpoint, exclude) => {
    // In the gateway form all servers of the snapshot are asked.
    const ids: readonly (string | undefined)[] =
      options.local === undefined
        ? (routingTable.current()?.snapshot.servers.map(({ id }) => id) ?? [])
        : [undefined];
    const target = `/${endpoint}?${['verbose', ...exclude.map((name) => `exclude=${encodeURIComponent(name)}`)].join('&')}`;
    const { inbound } = request;
    const caller = await router.identify(inbound);
    if (caller.kind === 'response') return ids.map((id) => withHealth(notKnown(id, 'unknown')));
    const isAnonymous =
      caller.kind === 'passthrough' && firstHeader(inbound.headers, 'authorization') === undefined;
    return isAnonymous
      ? askForAnonymous(request, caller, target, ids)
      : askAll(request, caller, target, ids, inbound.signal);
  };
}

function notKnown(serverId: string | undefined, result: WhyNotKnown): ServerReport {
  return { serverId, result, checks: new Map() };
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
