import assert from 'node:assert/strict';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { notServedStatus } from '../../src/proxy/judge-response.ts';
import { unavailable } from '../../src/proxy/unavailable.ts';
import { type Protocol, protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { rawHttp1 } from '../support/clients/raw-http1.ts';
import { answerNotServed, refuse, refuseAsItEnds } from './laboratory/answer-faults.ts';
import type { Script } from './laboratory/asked.ts';
import { inLaboratories, type Laboratory } from './laboratory/laboratory.ts';
import { type ClientAnswer, requestIdHeader } from './laboratory/record.ts';

const resource = 'faults.example.com/v1/things';
const target = `/apis/${resource}`;

/** As the router of a peer whose API server is down (RFC 9209). */
const isDownBehindItsRouter: Script = async (asked) =>
  refuse(asked, 503, await unavailable('ServerNotReady').text(), {
    'proxy-status': 'mixed-version-proxy; error=destination_unavailable',
  });

/** Count of the responses with `code`. */
async function counted(laboratory: Laboratory, code: number): Promise<number> {
  const path = '/.mixed-version-proxy/metrics';
  const { body } = await ask(laboratory.port, { client: 'admin', path });
  const lines = body.split('\n').filter((line) => line.startsWith('mixed_version_proxy_requests_total{'));
  const ofCode = lines.filter((line) => line.includes(`code="${code}"`) && line.includes('things'));
  return ofCode.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** A router before one server, the only one that there is. */
async function startWithOneServer(laboratory: Laboratory, protocol: Protocol, script: Script): Promise<void> {
  const { port } = await laboratory.startServer('only', { protocols: [protocol], script });
  await laboratory.startRouter([{ name: 'local', port, serves: [resource, 'v1/pods'] }]);
}

/** For the invariants of the laboratory, which does not note header lines itself. */
function noteResponse(
  { answers }: Laboratory,
  noted: Pick<ClientAnswer, 'requestId' | 'protocol' | 'target' | 'status' | 'content'>,
): void {
  const isWatch = noted.target.includes('watch=true');
  answers.push({ ...noted, method: 'GET', caller: 'admin', isWatch, end: 'whole', gaveUp: false });
}

const refusals: Readonly<Record<string, readonly [code: number, script: Script]>> = {
  'the plain 404 of a server that lacks the group': [
    404,
    (asked) => answerNotServed(asked, '404 page not found\n', 'text/plain; charset=utf-8'),
  ],
  'the 404 of a server that lacks the version': [
    404,
    (asked) => answerNotServed(asked, notServedStatus, 'application/json'),
  ],
  'the 503 of a server that ends': [503, refuseAsItEnds],
};

inLaboratories(
  'the refusal of the only server has an Audit-ID and is counted, over both protocols',
  Object.fromEntries(
    Object.entries(refusals).flatMap(([what, [code, script]]) =>
      protocols.map((protocol) => [
        `${what}, ${protocol}`,
        async (laboratory: Laboratory) => {
          await startWithOneServer(laboratory, protocol, script);
          for (const clients of protocols) {
            const { status, headers, body } = await ask(laboratory.port, {
              protocol: clients,
              client: 'admin',
              path: target,
              headers: ['audit-id', 'of-the-client', requestIdHeader, clients],
            });
            noteResponse(laboratory, {
              requestId: clients,
              protocol: clients,
              target,
              status,
              content: body,
            });
            assert.equal(status, code);
            assert.equal(firstHeader(headers, 'audit-id'), 'of-the-client');
          }
          assert.equal(await counted(laboratory, code), 2);
        },
      ]),
    ),
  ),
);

const upgrades: Readonly<Record<string, readonly [path: string, script: Script]>> = {
  'a watch over WebSocket, of a server that ends': [`${target}?watch=true`, refuseAsItEnds],
  'exec, of a server that is down behind its router': [
    '/api/v1/namespaces/default/pods/a/exec?command=id',
    isDownBehindItsRouter,
  ],
};

inLaboratories(
  'an upgrade that the only server refuses gets 503 with Retry-After and an Audit-ID',
  Object.fromEntries(
    Object.entries(upgrades).map(([what, [path, script]]) => [
      what,
      async (laboratory: Laboratory) => {
        await startWithOneServer(laboratory, 'http/1.1', script);
        const client = await rawHttp1(laboratory.context, laboratory.port, 'admin');
        client.write(
          `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAudit-ID: of-the-client\r\n${requestIdHeader}: 1\r\n\r\n`,
        );
        const response = await client.untilEnd();
        const [head, content = ''] = response.split('\r\n\r\n');
        const status = Number(head?.split(' ')[1]);
        noteResponse(laboratory, { requestId: '1', protocol: 'http/1.1', target: path, status, content });
        assert.match(response, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
        assert.match(response, /\r\nretry-after: 1\r\n/i);
        assert.match(response, /\r\naudit-id: of-the-client\r\n/i);
      },
    ]),
  ),
);
