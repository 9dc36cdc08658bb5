import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { createAuthority } from '../../../test/support/certificates.ts';
import { startRouterWithFiles, writePair } from '../../../test/support/started-router.ts';

test('serving pairs with names stand in the configuration file, and reload with their files', async (context) => {
  const authority = await createAuthority('public');
  const pairOf = (commonName: string) =>
    authority.issue({ commonName, dnsNames: ['api.example'], usage: 'server' });
  const first = await pairOf('first');
  const configurationOf = (names: readonly string[]) => ({
    serving: { sniCertKeys: [{ certFile: 'public.crt', keyFile: './public.key', names }] },
  });
  const started = await startRouterWithFiles(context, {
    files: { 'public.crt': first.chain, 'public.key': first.privateKey },
    configuration: configurationOf(['api.example']),
  });
  const shown = async (servername: string) => {
    const options = { host: '127.0.0.1', port: started.port, servername, rejectUnauthorized: false };
    const socket = connect(options);
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  assert.equal(await shown('api.example'), 'first');
  assert.equal(await shown('web.example'), 'router');

  await writePair(started.write, 'public', await pairOf('second'));
  await started.router.reload();
  assert.equal(await shown('api.example'), 'second');

  await started.configure(configurationOf(['*.example']));
  await started.router.reload();
  assert.equal(await shown('web.example'), 'second');

  const stranger = await pairOf('third');
  await started.write('public.crt', stranger.chain);
  await started.router.reload();
  const issues = started.logs.filter(({ level }) => level === 'error').map(({ fields }) => fields['error']);
  assert.match(String(issues), /--tls-sni-cert-key: the key in .*public\.key does not belong/);
  assert.equal(await shown('api.example'), 'second');
});
