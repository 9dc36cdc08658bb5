import assert from 'node:assert/strict';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { eventually } from '../support/eventually.ts';
import { event } from './laboratory/asked.ts';
import { inLaboratory, type Laboratory, type Member } from './laboratory/laboratory.ts';

const target = '/apis/batch/v1/jobs';
const pairs = protocols.flatMap((server) => protocols.map((client) => ({ server, client })));

for (const { server, client } of pairs) {
  const between = `${client} to the router, ${server} to the servers`;

  inLaboratory(
    `when the preferred version changes, watches end after a whole event and go on at the other version (${between})`,
    async (laboratory) => {
      // Each moves in the first of the moments over which they are spread.
      laboratory.context.mock.method(Math, 'random', () => 0);
      const { before, after } = await startThreeServers(laboratory);
      await laboratory.startRouter(before);
      const watches = await Promise.all(
        [1, 2].map(() => laboratory.open({ ...request, target: `${target}?watch=true` })),
      );
      await eventually(() => watches.every(({ answer }) => answer.content === event(1) + half));
      for (const { answer } of watches) assert.equal(laboratory.arrived(answer)[0]?.server, 'local');

      await laboratory.push(after);
      // Nothing ends in the middle of an event.
      await laboratory.ask(request);
      assert.ok(watches.every(({ answer }) => answer.end === 'open'));
      rest.resolve();
      await eventually(() => watches.every(({ answer }) => answer.end !== 'open'));
      for (const { answer } of watches) {
        assert.deepEqual([answer.end, answer.content], ['whole', event(1) + event(2)]);
      }
      const again = await laboratory.open({ ...request, target: `${target}?watch=true` });
      await eventually(() => again.answer.content !== '');
      assert.notEqual(laboratory.arrived(again.answer)[0]?.server, 'local');
    },
  );

  const request = { protocol: client, caller: 'alice', method: 'GET', target } as const;
  const half = event(2).slice(0, 7);
  let rest = Promise.withResolvers<void>();

  /** Two of 1.31 and one of 1.36, then one of 1.31 and two of 1.36. */
  async function startThreeServers(laboratory: Laboratory) {
    rest = Promise.withResolvers();
    const before: Member[] = [];
    for (const [name, version] of [
      ['local', 'v1.31.0'],
      ['upgraded', 'v1.31.0'],
      ['newest', 'v1.36.0'],
    ] as const) {
      const { port } = await laboratory.startServer(name, {
        protocols: [server],
        async script(asked) {
          asked.begin(200, { 'content-type': 'application/json' });
          if (!asked.isWatch) {
            asked.send('{"items":[]}');
            asked.end();
            return;
          }
          asked.send(event(1) + half);
          await rest.promise;
          if (!asked.isCut && !asked.seen.isOver) asked.send(event(2).slice(half.length));
        },
      });
      before.push({ name, port, serves: ['batch/v1/jobs'], version, isHealthy: true });
    }
    const after = before.map((member) =>
      member.name === 'upgraded' ? { ...member, version: 'v1.36.0' } : member,
    );
    return { before, after };
  }
}
