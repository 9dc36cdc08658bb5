import type { UserInfo } from '../../src/request/user-info.ts';
import { sealedMediaType } from '../../src/snapshot/receiving/snapshot-endpoint.ts';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { admin, assertedBy, tokenOf } from './callers.ts';
import { type Cluster, clusterSnapshot, severalVersionsSnapshot } from './cluster.ts';
import type { Capability, ConformanceCase, FirstSnapshot, World } from './conformance-case.ts';
import { snapshotKey } from './credentials.ts';
import type { ConformanceRuntime, Reservation, RunningRuntime } from './runtime.ts';
import type { ClientRequest, Exchange } from './wire/exchange.ts';

/** Milliseconds after which a case has failed. */
const caseTimeout = 60_000;

/** Outcome of one case on one runtime. */
export type Outcome =
  | { readonly kind: 'holds' }
  | Reservation
  | { readonly kind: 'fails'; readonly error: unknown };

/** Values that a run measured and that have to be equal on every runtime, by name. */
export interface Findings {
  readonly figures: Map<string, number>;
  readonly agreements: Map<string, string>;
}

export function newFindings(): Findings {
  return { figures: new Map(), agreements: new Map() };
}

/** Why a case is not shown on a runtime, by what was declared; `undefined` when it has to hold. */
export function reservationFor(
  runtime: ConformanceRuntime,
  { id, needs = [] }: ConformanceCase,
): Reservation | undefined {
  const exception = runtime.exceptions?.[id];
  if (exception !== undefined) return exception;
  const lacking = needs.find((need: Capability) => runtime.lacks[need] !== undefined);
  return lacking && runtime.lacks[lacking];
}

/** Cases that one router can serve, and the snapshot that it begins with. */
export interface Round {
  readonly snapshot: FirstSnapshot;
  readonly cases: readonly ConformanceCase[];
}

/** The cases that have to hold on `runtime`, by the snapshot that they need. */
export function roundsOf(runtime: ConformanceRuntime, cases: readonly ConformanceCase[]): readonly Round[] {
  const rounds = new Map<FirstSnapshot, { snapshot: FirstSnapshot; cases: ConformanceCase[] }>();
  for (const each of cases) {
    if (reservationFor(runtime, each) !== undefined) continue;
    const { snapshot = 'current' } = each;
    const round = rounds.get(snapshot) ?? { snapshot, cases: [] };
    round.cases.push(each);
    rounds.set(snapshot, round);
  }
  return [...rounds.values()];
}

/** The router of a round, as it runs. */
export interface StartedRound extends RunningRuntime, Pick<World, 'callerLine'> {}

/** Starts the router of a round and gives it its snapshot, through its own endpoint. */
export async function startRound(
  runtime: ConformanceRuntime,
  { snapshot: first }: Round,
  cluster: Cluster,
): Promise<StartedRound> {
  const callerLine = runtime.lacks.assertions === undefined ? assertedBy : tokenOf;
  const running = { ...(await runtime.start(cluster)), callerLine };
  if (first === 'none') return running;
  const createdAt = new Date().toISOString();
  const snapshotOfRound = first === 'several-versions' ? severalVersionsSnapshot : clusterSnapshot;
  const snapshot = snapshotOfRound(cluster, { generation: 5, createdAt });
  const target = '/.mixed-version-proxy/v1/snapshot';
  const exchange = running.client.send({
    target,
    method: 'PUT',
    headers: ['Content-Type', sealedMediaType, ...(await callerLine(admin, { target, method: 'PUT' }))],
    body: await sealSnapshot(snapshot, snapshotKey),
  });
  const { status, body } = await exchange.answer;
  const text = await body.toEnd();
  if (status !== 200) {
    await running.close();
    throw new Error(`the snapshot was not taken: ${status} ${text}`);
  }
  return running;
}

/** Runs one case against a started router. @throws when it fails, or does not end in time. */
export async function runCase(
  each: ConformanceCase,
  { client, callerLine }: StartedRound,
  cluster: Cluster,
  findings: Findings,
): Promise<void> {
  cluster.reset();
  const exchanges: Exchange[] = [];
  const send: World['send'] = async (request, who) => {
    const exchange = client.send(who === undefined ? request : await as(who, request, callerLine));
    exchanges.push(exchange);
    return exchange;
  };
  const open: World['open'] = async (request, who) => (await send(request, who)).answer;
  const world: World = {
    client,
    cluster,
    callerLine,
    send,
    open,
    async ask(request, who) {
      const { status, headers, body } = await open(request, who);
      return { status, headers, body: await body.toEnd() };
    },
    figure: (name, milliseconds) => void findings.figures.set(name, milliseconds),
    agree(name, value) {
      const earlier = findings.agreements.get(name);
      if (earlier !== undefined && earlier !== value) {
        throw new Error(`${name} is not the same: ${earlier} and ${value}`);
      }
      findings.agreements.set(name, value);
    },
  };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${each.id} did not end within ${caseTimeout} ms`)),
    caseTimeout,
  );
  try {
    await Promise.race([each.run(world), late.promise]);
  } finally {
    clearTimeout(timer);
    for (const exchange of exchanges) exchange.disconnect();
  }
}

/** The request with what tells who calls; a mark on it is the asserting router's own. */
async function as(
  who: UserInfo,
  request: ClientRequest,
  callerLine: World['callerLine'],
): Promise<ClientRequest> {
  const { target, method = 'GET', headers = [] } = request;
  const rerouted = headers.some(
    (line, index) => index % 2 === 0 && /^x-kubernetes-peer-proxied$/i.test(line),
  );
  return { ...request, headers: [...headers, ...(await callerLine(who, { target, method, rerouted }))] };
}
