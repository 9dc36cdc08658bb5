import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { type Protocol, protocols } from '../../support/api-servers/api-server-double.ts';
import { createAuthority } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { listenOnLoopback } from '../../support/listen-on-loopback.ts';
import { apiServerPair, type Client, clusterAuthority } from '../../support/security/certificates.ts';
import { answerFaults } from './answer-faults.ts';
import { type Damage, type Fault, type Place, places, withTimeouts } from './fault.ts';
import { type Form, inLaboratories, type Laboratory, type Member } from './laboratory.ts';
import type { AnswerEnd, ClientAnswer } from './record.ts';

/** Under the name of the trusted one, with another key. */
const rogueAuthority = await createAuthority('kubernetes');
const roguePair = await rogueAuthority.issue({ dnsNames: ['kubernetes.default.svc'], usage: 'server' });
const otherNamePair = await clusterAuthority.issue({ dnsNames: ['kubernetes.example'], usage: 'server' });
const expiredPair = await clusterAuthority.issue({
  dnsNames: ['kubernetes.default.svc'],
  usage: 'server',
  notBefore: new Date(Date.now() - 7_200_000),
  notAfter: new Date(Date.now() - 3_600_000),
});

/** Enough for any handshake that does go on. */
const impatient = withTimeouts({ tlsHandshake: 3_000 });

/** Faults that stand before the first byte of a request. */
const connectionFaults: readonly Fault[] = [
  { name: 'refuses connections', damage: 'not-arrived', listen: () => freePort() },
  {
    name: 'accepts connections and never says a word',
    damage: 'not-arrived',
    listen: (laboratory) => accepting(laboratory, (socket) => socket.resume()),
    configure: impatient,
  },
  {
    name: 'stops in the middle of the TLS handshake',
    damage: 'not-arrived',
    listen: (laboratory) => accepting(laboratory, halfHandshake),
    configure: impatient,
  },
  {
    name: 'resets the connection in the TLS handshake',
    damage: 'not-arrived',
    listen: (laboratory) =>
      accepting(laboratory, (socket) => socket.once('data', () => socket.resetAndDestroy())),
  },
  {
    name: 'speaks no TLS',
    damage: 'not-arrived',
    listen: (laboratory) =>
      accepting(laboratory, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')),
  },
  { name: 'shows a certificate of another name', damage: 'not-arrived', tls: { pair: otherNamePair } },
  { name: 'shows a certificate that has expired', damage: 'not-arrived', tls: { pair: expiredPair } },
  {
    name: 'shows a certificate of an authority that is not trusted',
    damage: 'not-arrived',
    tls: { pair: roguePair },
  },
  // TLS 1.3 tells a client after its handshake is over; Node tells it nothing at all. Over HTTP/2 no request is sent
  // before the server has spoken. Where an alert comes, nothing has arrived either (`src/node/destinations/exchange.ts`).
  closesOtherConnections('not-arrived', 'h2'),
  closesOtherConnections('unanswered', 'http/1.1'),
];

function closesOtherConnections(damage: Damage, protocol: Protocol): Fault {
  return {
    name: `closes the connections of front proxies that it does not accept (${protocol})`,
    damage,
    protocols: [protocol],
    tls: { clientAuthority: rogueAuthority.certificate, refusesOtherClients: true },
  };
}

/** Sends the beginning of a real ServerHello. */
function halfHandshake(socket: Socket): void {
  let left = 60;
  const inside = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      const piece = chunk.subarray(0, left);
      left -= piece.length;
      if (piece.length > 0) socket.write(piece);
      done();
    },
  });
  socket.on('data', (chunk: Buffer) => inside.push(chunk));
  socket.once('close', () => inside.destroy());
  const secureContext = createSecureContext({ cert: apiServerPair.chain, key: apiServerPair.privateKey });
  const tls = new TLSSocket(inside, { isServer: true, secureContext });
  tls.on('error', () => tls.destroy());
}

async function accepting({ context }: Laboratory, accept: (socket: Socket) => void): Promise<number> {
  const server = await listenOnLoopback(createServer(accept));
  context.after(() => server.stop());
  return server.port;
}

type Method = 'GET' | 'POST' | 'watch';

/** Answer that a client gets in the end. */
interface Outcome {
  readonly status: number | undefined;
  readonly end: AnswerEnd;
  /** Which server's answer it is; the router's own for none. */
  readonly from: 'faulty' | 'healthy' | 'router';
  /** Pattern of the router's message about the request. */
  readonly message?: RegExp;
}

const notCarriedOut =
  /could not be reached, or did not process the request; the request was not carried out.*"retryAfterSeconds":1/;
const silent = /did not respond within the allotted timeout.*"retryAfterSeconds":1/;
const notInTime = /Timeout: request did not complete within the allotted timeout/;
const maybeCarriedOut = /did not respond; the request may have been carried out/;

const invalid = /gave a response that is not valid HTTP.*; the request may have been carried out/;

/** How a request meets a fault. */
interface Meeting {
  readonly damage: Damage;
  readonly method: Method;
  readonly hasAlternative: boolean;
}

/** Outcome that a request must have when it meets a fault. Pure. */
function expectedOutcome({ damage, method, hasAlternative }: Meeting): Outcome {
  const isRead = method !== 'POST';
  switch (damage) {
    case 'not-arrived':
      return hasAlternative ? fromHealthy(method) : unavailable(notCarriedOut);
    case 'unanswered':
      return hasAlternative && isRead ? fromHealthy(method) : unavailable(maybeCarriedOut);
    case 'invalid':
      if (hasAlternative && isRead) return fromHealthy(method);
      return { status: 502, end: 'whole', from: 'router', message: invalid };
    case 'refused':
      return hasAlternative ? fromHealthy(method) : unavailable(notCarriedOut);
    case 'not-served':
      return hasAlternative ? fromHealthy(method) : { status: 404, end: 'whole', from: 'faulty' };
    case 'silent':
      if (method === 'watch') return { status: undefined, end: 'open', from: 'faulty' };
      if (!isRead) return { status: 504, end: 'whole', from: 'router', message: notInTime };
      return hasAlternative ? fromHealthy(method) : unavailable(silent);
    case 'stuck':
      return { status: 200, end: method === 'watch' ? 'open' : 'broken', from: 'faulty' };
    case 'broken-off':
      return { status: 200, end: 'broken', from: 'faulty' };
    case 'none':
      return { status: 200, end: 'whole', from: 'faulty' };
  }
}

function fromHealthy(method: Method): Outcome {
  return { status: 200, end: method === 'watch' ? 'open' : 'whole', from: 'healthy' };
}

function unavailable(message: RegExp): Outcome {
  return { status: 503, end: 'whole', from: 'router', message };
}

interface Row {
  readonly resource: string;
  readonly method: Method;
  readonly protocol: Protocol;
  /** True if a healthy server serves the resource, too. */
  readonly hasAlternative: boolean;
}

const callers: Readonly<Record<Method, Client>> = { GET: 'alice', POST: 'admin', watch: 'nobody' };

/**
 * With another server to turn to, a client of one protocol will do, and so it does for a gateway, whose candidates are
 * peers to it: how an answer reaches a client does not depend on where it comes from.
 */
function rowsFor(place: Place): readonly Row[] {
  const combinations = [
    { protocol: 'http/1.1', hasAlternative: false },
    { protocol: 'h2', hasAlternative: false },
    { protocol: place === 'peer' ? 'h2' : 'http/1.1', hasAlternative: true },
  ] as const;
  return (['GET', 'POST', 'watch'] as const).flatMap((method) =>
    combinations
      .filter(({ hasAlternative }) => place !== 'gateway' || hasAlternative)
      .map(({ protocol, hasAlternative }) => ({
        resource: `${method.toLowerCase()}${protocol === 'h2' ? 2 : 1}${hasAlternative ? 'shared' : 'alone'}`,
        method,
        protocol,
        hasAlternative,
      })),
  );
}

const resourceName = (resource: string): string => `faults.example.com/v1/${resource}`;

/** Meets one fault with every kind of request. */
async function meetFault(
  laboratory: Laboratory,
  fault: Fault,
  place: Place,
  protocol: Protocol,
): Promise<void> {
  const form: Form = place === 'gateway' ? 'gateway' : 'sidecar';
  const rows = rowsFor(place);
  const port = await listen(laboratory, fault, protocol);
  const healthy = await laboratory.startServer('healthy', { protocols: [protocol] });
  await laboratory.startRouter(
    [...faultyMembers(rows, place, port), ...otherMembers(rows, place, healthy.port)],
    {
      form,
      ...(fault.configure === undefined ? {} : { configure: fault.configure }),
    },
  );
  const meet = (row: Row): Promise<void> => meetOne(laboratory, fault, row);
  // Where time has to pass, it passes for all of them at once. Else one fault must not get into another's way.
  if (fault.configure !== undefined) await Promise.all(rows.map(meet));
  else for (const row of rows) await meet(row);
}

async function listen(laboratory: Laboratory, fault: Fault, protocol: Protocol): Promise<number> {
  if (fault.listen !== undefined) return fault.listen(laboratory);
  const { port } = await laboratory.startServer('faulty', {
    protocols: [protocol],
    ...fault.tls,
    ...(fault.script === undefined ? {} : { script: fault.script(laboratory) }),
  });
  return port;
}

/** As a peer it has one name for each row: what one request has found out of it must not help the next one. */
function faultyMembers(rows: readonly Row[], place: Place, port: number): Member[] {
  if (place !== 'local') {
    return rows.map(({ resource }) => ({
      name: `faulty-${resource}`,
      port,
      serves: [resourceName(resource)],
    }));
  }
  return [{ name: 'local', port, serves: rows.map(({ resource }) => resourceName(resource)) }];
}

function otherMembers(rows: readonly Row[], place: Place, port: number): Member[] {
  const shared = rows.filter(({ hasAlternative }) => hasAlternative);
  const serves = shared.map(({ resource }) => resourceName(resource));
  const healthy: Member = { name: 'healthy', port, serves, isHealthy: true };
  return place === 'peer' ? [healthy, { name: 'local', port, serves: [], isHealthy: true }] : [healthy];
}

async function meetOne(laboratory: Laboratory, fault: Fault, row: Row): Promise<void> {
  const { resource, method, protocol, hasAlternative } = row;
  const what = `${method} over ${protocol}, ${hasAlternative ? 'with' : 'without'} another server`;
  const expected = expectedOutcome({ damage: fault.damage, method, hasAlternative });
  const pending = await laboratory.open({
    protocol,
    caller: callers[method],
    method: method === 'POST' ? 'POST' : 'GET',
    target: `/apis/faults.example.com/v1/${resource}${method === 'watch' ? '?watch=true' : ''}`,
    ...(method === 'POST' ? { body: '{"kind":"Test"}' } : {}),
  });
  const { answer } = pending;
  const from = (): string => sourceOf(laboratory, answer);
  try {
    if (expected.end !== 'open') await eventually(() => answer.end !== 'open');
    else if (expected.status === undefined) await eventually(() => laboratory.arrived(answer).length > 0);
    else await eventually(() => answer.content.includes('ADDED') || answer.end !== 'open');
  } catch (cause) {
    throw new Error(`${what}: no outcome, but ${JSON.stringify(answer)}`, { cause });
  }
  const { status, end } = answer;
  assert.deepEqual(
    { status, end, from: from() },
    { status: expected.status, end: expected.end, from: expected.from },
    `${what}: ${answer.content}`,
  );
  if (expected.message !== undefined) assert.match(answer.content, expected.message, what);
  if (end === 'open') pending.giveUp();
}

/** Sender of the answer that the client has got, or waits for. */
function sourceOf(laboratory: Laboratory, answer: ClientAnswer): string {
  const arrived = laboratory.arrived(answer);
  if (answer.status === undefined) return arrived.at(-1)?.server ?? 'router';
  const source = arrived.find((seen) => seen.answer.status === answer.status);
  return source?.server ?? 'router';
}

/** Defines a suite for each fault that a server may have, with an experiment for each place and protocol. */
export function meetEveryFault(isWanted: (place: Place) => boolean): void {
  for (const fault of [...connectionFaults, ...answerFaults]) {
    const experiments = (fault.protocols ?? protocols).flatMap((protocol) =>
      (fault.places ?? places)
        .filter(isWanted)
        .map(
          (place) =>
            [
              `${place}, ${protocol}`,
              (laboratory: Laboratory) => meetFault(laboratory, fault, place, protocol),
            ] as const,
        ),
    );
    if (experiments.length > 0)
      inLaboratories(`a server that ${fault.name}`, Object.fromEntries(experiments));
  }
}
