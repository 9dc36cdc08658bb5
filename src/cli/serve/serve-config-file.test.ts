import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { RawServeFlags } from '../../../demo/checked-flags.ts';
import { commandContext } from '../../../test/support/commands/command-context.ts';
import { serveFiles } from '../../../test/support/routers/serve-options.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { readServeInput } from './serve-input.ts';

const complete = `apiVersion: mixed-version-proxy/v1alpha1
kind: RouterConfiguration
localServer:
  id: cp-a
  url: https://127.0.0.1:6444
serving:
  port: 7443
  certFile: serving.crt
  keyFile: serving.key
peers:
  caFile: ca.crt
  allowedCIDRs: [10.0.0.0/8]
frontProxy:
  certFile: front-proxy-client.crt
  keyFile: front-proxy-client.key
authentication:
  clientCAFile: ca.crt
  requestHeader:
    clientCAFile: front-proxy-ca.crt
    allowedNames: ["front-proxy-client", "three, and a \\"half\\""]
snapshot:
  keysFile: snapshot-keys.json
`;

const nothing: readonly string[] = [];
let certificates: ReadonlyMap<string, string>;
before(async () => {
  certificates = await serveFiles();
});

/** As `serve --config /etc/router/router.yaml` with these flags; certificates are in the folder of the file. */
async function read(text: string, flags: RawServeFlags = {}) {
  const files = new Map([...certificates].map(([name, content]) => [`/etc/router/${name}`, content]));
  files.set('/etc/router/router.yaml', text);
  files.set('elsewhere.crt', certificates.get('ca.crt') ?? '');
  const { context, written } = commandContext(files);
  const given = { flags: { ...flags, config: ['/etc/router/router.yaml'] }, issues: [] };
  try {
    const { config } = await readServeInput(given, context);
    return { config, lines: nothing, errors: written.errors };
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    assert.equal(error.exitCode, 2);
    return { config: undefined, lines: error.lines, errors: written.errors };
  }
}

describe('serve --config', () => {
  it('tells the errors of the file, of flags and of named files in one run, and none that only seems to be one', async () => {
    const faulty = complete
      .replace('port: 7443', 'port: 7443\n  portt: 1\n  http2MaxStreams: 5')
      .replace('url: https://127.0.0.1:6444', 'url: [1]')
      .replace('keysFile: snapshot-keys.json', 'keysFile: missing.json');
    const { lines, errors } = await read(faulty, { 'request-timeout': ['7q'] });
    assert.deepEqual(
      lines.map((line) => line.replace(/: (cannot read).*/, ': $1').replace(/ must be .*| is no key.*/, '')),
      [
        '/etc/router/router.yaml:5:8: localServer.url',
        '/etc/router/router.yaml:8:3: serving.portt',
        '/etc/router/router.yaml:9:3: serving.http2MaxStreams',
        '--request-timeout',
        '/etc/router/router.yaml:24:13: snapshot.keysFile: --snapshot-keys: cannot read',
      ],
    );
    assert.equal(errors, '');
  });

  it('starts by the file alone, with paths relative to its folder', async () => {
    const { config, lines } = await read(complete);
    assert.deepEqual(lines, []);
    assert.equal(config?.settings.serving.port, 7443);
    assert.equal(config?.serving.certificate.path, '/etc/router/serving.crt');
    assert.deepEqual(config?.settings.peers.allowedCIDRs, ['10.0.0.0/8']);
  });

  it('keeps entries of lists whole that hold commas and quotes', async () => {
    const { config } = await read(complete);
    assert.deepEqual(config?.requestHeader?.allowedNames, ['front-proxy-client', 'three, and a "half"']);
  });

  it('lets flags win, value by value, with their paths relative to the working directory', async () => {
    const flags = {
      'secure-port': ['8443'],
      'allowed-peer-cidrs': ['10.1.0.0/16'],
      'peer-ca-file': ['elsewhere.crt'],
    };
    const { config } = await read(complete, flags);
    assert.equal(config?.settings.serving.port, 8443);
    assert.deepEqual(config?.settings.peers.allowedCIDRs, ['10.1.0.0/16']);
    assert.equal(config?.peerCa?.path, 'elsewhere.crt');
    assert.equal(config?.serverId, 'cp-a');
  });

  it('names the place in the file for values that the checks refuse, and not for flags', async () => {
    const faulty = complete
      .replace('port: 7443', 'port: 70000')
      .replace('caFile: ca.crt', 'caFile: none.crt');
    const { lines } = await read(faulty, { 'bind-address': ['localhost'] });
    assert.equal(lines.length, 3, lines.join('\n'));
    assert.ok(lines.includes('--bind-address must be an IP address, not "localhost"'));
    assert.ok(
      lines.includes(
        '/etc/router/router.yaml:7:9: serving.port must be a whole number from 0 to 65535, not 70000',
      ),
    );
    assert.match(
      lines.join('\n'),
      /router\.yaml:11:11: peers\.caFile: .*cannot read \/etc\/router\/none\.crt/,
    );
    const overridden = await read(faulty, { 'secure-port': ['80000'], 'peer-ca-file': ['elsewhere.crt'] });
    assert.deepEqual(overridden.lines, [
      '/etc/router/router.yaml:7:9: serving.port must be a whole number from 0 to 65535, not 70000',
      '--secure-port must be a whole number from 0 to 65535, not 80000',
    ]);
  });

  it('refuses a snapshot file that is a directory', async () => {
    const { lines } = await read(complete, { 'snapshot-file': ['/'] });
    assert.deepEqual(lines, ['--snapshot-file: / is a directory: name a file in it']);
  });

  it('refuses a snapshot file in a folder that is not there', async () => {
    const { lines } = await read(complete.replace('snapshot:', 'snapshot:\n  file: nowhere/snapshot'));
    assert.match(
      lines.join(),
      /^--snapshot-file: snapshots cannot be kept in \/etc\/router\/nowhere: no such file/,
    );
  });
});
