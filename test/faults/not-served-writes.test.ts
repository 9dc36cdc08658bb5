import assert from 'node:assert/strict';
import { maximumKept } from '../../src/node/exchange/request-body.ts';
import { shuttingDownStatus } from '../../src/proxy/judge-response.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { answerNotServed, refuseAsItEnds } from './laboratory/answer-faults.ts';
import type { Script } from './laboratory/asked.ts';
import { inLaboratories, type Laboratory } from './laboratory/laboratory.ts';

const resource = 'faults.example.com/v1/things';
const target = `/apis/${resource}`;
/** Bodies of every form in which one goes out: in one piece, streamed, and too large to be kept. */
const bodies = { small: 'a'.repeat(1_000), streamed: 'b'.repeat(40_000), large: 'c'.repeat(maximumKept + 1) };

type Experiment = (laboratory: Laboratory, denying: 'local' | 'peer') => Promise<void>;

const denies: Script = (asked) => answerNotServed(asked, '404 page not found\n', 'text/plain; charset=utf-8');

/** One server that has become another version, or does what `script` says, and one that serves the resource. */
function experiments(
  body: Experiment,
  script: Script = denies,
): Record<string, (laboratory: Laboratory) => Promise<void>> {
  const places = ['local', 'peer'] as const;
  return Object.fromEntries(
    protocols.flatMap((protocol) =>
      places.map((denying) => [
        `${denying}, ${protocol}`,
        async (laboratory: Laboratory) => {
          const changed = await laboratory.startServer('changed', {
            protocols: [protocol],
            script,
          });
          const healthy = await laboratory.startServer('healthy', { protocols: [protocol] });
          const other = { name: 'healthy', port: healthy.port, serves: [resource], isHealthy: true };
          await laboratory.startRouter(
            denying === 'local'
              ? [{ name: 'local', port: changed.port, serves: [resource] }, other]
              : [
                  { name: 'local', port: healthy.port, serves: [], isHealthy: true },
                  { name: 'changed', port: changed.port, serves: [resource] },
                  other,
                ],
          );
          await body(laboratory, denying);
        },
      ]),
    ),
  );
}

const reachesAnother: Experiment = async (laboratory) => {
  for (const [method, body] of [
    ['POST', bodies.small],
    ['PUT', bodies.streamed],
    ['PATCH', bodies.small],
    ['DELETE', undefined],
    ['DELETE', '{"kind":"DeleteOptions"}'],
  ] as const) {
    const answer = await laboratory.ask({
      protocol: 'http/1.1',
      caller: 'admin',
      method,
      target,
      ...(body === undefined ? {} : { body }),
    });
    assert.equal(answer.status, 200, `${method}: ${answer.content}`);
    const [first, second] = laboratory.arrived(answer);
    assert.deepEqual([first?.server, second?.server], ['changed', 'healthy'], method);
    assert.equal(second?.body, body ?? '', method);
  }
  // In one frame, and with a length only the framing tells.
  const answer = await laboratory.ask({
    protocol: 'h2',
    caller: 'admin',
    method: 'POST',
    target,
    body: '{}',
  });
  assert.equal(answer.status, 200, answer.content);
  assert.deepEqual(
    laboratory.arrived(answer).map((seen) => seen.body),
    ['{}', '{}'],
  );
};

inLaboratories(
  'a write to a server that does not have the resource any more reaches another one, its body whole',
  experiments(reachesAnother),
);

inLaboratories(
  'a write to a server that ends reaches another one, its body whole',
  experiments(reachesAnother, refuseAsItEnds),
);

const tooLarge =
  (content: string | RegExp): Experiment =>
  async (laboratory) => {
    const request = { protocol: 'http/1.1', caller: 'admin', method: 'POST', target } as const;
    const answer = await laboratory.ask({ ...request, body: bodies.large });
    assert.equal(answer.status, 503);
    if (typeof content === 'string') assert.equal(answer.content, content);
    else assert.match(answer.content, content);
    assert.deepEqual(
      laboratory.arrived(answer).map((seen) => seen.server),
      ['changed'],
    );
  };

inLaboratories(
  'a body that was too large to be kept gets 503 and Retry-After from a server that ends',
  experiments(tooLarge(shuttingDownStatus), refuseAsItEnds),
);

inLaboratories(
  'a body that was too large to be kept gets 503 and Retry-After in place of a false 404',
  experiments(tooLarge(/what the API servers serve is changing.*"retryAfterSeconds":1/s)),
);
