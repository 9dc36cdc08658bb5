import assert from 'node:assert/strict';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { inMegabytes, settledMemory } from '../support/security/memory.ts';
import { answerFaults } from './laboratory/answer-faults.ts';
import { inLaboratory } from './laboratory/laboratory.ts';

const rounds = 4;
const requestsPerRound = 24;
/** Each round makes 24 records and log lines of its own. */
const allowed = 3 * 1024 * 1024;

for (const protocol of protocols) {
  inLaboratory(
    `hundreds of faults in a row leave neither connections nor memory behind (${protocol})`,
    async (laboratory) => {
      const faults = answerFaults.filter(
        ({ damage, protocols: only }) => damage === 'unanswered' && only?.includes(protocol) !== false,
      );
      const scripts = faults.flatMap(({ script }) => script?.(laboratory) ?? []);
      let request = 0;
      const faulty = await laboratory.startServer('faulty', {
        protocols: [protocol],
        script: (asked) => scripts[request++ % scripts.length]?.(asked),
      });
      const local = await laboratory.startServer('local', { protocols: [protocol] });
      await laboratory.startRouter([
        { name: 'faulty', port: faulty.port, serves: ['batch/v1/jobs'] },
        { name: 'local', port: local.port, serves: [], isHealthy: true },
      ]);
      const held: number[] = [];
      for (let round = 0; round < rounds; round++) {
        for (let each = 0; each < requestsPerRound; each++) {
          const method = each % 2 === 0 ? 'GET' : 'POST';
          const body = method === 'POST' ? { body: '{}' } : {};
          const answer = await laboratory.ask({
            ...{ protocol, caller: 'alice', method, target: '/apis/batch/v1/jobs' },
            ...body,
          });
          assert.equal(answer.status, 503, answer.content);
        }
        laboratory.logLines.length = 0;
        held.push(await settledMemory());
      }
      const grown = (held.at(-1) ?? 0) - (held[1] ?? 0);
      assert.ok(grown < allowed, `${inMegabytes(grown)} more than after the second round`);
      assert.ok(faulty.openConnections <= 2, `${faulty.openConnections} connections are open`);
    },
  );
}
