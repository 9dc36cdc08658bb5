import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { before, describe, it } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { commandContext, runCommand } from '../../../test/support/commands/command-context.ts';
import { type GeneratedSigningKey, generateSigningKey } from '../../snapshot/signing/seal.ts';
import { parseConfigurationFile } from '../settings/configuration-file.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { readSyncInput, type SyncFlags } from './plan-sync.ts';
import { syncConfiguration } from './sync-settings.ts';

const header = 'apiVersion: mixed-version-proxy/v1alpha1\nkind: SyncConfiguration\n';
const complete = `${header}apiServers:
  servers: ["cp-a=https://10.0.0.1:6443", "cp-b=https://10.0.0.2:6443"]
  caFile: ca.crt
client: { certFile: sync.crt, keyFile: sync.key }
routers: { targets: ["https://10.0.0.1:7443"] }
snapshot: { signingKeyFile: key.json, departedServerGrace: 30m, cluster: blue }
endpoints: { port: 8080 }
logging: { verbosity: 4, format: json }
`;
let key: GeneratedSigningKey;
let authority: Awaited<ReturnType<typeof createAuthority>>;
let other: Awaited<ReturnType<typeof createAuthority>>;
let client: Awaited<ReturnType<typeof authority.issue>>;

before(async () => {
  key = await generateSigningKey('EdDSA');
  authority = await createAuthority('kubernetes');
  other = await createAuthority('other');
  client = await authority.issue({ commonName: 'sync', usage: 'client' });
});

/** Files as they lie beside `/etc/sync/sync.yaml`. */
function filesWith(text: string): Map<string, string> {
  return new Map([
    ['/etc/sync/sync.yaml', text],
    ['/etc/sync/ca.crt', authority.certificate],
    ['/etc/sync/sync.crt', client.chain],
    ['/etc/sync/sync.key', client.privateKey],
    ['/etc/sync/key.json', JSON.stringify(key.privateJwk)],
    ['/etc/sync/keys.json', JSON.stringify({ keys: [key.publicJwk] })],
    ['/etc/sync/private.json', JSON.stringify({ keys: [key.privateJwk] })],
    ['other-ca.crt', other.certificate],
  ]);
}

function read(text: string, given: SyncFlags = {}) {
  return readSyncInput(
    { config: ['/etc/sync/sync.yaml'], ...given },
    commandContext(filesWith(text)).context,
  );
}

function issuesOf(text: string, given: SyncFlags = {}): readonly string[] {
  try {
    read(text, given);
  } catch (error) {
    assert.ok(error instanceof CommandFailure, String(error));
    assert.equal(error.exitCode, 2);
    return error.lines;
  }
  return assert.fail('there are errors');
}

describe('sync --config', () => {
  it('is in docs/guides/sync.md as it is taken', () => {
    const page = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/sync.md'), 'utf8');
    const example = /```yaml\n([^`]*kind: SyncConfiguration\n[^`]*)```/.exec(page)?.[1] ?? '';
    const { issues, values } = parseConfigurationFile('sync.yaml', example, syncConfiguration);
    assert.deepEqual(issues, []);
    assert.ok(values.size > 5);
  });

  it('runs a sync job by the file alone, with paths relative to its folder', () => {
    const { plan, logging } = read(complete);
    assert.ok(plan.kind === 'live');
    assert.deepEqual(
      plan.options.servers.map(({ id }) => id),
      ['cp-a', 'cp-b'],
    );
    assert.equal(plan.options.certificateAuthorities, authority.certificate);
    assert.deepEqual(plan.options.clientCertificate, { certificate: client.chain, key: client.privateKey });
    assert.equal(plan.options.timing?.grace, 1_800_000);
    assert.equal(plan.endpoints?.port, 8080);
    assert.deepEqual(logging, { verbosity: 4, format: 'json' });
  });

  it('counts as a whole for a job that goes on, which --once=false says, too', () => {
    const { plan } = read(complete, { once: ['false'] });
    assert.ok(plan.kind === 'live');
    assert.equal(plan.endpoints?.port, 8080);
  });

  it('lets flags win, value by value; a list that is given replaces the list of the file', () => {
    const { plan } = read(complete, {
      server: ['cp-c=https://10.0.0.3:6443'],
      'peer-ca-file': ['other-ca.crt'],
      'departed-server-grace': ['2m'],
    });
    assert.ok(plan.kind === 'live');
    assert.deepEqual(
      plan.options.servers.map(({ id }) => id),
      ['cp-c'],
    );
    assert.equal(plan.options.certificateAuthorities, other.certificate);
    assert.equal(plan.options.timing?.grace, 120_000);
  });

  it('tells every error with its line, column and path', () => {
    assert.deepEqual(
      issuesOf(
        complete
          .replace('caFile', 'cafile')
          .replace('departedServerGrace: 30m', 'departedServerGrace: often'),
      ),
      [
        '/etc/sync/sync.yaml:5:3: apiServers.cafile is no key of this configuration; did you mean caFile?',
        '/etc/sync/sync.yaml:8:60: snapshot.departedServerGrace must be a duration such as 15m, or 0s for none, not "often"',
      ],
    );
    const issues = issuesOf(
      complete.replace('caFile: ca.crt', 'caFile: none.crt').replace('port: 8080', 'port: 80800'),
    );
    assert.deepEqual(issues.toSorted(), [
      '/etc/sync/sync.yaml:5:11: apiServers.caFile: --peer-ca-file: cannot read /etc/sync/none.crt: no such file or directory',
      '/etc/sync/sync.yaml:9:20: endpoints.port must be a port between 1 and 65535, or 0 for none, not 80800',
    ]);
  });

  it('is refused as a RouterConfiguration, and a RouterConfiguration here', async () => {
    assert.match(
      issuesOf(complete.replace('SyncC', 'RouterC')).join(),
      /:2:7: kind must be SyncConfiguration/,
    );
    const { code, errors } = await runCommand(filesWith(complete), [
      'serve',
      '--config',
      '/etc/sync/sync.yaml',
    ]);
    assert.equal(code, 2);
    assert.match(errors, /kind must be RouterConfiguration/);
  });

  it('is the file of every call: what one round, a recording or an offline run has no use for is left out', () => {
    const once = read(complete, { once: ['true'] });
    assert.ok(once.plan.kind === 'live' && once.plan.once);
    assert.equal(once.plan.endpoints, undefined);
    const { plan } = read(complete, { record: ['/tmp/recording'] });
    assert.ok(plan.kind === 'live' && plan.once);
    assert.deepEqual([plan.options.record, plan.options.routers], ['/tmp/recording', []]);
    assert.equal(read(complete, { from: ['folder'], out: ['snapshot'] }).plan.kind, 'offline');
    assert.match(
      issuesOf(complete, { once: ['true'], 'health-port': ['80'] }).join(),
      /--health-port has no use with --once/,
    );
  });
});
