import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { eventually } from '../support/eventually.ts';
import { clientTls } from '../support/security/certificates.ts';
import { answerFaults } from './laboratory/answer-faults.ts';
import { answerWell } from './laboratory/asked.ts';
import type { Fault } from './laboratory/fault.ts';
import { inLaboratory, type Laboratory } from './laboratory/laboratory.ts';
import { expectedOutcome } from './laboratory/outcome.ts';
import type { ScriptedServer } from './laboratory/scripted-server.ts';

/** Reads that find no idle connection before one is opened for them (`src/node/http1-read-connections.ts`). */
const readsForAConnection = 16;
const get = (resource: string) =>
  ({ protocol: 'h2', caller: 'alice', method: 'GET', target: `/apis/batch/v1/${resource}` }) as const;

/** Busy with reads, the router opens an HTTP/1.1 connection for them to a server that speaks HTTP/2, too. */
async function untilReadsHaveTheirConnection(
  laboratory: Laboratory,
  { others }: ScriptedServer,
): Promise<void> {
  const session = connect(`https://127.0.0.1:${laboratory.port}`, {
    servername: 'localhost',
    ...clientTls('alice'),
  });
  session.on('error', () => {});
  others.length = 0;
  try {
    while (others.at(-1)?.protocol !== 'http/1.1') {
      const stream = session.request({ ':path': get('alone').target });
      await stream.toArray();
      assert.ok(others.length < 10 * readsForAConnection, 'it has never opened one');
    }
  } finally {
    session.destroy();
  }
}

async function meetFault(laboratory: Laboratory, fault: Fault): Promise<void> {
  const protocols = ['h2', 'http/1.1'] as const;
  const local = await laboratory.startServer('local', { protocols });
  const faulty = await laboratory.startServer('faulty', { protocols });
  await laboratory.startRouter([
    { name: 'faulty', port: faulty.port, serves: ['batch/v1/alone', 'batch/v1/shared'] },
    { name: 'local', port: local.port, serves: [] },
    { name: 'healthy', port: local.port, serves: ['batch/v1/shared'], isHealthy: true },
  ]);
  for (const resource of ['alone', 'shared']) {
    await untilReadsHaveTheirConnection(laboratory, faulty);
    faulty.script = fault.script?.(laboratory) ?? answerWell;
    const answer = await laboratory.ask(get(resource));
    const { damage } = fault;
    const hasAlternative = resource === 'shared';
    const expected = expectedOutcome({ damage, method: 'GET', hasAlternative, place: 'peer' });
    assert.deepEqual([answer.status, answer.end], [expected.status, expected.end], answer.content);
    assert.equal(laboratory.arrived(answer)[0]?.protocol, 'http/1.1');
    // And whatever that was, nobody gets it for an answer to something else.
    await eventually(() => laboratory.arrived(answer).every(({ isOver }) => isOver));
    faulty.script = answerWell;
    assert.match((await laboratory.ask(get('alone'))).content, /"answeredBy":"faulty"/);
  }
}

const faults = answerFaults.filter(
  ({ protocols, configure }) => configure === undefined && protocols?.includes('http/1.1') !== false,
);
for (const fault of faults) {
  inLaboratory(`a connection for reads, and a server that ${fault.name}`, (laboratory) =>
    meetFault(laboratory, fault),
  );
}
