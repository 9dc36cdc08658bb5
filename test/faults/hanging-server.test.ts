import assert from 'node:assert/strict';
import { protocols } from '../support/security/recording-backend.ts';
import { withTimeouts } from './laboratory/fault.ts';
import { inLaboratories, type Laboratory } from './laboratory/laboratory.ts';

const resource = 'faults.example.com/v1/things';
const target = `/apis/${resource}`;

/** A server that takes requests and says nothing, a healthy one beside it, and a router that is as patient as a test. */
async function beside(
  laboratory: Laboratory,
  protocol: (typeof protocols)[number],
  hanging: 'local' | 'peer',
): Promise<void> {
  const silent = await laboratory.startServer('faulty', { protocols: [protocol], script: () => {} });
  const healthy = await laboratory.startServer('healthy', { protocols: [protocol] });
  const other = { name: 'healthy', port: healthy.port, serves: [resource], isHealthy: true };
  const members =
    hanging === 'local'
      ? [{ name: 'local', port: silent.port, serves: [resource] }, other]
      : [
          { name: 'local', port: healthy.port, serves: [], isHealthy: true },
          { name: 'faulty', port: silent.port, serves: [resource] },
          other,
        ];
  await laboratory.startRouter(members, {
    configure: withTimeouts({ responseHeader: 1_500, request: 6_000 }),
  });
}

inLaboratories(
  'a read that a server leaves without a byte of an answer is tried at one other; a write ends in 504',
  Object.fromEntries(
    protocols.flatMap((protocol) =>
      (['local', 'peer'] as const).map((hanging) => [
        `${hanging}, ${protocol}`,
        async (laboratory: Laboratory) => {
          await beside(laboratory, protocol, hanging);
          const ask = (method: string) =>
            laboratory.ask({ protocol: 'http/1.1', caller: 'admin', method, target });
          // Of two with as much to do the first one is asked first, so one after the other.
          const read = await ask('GET');
          const write = await ask('DELETE');
          assert.equal(read.status, 200, read.content);
          assert.deepEqual(
            laboratory.arrived(read).map(({ server }) => server),
            ['faulty', 'healthy'],
          );
          assert.equal(write.status, 504, write.content);
          assert.deepEqual(
            laboratory.arrived(write).map(({ server }) => server),
            ['faulty'],
          );
          assert.doesNotMatch(write.content, /retryAfterSeconds/);
        },
      ]),
    ),
  ),
);
