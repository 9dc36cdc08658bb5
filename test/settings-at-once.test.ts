import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { TakesEffect } from '../src/cli/flags/flag.ts';
import { type ServeFlag, serveFlags } from '../src/cli/flags/serve-flags.ts';
import { registerServe, type ServingRouter } from '../src/cli/serve/serve-command.ts';
import { CliCommand } from '../src/cli/terminal/cli-command.ts';
import type { ServeConfig } from '../src/node/configuration/serve-config.ts';
import { startRouter } from '../src/node/process/start-router.ts';
import type { ConfigurationSource } from '../src/node/reload/configuration-source.ts';
import { openEmbeddedSync } from '../src/sync/node/embedded/embedded-sync.ts';
import { assertionKeysFile, speaker } from './support/assertions.ts';
import {
  configuration as authenticationConfiguration,
  authenticator,
  goodIssuer,
} from './support/authentication-configuration.ts';
import { commandContext } from './support/command-context.ts';
import { isSection, RecordedReads } from './support/recorded-reads.ts';
import { serveFiles } from './support/serve-options.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

/*
 * A setting whose flag says that a change of it counts at once (`FlagDefinition.change`) has to be read again by a
 * reload. Here all of them change in the configuration file of a router that `serve` has started, and for each the
 * router has to read what the change makes of `ServeConfig`: in the reload itself, or in the shutdown after it.
 */

type LiveFlagName = Exclude<ServeFlag, { readonly change: 'restart' }>['name'];

/** Two values of a setting, as its key in a configuration file has them. Left out: it is not given. */
interface Change {
  readonly before?: unknown;
  readonly after: unknown;
}

/** Of a router that snapshots are pushed to, and of one that reads the cluster itself. */
type Form = 'pushed' | 'embedded';

const changes: Readonly<Record<LiveFlagName, Change & { readonly onlyIn?: Form }>> = {
  'local-server-ca-file': { before: 'ca.crt', after: 'other-ca.crt' },
  'peer-ca-file': { before: 'ca.crt', after: 'other-ca.crt' },
  'proxy-client-cert-file': { before: 'front-proxy-client.crt', after: 'other-front-proxy-client.crt' },
  'proxy-client-key-file': { before: 'front-proxy-client.key', after: 'other-front-proxy-client.key' },
  'extension-routing': { after: 'extension' },
  'allowed-peer-cidrs': { after: ['10.0.0.0/8'] },
  'allow-loopback-peers': { after: true },
  kubeconfig: { onlyIn: 'embedded', before: 'kubeconfig', after: 'other-kubeconfig' },
  context: { onlyIn: 'embedded', after: 'b' },
  server: { onlyIn: 'embedded', after: ['cp-b=https://10.0.0.8:6443'] },
  'departed-server-grace': { onlyIn: 'embedded', after: '16m' },
  'compare-schemas': { onlyIn: 'embedded', after: false },
  cluster: { onlyIn: 'embedded', after: 'staging' },
  'snapshot-keys': { onlyIn: 'pushed', before: 'snapshot-keys.json', after: 'other-snapshot-keys.json' },
  'snapshot-stale-policy': { after: 'unavailable' },
  'preferred-version': { after: 'newest' },
  'preferred-version-scope': { after: 'all' },
  'preferred-version-required': { after: true },
  'local-server-down-policy': { after: 'unavailable' },
  'health-check-interval': { after: '6s' },
  'health-check-timeout': { after: '4s' },
  'health-check-rise': { after: 3 },
  'health-check-fall': { after: 4 },
  'slow-start-duration': { after: '31s' },
  'proxy-protocol-cidrs': { before: ['10.1.0.0/16'], after: ['10.2.0.0/16'] },
  'tls-cert-file': { before: 'serving.crt', after: 'other-serving.crt' },
  'tls-private-key-file': { before: 'serving.key', after: 'other-serving.key' },
  'tls-sni-cert-key': {
    before: [{ certFile: 'serving.crt', keyFile: 'serving.key', names: ['a.example'] }],
    after: [{ certFile: 'serving.crt', keyFile: 'serving.key', names: ['b.example'] }],
  },
  'file-check-interval': { before: '24h', after: '23h' },
  'request-timeout': { after: '61s' },
  'dial-timeout': { after: '6s' },
  'response-header-timeout': { before: '40s', after: '41s' },
  'max-requests-inflight': { after: 4001 },
  'max-mutating-requests-inflight': { after: 2001 },
  'max-long-running-requests': { after: 20_001 },
  'max-connections': { after: 1_000 },
  'goaway-chance': { after: 0.01 },
  'shutdown-delay-duration': { after: '1ms' },
  'shutdown-send-retry-after': { after: true },
  'shutdown-watch-termination-grace-period': { after: '9s' },
  'client-ca-file': { before: 'ca.crt', after: 'other-ca.crt' },
  'requestheader-client-ca-file': { before: 'front-proxy-ca.crt', after: 'other-front-proxy-ca.crt' },
  'requestheader-allowed-names': { before: ['front-proxy-client'], after: ['another'] },
  'authentication-config': { before: 'authentication.json', after: 'other-authentication.json' },
  'service-account-issuer': { before: ['https://sa.example'], after: ['https://other.example'] },
  'service-account-key-file': { before: ['serving.crt'], after: ['other-serving.crt'] },
  'api-audiences': { before: ['kubernetes'], after: ['other'] },
  'allowed-groups': { after: ['operators'] },
  'allowed-users': { after: ['jane'] },
  'assertion-keys': { before: 'assertion-keys.json', after: 'other-assertion-keys.json' },
  'audit-policy-file': { before: 'audit-policy.json', after: 'other-audit-policy.json' },
  v: { after: 3 },
  'logging-format': { after: 'json' },
};

/** Settings that only a start takes. */
const fixed = { 'audit-log-path': 'audit.log', 'server-id': 'cp-a', 'local-server': 'https://127.0.0.1:1' };

/** Options of other modules, which a configuration holds for them and nothing takes apart on the way. */
const handedOverWhole = ['health', 'limits.requestsInFlight', 'preferredVersion', 'records.audit.policy'];

async function allFiles(): Promise<ReadonlyMap<string, string>> {
  const files = await serveFiles();
  const others = [...files].map(([name, text]) => [`other-${name}`, `${text}\n`] as const);
  const [known, another] = [await speaker('cp-b'), await speaker('cp-c')];
  const issuer = (url: string) =>
    JSON.stringify(authenticationConfiguration(authenticator({ issuer: { ...goodIssuer, url } })));
  const policy = (level: string) =>
    JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level }] });
  const contexts = (server: string) => ({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: ['a', 'b'].map((name) => ({ name, context: { cluster: 'c', user: 'u' } })),
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 't' } }],
  });
  return new Map([
    ...files,
    ...others,
    ['other-snapshot-keys.json', JSON.stringify({ keys: [known.publicJwk] })],
    ['assertion-keys.json', assertionKeysFile([known])],
    ['other-assertion-keys.json', assertionKeysFile([another])],
    ['authentication.json', issuer('https://issuer.example')],
    ['other-authentication.json', issuer('https://other-issuer.example')],
    ['audit-policy.json', policy('None')],
    ['other-audit-policy.json', policy('Metadata')],
    ['kubeconfig', JSON.stringify(contexts('https://127.0.0.1:1'))],
    ['other-kubeconfig', JSON.stringify(contexts('https://127.0.0.1:2'))],
  ]);
}

const flagsOf = (form: Form): readonly LiveFlagName[] =>
  serveFlags.flatMap(({ name, change }) =>
    isLive(name, change) && (changes[name].onlyIn ?? form) === form ? [name] : [],
  );

function isLive(name: string, change: TakesEffect): name is LiveFlagName {
  return change !== 'restart' && Object.hasOwn(changes, name);
}

/** The text of a configuration file in which these settings have their later values. */
function fileText(form: Form, changed: readonly LiveFlagName[]): string {
  const configuration: Section = {
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'RouterConfiguration',
  };
  const given = new Map<string, unknown>(Object.entries(fixed));
  for (const name of flagsOf(form))
    given.set(name, changes[name][changed.includes(name) ? 'after' : 'before']);
  for (const { name, key } of serveFlags) {
    if (given.get(name) === undefined) continue;
    const steps = key.split('.');
    const value = steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), given.get(name));
    mergeInto(configuration, value as Section);
  }
  return JSON.stringify(configuration);
}

type Section = Record<string, unknown>;

function mergeInto(section: Section, added: Section): void {
  for (const [name, value] of Object.entries(added)) {
    const known = section[name];
    if (isSection(known) && isSection(value)) mergeInto(known, value);
    else section[name] = value;
  }
}

/** Has `serve` start a router, and every setting that counts at once changed while it runs. */
async function readByReload(
  context: TestContext,
  form: Form,
): Promise<ReadonlyMap<LiveFlagName, readonly string[]>> {
  const directory = await temporaryDirectory(context);
  for (const [name, text] of await allFiles()) await writeFile(join(directory, name), text);
  const file = join(directory, 'router.yaml');
  await writeFile(file, fileText(form, []));
  const reads = new RecordedReads(handedOverWhole);
  let readByThen: ReadonlySet<string> = new Set();
  const started = Promise.withResolvers<{
    config: ServeConfig;
    source: ConfigurationSource;
    router: ServingRouter;
  }>();
  const end = Promise.withResolvers<'SIGTERM'>();
  const surroundings = commandContext(new Map(), { shutdownSignal: end.promise });
  const program = new CliCommand('mixed-version-proxy').exitOverride();
  const command = { ...surroundings.context, readFile: (path: string) => readFileSync(path, 'utf8') };
  registerServe(
    program,
    command,
    () => {},
    async () => async (config, logger, options) => {
      const source = options.configurationSource;
      assert.ok(source);
      const configurationSource: ConfigurationSource = {
        ...source,
        async read(...given) {
          const reading = await source.read(...given);
          return {
            ...reading,
            config: reads.of(reading.config),
            taken() {
              readByThen = new Set(reads.paths);
              reading.taken();
            },
          };
        },
      };
      const router = await startRouter(config, logger, { ...options, configurationSource, openEmbeddedSync });
      context.after(() => router.close(0));
      started.resolve({ config, source, router });
      return router;
    },
  );
  const ended = program.parseAsync(
    ['serve', `--config=${file}`, '--bind-address=127.0.0.1', '--secure-port=0'],
    { from: 'user' },
  );
  const { source, router } = await Promise.race([
    started.promise,
    ended.then(() => assert.fail(surroundings.written.errors)),
  ]);
  const unread = new Map<LiveFlagName, readonly string[]>();
  const read = async (changed: readonly LiveFlagName[]) =>
    (await source.read(new Map([[file, fileText(form, changed)]]))).config;
  const same = await read([]);
  await writeFile(file, fileText(form, flagsOf(form)));
  await router.reload();
  end.resolve('SIGTERM');
  await ended;
  // Whoever goes on to watch the files reads all that they hold.
  const isOfAFile = (path: string) => /\.(?:path|pem|text)$/.test(path);
  const isRead = (path: string) => (isOfAFile(path) ? readByThen : reads.paths).has(path);
  for (const name of flagsOf(form)) {
    const differing = reads.differing(
      { ...same, commandLine: {} },
      { ...(await read([name])), commandLine: {} },
    );
    // Where a file is, and what it holds, is for those who watch it; what was made of that counts.
    const parsed = differing.filter((path) => !/\.(?:path|text)$/.test(path));
    const counts = parsed.length > 0 ? parsed : differing;
    unread.set(name, counts.length === 0 ? ['nothing differs'] : counts.filter((path) => !isRead(path)));
  }
  return unread;
}

for (const form of ['pushed', 'embedded'] as const) {
  it(`every setting that counts at once is read by a reload (${form})`, async (context) => {
    const unread = await readByReload(context, form);
    assert.deepEqual(
      [...unread].filter(([, paths]) => paths.length > 0),
      [],
    );
  });
}
