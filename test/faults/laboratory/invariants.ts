import type { Client } from '../../support/security/certificates.ts';
import { type ClientAnswer, type LaboratoryRecord, resourceOf, type SeenRequest } from './record.ts';

/** A rule that must hold whatever servers do. Each gives its violations in words; none is a good experiment. */
export type Invariant = (record: LaboratoryRecord) => string[];

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD']);

function seenOf(record: LaboratoryRecord, answer: ClientAnswer): SeenRequest[] {
  return record.seen.filter(({ requestId }) => requestId === answer.requestId);
}

function healthyServerOf(record: LaboratoryRecord, target: string): string | undefined {
  const resource = resourceOf(target);
  return record.servers.find(({ serves, isHealthy }) => isHealthy && serves.includes(resource))?.name;
}

/** A live server serves it: whatever happens on the way, it exists. */
const neverAFalseNotFound: Invariant = (record) =>
  record.answers.flatMap((answer) => {
    if (answer.status !== 404) return [];
    const server = healthyServerOf(record, answer.target);
    return server === undefined ? [] : [`${answer.requestId}: 404 for what ${server} serves`];
  });

/** KEP-4020: from the router that took the request to a peer, and no further. */
const neverTwoHops: Invariant = ({ seen }) =>
  seen.flatMap(({ requestId, server, via, marks }) => {
    // A router that hands a rerouted request to its own API server takes the mark off.
    const hops = via.length - 1 + marks.length;
    return hops <= 1 ? [] : [`${requestId}: ${hops} hops to ${server} (${via.join(', ')})`];
  });

/** User who arrives when a client calls. */
interface Identity {
  readonly users: readonly string[];
  readonly groups: readonly string[];
  readonly clientCertificate: string | undefined;
}

const nobody: Identity = { users: [], groups: [], clientCertificate: undefined };
const identities: Readonly<Partial<Record<Client, Identity>>> = {
  nobody,
  alice: {
    users: ['alice'],
    groups: ['dev', 'system:authenticated'],
    clientCertificate: 'front-proxy-client',
  },
  admin: {
    users: ['admin'],
    groups: ['system:masters', 'system:authenticated'],
    clientCertificate: 'front-proxy-client',
  },
};

/** A caller arrives as himself: on the first try, on the second, and on whatever connection. */
const neverAnotherIdentity: Invariant = (record) =>
  record.seen.flatMap((seen) => {
    const answer = record.answers.find(({ requestId }) => requestId === seen.requestId);
    if (answer === undefined) return [`${seen.requestId}: arrived, and no client has sent it`];
    const { users, groups, clientCertificate }: Identity = seen;
    const expected = JSON.stringify(identities[answer.caller] ?? nobody);
    const found = JSON.stringify({ users, groups, clientCertificate });
    return found === expected ? [] : [`${seen.requestId}: ${found} arrived instead of ${expected}`];
  });

/** RFC 9110 section 9.2.2: what is not idempotent is not sent again once it may have been carried out. */
const neverAWriteTwice: Invariant = (record) =>
  record.answers.flatMap((answer) => {
    if (reads.has(answer.method)) return [];
    const arrived = seenOf(record, answer).filter((seen) => !seen.answer.refused);
    if (arrived.length <= 1) return [];
    return [
      `${answer.requestId}: ${answer.method} arrived at ${arrived.map(({ server }) => server).join(', ')}`,
    ];
  });

/** An answer of a server is passed on, and a read that another server can answer is tried there. */
const unavailableOnlyWithoutAnAnswer: Invariant = (record) =>
  record.answers.flatMap((answer) => {
    if (answer.status !== 503) return [];
    const answered = seenOf(record, answer).find(
      (seen) => seen.answer.status !== undefined && !seen.answer.refused,
    );
    if (answered !== undefined && answered.answer.status !== 503) {
      return [`${answer.requestId}: 503, and ${answered.server} had answered ${answered.answer.status}`];
    }
    const able = reads.has(answer.method) ? healthyServerOf(record, answer.target) : undefined;
    return able === undefined ? [] : [`${answer.requestId}: 503 for a read that ${able} could have answered`];
  });

/** Nothing is lost, nothing comes twice, and an end that looks clean is one: between two events. */
const watchesSeeEveryEventOrACleanEnd: Invariant = (record) =>
  record.answers.flatMap((answer) => {
    if (!answer.isWatch || answer.status !== 200) return [];
    const sent = seenOf(record, answer).find((seen) => seen.answer.status === 200)?.answer;
    if (sent === undefined) return [`${answer.requestId}: a watch that no server has answered`];
    if (!sent.content.startsWith(answer.content)) return [`${answer.requestId}: events that no server sent`];
    if (answer.end !== 'whole') return [];
    if (answer.content !== '' && !answer.content.endsWith('\n')) {
      return [`${answer.requestId}: a clean end in the middle of an event`];
    }
    if (record.endsWatches) return [];
    // Events that the server had sent may be lost with its connection: the client asks for them again, from its last
    // event.
    if (sent.end === 'broken') return [];
    if (sent.end === 'whole' && sent.content === answer.content) return [];
    return [`${answer.requestId}: a clean end of a watch that the server has not ended`];
  });

/** A list that breaks off and looks whole lets controllers delete what is missing in it. */
const aPartIsNeverTheWhole: Invariant = (record) =>
  record.answers.flatMap((answer) => {
    if (answer.isWatch || answer.end !== 'whole') return [];
    const answered = seenOf(record, answer).filter((seen) => seen.answer.status === answer.status);
    const source = answered.at(-1)?.answer;
    // The router's own answer.
    if (source === undefined) return [];
    if (source.end === 'whole' && source.content === answer.content) return [];
    return [`${answer.requestId}: ${answer.content.length} bytes passed for the whole answer`];
  });

/** Where the client has its answer, or has gone, no server works on the request any more. */
export const nothingIsLeftRunning: Invariant = ({ seen, answers }) =>
  seen.flatMap(({ requestId, server, isOver }) => {
    const answer = answers.find((each) => each.requestId === requestId);
    const clientIsDone = answer === undefined || answer.gaveUp || answer.end !== 'open';
    return isOver || !clientIsDone ? [] : [`${requestId}: still open at ${server}`];
  });

export const invariants: Readonly<Record<string, Invariant>> = {
  'no false 404 for what a live server serves': neverAFalseNotFound,
  'never two hops': neverTwoHops,
  'never another identity': neverAnotherIdentity,
  'never a write twice': neverAWriteTwice,
  '503 only when no candidate answered': unavailableOnlyWithoutAnAnswer,
  'a watch sees every event or a clean end': watchesSeeEveryEventOrACleanEnd,
  'a part never passes for the whole': aPartIsNeverTheWhole,
  'no exchange is left running': nothingIsLeftRunning,
};

/** Every violation, under the name of what it violates. */
export function violationsIn(record: LaboratoryRecord): string[] {
  return Object.entries(invariants).flatMap(([name, invariant]) =>
    invariant(record).map((violation) => `${name}: ${violation}`),
  );
}
