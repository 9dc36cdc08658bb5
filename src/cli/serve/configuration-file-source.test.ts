import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { commandContext } from '../../../test/support/command-context.ts';
import { completeServeOptions, type FlagChanges, serveFiles } from '../../../test/support/serve-options.ts';
import { generateSigningKey } from '../../snapshot/signing/signing-key.ts';
import { readServeInput } from './serve-input.ts';

const file = 'router.yaml';
const header = 'apiVersion: mixed-version-proxy/v1alpha1\nkind: RouterConfiguration\n';
let certificates: Map<string, string>;

before(async () => {
  certificates = await serveFiles();
});

/** Starts with one text of the file and reads another. Flags hold all that is required. */
async function reread(
  first: string,
  second: string,
  flags: FlagChanges = {},
  changed: ReadonlyMap<string, string> = new Map(),
) {
  const { source, files } = await start(first, flags);
  for (const [name, text] of changed) files.set(name, text);
  return source.read(new Map([...changed, [file, header + second]]));
}

async function start(text: string, flags: FlagChanges = {}) {
  const files = new Map([...certificates, [file, header + text]]);
  const { context } = commandContext(files);
  const given = Object.entries({ ...completeServeOptions, ...flags });
  const { configurationSource } = await readServeInput(
    {
      flags: Object.fromEntries(given.filter(([, values]) => values !== undefined)),
      configurationFiles: [file],
      dryRun: [],
      unknown: [],
    },
    context,
  );
  return { source: configurationSource, files };
}

const notYet = [
  'gateway: true\n',
  'localServer: { id: cp-a, url: "https://127.0.0.1:6444", downPolicy: unavailable }\n',
  { 'server-id': undefined, 'local-server': undefined },
] as const;

function flagsOf(changes: readonly { readonly flag: string }[]): string[] {
  return changes.map(({ flag }) => flag);
}

describe('a configuration file that is read again', () => {
  it('gives the settings that can change, and keeps the others as they were', async () => {
    const { config, changed, needsRestart } = await reread(
      'serving: { port: 7443 }\nlogging: { verbosity: 0 }\n',
      'serving: { port: 8443 }\nlogging: { verbosity: 4 }\n',
    );
    assert.equal(config?.securePort, 7443);
    assert.equal(config?.logging.verbosity, 4);
    assert.deepEqual(changed, [{ flag: '--v', key: 'logging.verbosity', inUse: '0', configured: '4' }]);
    assert.deepEqual(needsRestart, [
      { flag: '--secure-port', key: 'serving.port', inUse: '7443', configured: '8443' },
    ]);
  });

  it('tells of changed settings by their values, not by how a file or a flag writes them', async () => {
    const { changed } = await reread('', 'ownPaths: { allowedUsers: [jane, joe] }\n');
    const flag = { flag: '--allowed-users', key: 'ownPaths.allowedUsers' };
    assert.deepEqual(changed, [{ ...flag, inUse: '(not set)', configured: 'jane,joe' }]);
    const same = await reread('', '', { 'allowed-users': ['jane,joe'] });
    assert.deepEqual(same.changed, []);
  });

  it('is refused with every error, each with its line and its path', async () => {
    const syntax = reread('', 'serving: { prot: 1 }\ntimeouts: { request: soon }\n');
    await assert.rejects(syntax, {
      message:
        'router.yaml:3:12: serving.prot is no key of this configuration; did you mean port?; ' +
        'router.yaml:4:22: timeouts.request must be a duration such as 10s or 1m30s, not "soon"',
    });
    const values = reread('', 'limits: { goawayChance: 0.5 }\ngateway: true\n');
    await assert.rejects(values, /router\.yaml:3:25: limits\.goawayChance: --goaway-chance must be/);
  });

  it('is refused for what it names, as at the start', async () => {
    const changed = reread('', 'authentication: { clientCAFile: /none.crt }\n', {
      'client-ca-file': undefined,
    });
    await assert.rejects(
      changed,
      /router\.yaml:3:33: authentication\.clientCAFile: --client-ca-file: cannot read \/none\.crt/,
    );
  });

  it('changes nothing that a flag has set', async () => {
    const reading = await reread('logging: { verbosity: 1 }\n', 'logging: { verbosity: 4 }\n', { v: ['2'] });
    assert.deepEqual(reading.changed, []);
    assert.deepEqual(reading.needsRestart, []);
    assert.equal(reading.config?.logging.verbosity, 2);
  });

  it('has files taken as they are now, even where none of the settings can count yet', async () => {
    const { config } = await reread(
      ...notYet,
      new Map([['ca.crt', `${certificates.get('ca.crt')}# renewed\n`]]),
    );
    assert.match(config.clientCa?.pem ?? '', /# renewed/);
    assert.equal(config.serverId, undefined);
  });

  it('leaves what only a restart can take as its file had it at the start', async () => {
    const { privateJwk } = await generateSigningKey('EdDSA');
    certificates.set('signing.json', JSON.stringify(privateJwk));
    const flags = { 'peer-identity': ['assertion'], 'assertion-signing-key': ['signing.json'] };
    const broken = new Map([['signing.json', 'half a ke']]);
    const { config } = await reread('', 'logging: { verbosity: 4 }\n', flags, broken);
    assert.equal(config.destinationIdentity.signingKey?.loaded.key.kid, privateJwk.kid);
    assert.equal(config.logging.verbosity, 4);
  });

  it('counts as a whole after a restart where what can change does not go without what cannot', async () => {
    // A gateway has no local server that could be down.
    const reading = await reread(
      'gateway: true\n',
      'localServer: { id: cp-a, url: "https://127.0.0.1:6444", downPolicy: unavailable }\nlogging: { verbosity: 4 }\n',
      { 'server-id': undefined, 'local-server': undefined },
    );
    assert.equal(reading.config.serverId, undefined, 'all settings stay');
    assert.deepEqual(reading.changed, []);
    assert.deepEqual(flagsOf(reading.needsRestart).toSorted(), [
      '--gateway',
      '--local-server',
      '--local-server-down-policy',
      '--server-id',
      '--v',
    ]);
  });
});
