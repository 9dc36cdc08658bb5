import assert from 'node:assert/strict';
import type { Protocol } from '../../support/api-server-double.ts';
import { eventually } from '../../support/eventually.ts';
import type { Client } from '../../support/security/certificates.ts';
import type { Fault, Place } from './fault.ts';
import type { Form, Laboratory, Member } from './laboratory.ts';
import { expectedOutcome, type Method } from './outcome.ts';
import type { ClientAnswer } from './record.ts';

interface Row {
  readonly resource: string;
  readonly method: Method;
  readonly protocol: Protocol;
  /** Whether a healthy server serves the resource, too. */
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
export async function meetFault(
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

/** Whose answer the client has got, or waits for. */
function sourceOf(laboratory: Laboratory, answer: ClientAnswer): string {
  const arrived = laboratory.arrived(answer);
  if (answer.status === undefined) return arrived.at(-1)?.server ?? 'router';
  const source = arrived.find((seen) => seen.answer.status === answer.status);
  return source?.server ?? 'router';
}
