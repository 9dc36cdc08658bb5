import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { maximumKept } from '../../src/node/exchange/request-body.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import type { Script } from './laboratory/asked.ts';
import { answerWell } from './laboratory/asked.ts';
import { goAway } from './laboratory/http2-frames.ts';
import { inLaboratories, type Laboratory } from './laboratory/laboratory.ts';

const resource = 'faults.example.com/v1/things';
const target = `/apis/${resource}`;

/** How a server says that it has not processed a request (RFC 9113 sections 6.8 and 8.7). */
const refusals: Readonly<Record<string, Script>> = {
  'a GOAWAY that names an earlier stream as the last': (asked) => {
    asked.seen.answer.refused = true;
    asked.raw(goAway(0, constants.NGHTTP2_NO_ERROR));
  },
  REFUSED_STREAM: (asked) => asked.reset(constants.NGHTTP2_REFUSED_STREAM),
};

/** The first `times` requests are refused, wherever they are asked. */
const refusing = (refuse: Script, times: number): Script => {
  let count = 0;
  return (asked) => (count++ < times ? refuse(asked) : answerWell(asked));
};

async function startWithOneServer(laboratory: Laboratory, script: Script): Promise<void> {
  const { port } = await laboratory.startServer('only', { protocols: ['h2'], script });
  await laboratory.startRouter([{ name: 'local', port, serves: [resource] }]);
}

const write = (laboratory: Laboratory, protocol: (typeof protocols)[number], body: string) =>
  laboratory.ask({ protocol, caller: 'admin', method: 'POST', target, body });

// In one frame with the head, streamed, and as large as it may be.
const lengths = [1_000, 40_000, maximumKept];

inLaboratories(
  'a write that its server did not process is asked of it again, its body from the first byte on',
  Object.fromEntries(
    Object.entries(refusals).map(([name, refuse]) => [
      name,
      async (laboratory: Laboratory) => {
        let script = refusing(refuse, 0);
        await startWithOneServer(laboratory, (asked) => script(asked));
        for (const length of lengths) {
          script = refusing(refuse, 1);
          const body = 'a'.repeat(length);
          const answer = await write(laboratory, 'http/1.1', body);
          assert.equal(answer.status, 200, answer.content);
          assert.deepEqual(
            laboratory.arrived(answer).map((seen) => seen.body === body),
            [true, true],
          );
        }
      },
    ]),
  ),
);

inLaboratories('a write that meets one GOAWAY after another is asked again each time', {
  'six times, as a client straight to the server does': async (laboratory) => {
    const refuse = refusals['a GOAWAY that names an earlier stream as the last'] as Script;
    await startWithOneServer(laboratory, refusing(refuse, 6));
    for (const protocol of protocols) {
      const answer = await write(laboratory, protocol, '{}');
      assert.equal(answer.status, 200, answer.content);
    }
  },
});

inLaboratories('a write whose body is too large to be kept', {
  'gets 503 with Retry-After, and is told that it was not processed': async (laboratory) => {
    const refuse = refusals['a GOAWAY that names an earlier stream as the last'] as Script;
    await startWithOneServer(laboratory, refusing(refuse, 1));
    const answer = await write(laboratory, 'http/1.1', 'a'.repeat(maximumKept + 1));
    assert.equal(answer.status, 503);
    assert.match(
      answer.content,
      /did not process the request; the request was not carried out.*"retryAfterSeconds":1/,
    );
    assert.equal(laboratory.arrived(answer).length, 1);
  },
});
