import { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Findings } from '../record/findings.ts';
import { type Answer, attempt, type ClientRequest, type Failure } from './attempt.ts';

/** What all clients of a cluster share. */
export interface ClientOptions {
  /** `https://host:port` of the load balancer. */
  readonly origin: string;
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly findings: Findings;
  /** Milliseconds after which what a server serves has to be in discovery. Default: 5000. */
  readonly settling?: number | undefined;
  /** Whether a server has served the resource in all the time from then to now. */
  readonly wasServed: (groupVersion: string, resource: string, since: number) => boolean;
  /** Aborts when the load is to end. */
  readonly signal: AbortSignal;
}

/** What a request is about, for judging its answer; the objects that are read are always there. */
export interface Subject {
  readonly groupVersion: string;
  readonly resource: string;
}

/** As many as client-go makes (k8s.io/client-go rest/request.go). */
const retries = 10;
const retryPause = 1_000;

/**
 * Asks as client-go does: a response of 429 or 5xx with Retry-After is asked for again, whatever the verb; a
 * connection that breaks under a GET as well, under anything else never (rest/with_retry.go, rest/request.go). Go's
 * own transport repeats at once what it sent on a kept connection that turned out to be closed, if it was a GET.
 */
export class ApiClient {
  readonly options: ClientOptions;
  readonly agent: Agent;

  constructor(options: ClientOptions) {
    this.options = options;
    this.agent = new Agent({ keepAlive: true, maxSockets: 4, ...options.tls });
  }

  /**
   * @param subject left out for a document of the whole cluster, which every server has
   * @returns `undefined` when there was no response in the end, which is taken down.
   */
  async ask(request: ClientRequest, subject: Subject | undefined): Promise<Answer | undefined> {
    const { findings, signal } = this.options;
    for (let tries = 0; ; tries += 1) {
      const begun = performance.now();
      findings.asked();
      const outcome = await attempt(this.options.origin, this.agent, request);
      if (outcome.kind === 'answer') {
        this.judge(request, subject, outcome, begun);
        const mayAskAgain = (outcome.status === 429 || outcome.status >= 500) && tries < retries;
        const retryAfter = Number(outcome.headers['retry-after']);
        if (!mayAskAgain || !(retryAfter > 0) || signal.aborted) return outcome;
        await sleep(retryAfter * 1000);
        continue;
      }
      if (tries >= retries || signal.aborted || !isAskedAgain(request, outcome)) {
        this.#noteFailure(request, outcome);
        return undefined;
      }
      if (request.method === 'GET') findings.add('brokenReads', `${describe(request)}: ${outcome.message}`);
      if (!(request.method === 'GET' && outcome.reused)) await sleep(retryPause);
    }
  }

  /** Takes down a response that should have been another one. */
  judge(request: ClientRequest, subject: Subject | undefined, { status, body }: Answer, begun: number): void {
    if (status < 500 && status !== 404) return;
    const { findings, wasServed } = this.options;
    const detail = `${describe(request)}: ${status} ${body.slice(0, 300).trim()}`;
    const couldBeServed = subject === undefined || wasServed(subject.groupVersion, subject.resource, begun);
    if (status === 404) {
      if (subject !== undefined && couldBeServed) findings.add('wrongNotFound', detail);
    } else if (!couldBeServed) findings.add('refusedWithoutServer', detail);
    else findings.add(request.method === 'GET' ? 'readServerErrors' : 'writeServerErrors', detail);
  }

  close(): void {
    this.agent.destroy();
  }

  #noteFailure(request: ClientRequest, { message, unsent }: Failure): void {
    const { findings } = this.options;
    const detail = `${describe(request)}: ${message}`;
    if (request.method === 'GET') findings.add('failedReads', detail);
    // What was provably not sent is no write of unknown outcome: whoever wanted it asks anew.
    else if (!unsent) findings.add('unknownWrites', detail);
  }
}

export function describe({ method, path }: ClientRequest): string {
  return `${method} ${path}`;
}

function isAskedAgain({ method }: ClientRequest, { unsent }: Failure): boolean {
  return method === 'GET' || unsent;
}
