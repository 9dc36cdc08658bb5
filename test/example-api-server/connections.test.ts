import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { clientOf, createPki, http2ClientOf, startServer } from './support.ts';

const pki = await createPki();
const { certificate, privateKey } = pki.admin;
const configMaps = '/api/v1/namespaces/default/configmaps';

describe('connections of an example API server', () => {
  it('a client that goes away in the middle of a body leaves the server standing', async () => {
    const server = await startServer(pki, '1.36');
    const request = httpsRequest(`${server.url}${configMaps}`, {
      method: 'POST',
      ca: pki.serving.certificate,
      cert: certificate,
      key: privateKey,
      agent: false,
      headers: { 'content-length': 100 },
    });
    request.on('error', () => undefined);
    request.write('{"metadata":');
    const [socket] = await once(request, 'socket');
    await once(socket, 'secureConnect');
    request.destroy();

    const session = http2ClientOf(server, pki, pki.admin);
    const stream = session.request({ ':method': 'POST', ':path': configMaps });
    stream.on('error', () => undefined);
    stream.write('{"metadata":');
    await once(session, 'connect');
    stream.close();
    await once(stream, 'close');

    const answer = await clientOf(server, pki, pki.admin)(configMaps);
    assert.equal(answer.code, 200);
  });

  it('a client that never begins TLS does not keep the server from closing', async () => {
    const server = await startServer(pki, '1.36');
    const socket = connect(server.port, server.address);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    // The server knows of the connection once a later one has been answered.
    assert.equal((await clientOf(server, pki)('/livez')).text, 'ok');
    const closed = once(socket, 'close');
    await server.close();
    await closed;
  });

  it('a port that is taken is an error at the start', async () => {
    const server = await startServer(pki, '1.36');
    await assert.rejects(startServer(pki, '1.25', { port: server.port }), { code: 'EADDRINUSE' });
  });

  it('a group version to leave out that the version does not know is an error at the start', async () => {
    await assert.rejects(
      startServer(pki, '1.36', { disabledGroupVersions: ['batch/v2'] }),
      /group version batch\/v2 is not in the table/,
    );
  });
});
