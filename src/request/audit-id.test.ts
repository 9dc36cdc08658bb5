import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { mixedCluster } from '../../test/support/decision-rows.ts';
import { inboundRequest } from '../../test/support/inbound-request.ts';
import { recordingLogger } from '../../test/support/recording-logger.ts';
import { type RecordingTransport, recordingTransport } from '../../test/support/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/test-app.ts';
import { allHeaders, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { TransportError } from './destination.ts';
import { auditIdOf, withAuditId } from './headers.ts';
import type { RequestObserver } from './request-record.ts';
import { passedOnResponse } from './transport.ts';

const jobs = 'https://router/apis/batch/v1/jobs';

/** As an audit or a trace does: the ID is asked for before the request leaves. */
const writesAboutIt: RequestObserver = {
  accepted({ inbound }) {
    auditIdOf(inbound);
  },
};

describe('the audit ID', () => {
  it("is the request's own where it is plain, and stays the same", () => {
    const inbound = inboundRequest(['audit-id', 'from-kubectl_1:2.3']);
    assert.equal(auditIdOf(inbound), 'from-kubectl_1:2.3');
    assert.equal(auditIdOf(inbound), 'from-kubectl_1:2.3');
  });

  it('is a new one where the given one is long, empty, or could be taken for something else', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constant(''), fc.constant('a'.repeat(65)), fc.stringMatching(/^.*[\s"'<>{},;=\\].*$/)),
        (given) => {
          const made = auditIdOf(inboundRequest(['Audit-ID', given]));
          assert.match(made, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        },
      ),
    );
  });

  it('goes to the destination in place of what the client sent, once somebody writes about the request', async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster, observers: [writesAboutIt] });
    await app.request(jobs, { headers: { 'audit-id': 'x"} {"forged":"' } });
    const [auditId = '', ...others] = allHeaders(transport.sent[0]?.headers ?? [], 'audit-id');
    assert.match(auditId, /^[0-9a-f-]{36}$/);
    assert.deepEqual(others, []);
  });

  it("is the client's own line on the way out while nobody writes about the request", async () => {
    const { app, transport } = await testApp({ snapshot: mixedCluster });
    await app.request(jobs, { headers: { 'audit-id': 'given' } });
    await app.request(jobs);
    assert.deepEqual(
      transport.sent.map(({ headers }) => allHeaders(headers, 'audit-id')),
      [['given'], []],
    );
  });

  it("stands once in every response: the destination's own, or else the router's", async () => {
    const answers = [['audit-id', 'of-the-server'], []];
    const passedOn: RawHeaders[] = [];
    const transport: RecordingTransport = {
      sent: [],
      async send(_outbound, _inbound, onResponseHead) {
        const disposition = onResponseHead({ status: 200, headers: answers.shift() ?? [] });
        if (disposition.kind === 'forward') passedOn.push(disposition.headers);
        return passedOnResponse(new Response(''));
      },
    };
    const { app } = await testApp({ snapshot: mixedCluster, transport, observers: [writesAboutIt] });
    await app.request(jobs, { headers: { 'audit-id': 'given' } });
    await app.request(jobs, { headers: { 'audit-id': 'given' } });
    assert.deepEqual(
      passedOn.map((headers) => allHeaders(headers, 'audit-id')),
      [['of-the-server'], ['given']],
    );
  });

  it("stands in the router's own responses: health, refusals, errors", async () => {
    const transport = recordingTransport(() => {
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const { app } = await testApp({ snapshot: mixedCluster, transport });
    const targets = ['/livez', '/.mixed-version-proxy/v1/status', '/api/v1/watch', '/apis/batch/v1/jobs'];
    const codes: number[] = [];
    for (const target of targets) {
      const response = await app.request(`https://router${target}`, { headers: { 'audit-id': 'given' } });
      codes.push(response.status);
      assert.equal(response.headers.get('audit-id'), 'given', target);
    }
    assert.deepEqual(codes, [200, 503, 500, 503]);
  });

  it('stands in the lines that tell of an error, and on the second try', async () => {
    const { logger, lines } = recordingLogger();
    let tries = 0;
    const transport = recordingTransport(() => {
      tries += 1;
      if (tries > 1) return new Response('');
      throw new TransportError('ConnectFailed', 'refused', { mayHaveBeenProcessed: false });
    });
    const connection = userConnection('alice');
    const { app } = await testApp({ snapshot: mixedCluster, transport, logger, connection });
    await app.request(jobs);
    const told = lines.find(({ message }) => message === 'A destination did not respond');
    assert.deepEqual(allHeaders(transport.sent[1]?.headers ?? [], 'audit-id'), [told?.fields['audit-ID']]);
  });

  it('does not break on a response of a library handler that cannot be changed', async () => {
    const response = await fetch('data:text/plain,fixed');
    assert.throws(() => response.headers.set('a', 'b'), TypeError);
    assert.equal(withAuditId(response, inboundRequest()), response);
  });
});
