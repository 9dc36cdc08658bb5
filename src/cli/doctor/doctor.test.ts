import assert from 'node:assert/strict';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { installation, findingsOf as of } from '../../../test/support/installation/doctor-installation.ts';

const day = 86_400_000;

describe('doctor', () => {
  it('finds all well but a peer that does not run, and says so', async (context) => {
    const { examine } = await installation(context, { hasPeer: true });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    const bad = findings.filter(({ result }) => result !== 'ok').map(({ check }) => check);
    assert.deepEqual(bad, ['server cp-b'], JSON.stringify(findings, null, 2));
    assert.match(of(findings, 'server cp-b'), /failed: .*cannot be reached: .*nothing listens there/);
    assert.match(of(findings, 'server cp-a'), /ok: .* is ready/);
    assert.match(of(findings, 'snapshot'), /ok: generation 1, /);
  });

  it('ends with exit code 0 where all is well, and 1 where there are warnings only', async (context) => {
    const { path, examine } = await installation(context);
    assert.equal((await examine()).code, 0);
    await chmod(path('serving.key'), 0o644);
    const { code, findings } = await examine();
    assert.equal(code, 1);
    assert.match(of(findings, 'permissions of keys'), /warning: .*serving\.key has mode 644: chmod 600/);
  });

  it('sees a stored snapshot that the router could not begin with', async (context) => {
    const { examine } = await installation(context, { changes: { snapshot: 'noise' } });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    assert.match(of(findings, 'snapshot'), /^failed: .*would begin without a snapshot/);
  });

  it('sees certificates and snapshots that are past their time', async (context) => {
    const { examine } = await installation(context);
    const { findings } = await examine([], { now: Date.now() + 36_500 * day });
    assert.match(of(findings, 'serving certificate'), /^failed: .*expired at .*renew it/);
    assert.match(of(findings, 'snapshot'), /^warning: .* old: does the sync job run/);
    assert.match(of(findings, 'server cp-a'), /its clock is .* behind this machine's/);
  });

  it('sees clocks that are seconds apart', async (context) => {
    const { examine } = await installation(context);
    const { findings } = await examine([], { now: Date.now() + 9_000 });
    assert.match(of(findings, 'server cp-a'), /its clock is .* behind this machine's/);
  });

  it('sees a server of another authority', async (context) => {
    const changes = { 'ca.crt': (await createAuthority('another')).certificate };
    const { examine } = await installation(context, { changes });
    const { code, findings } = await examine();
    assert.equal(code, 2);
    assert.match(of(findings, 'server cp-a'), /^failed: .*of another CA: see --peer-ca-file/);
  });

  it('names the checks that keep a server from being ready', async (context) => {
    const { examine } = await installation(context, {
      server: () => ({
        filter: ({ url }, response, next) => {
          if (url !== '/readyz') return next();
          response.statusCode = 500;
          response.end(
            '[+]ping ok\n[-]etcd failed: reason withheld\n[-]poststarthook/rbac failed: not finished\n',
          );
        },
      }),
    });
    const { code, findings } = await examine();
    assert.equal(code, 1);
    assert.match(
      of(findings, 'server cp-a'),
      /^warning: .*returned 500: etcd, poststarthook\/rbac failed, see its own log$/,
    );
  });

  it('does not ask a peer at an address that the router would not call', async (context) => {
    const { path, examine } = await installation(context, { hasPeer: true });
    const text = await readFile(path('router.yaml'), 'utf8');
    await writeFile(path('router.yaml'), text.replace(', allowLoopback: true', ''));
    const { findings } = await examine();
    assert.match(of(findings, 'server cp-b'), /^failed: .*cannot be reached: 127\.0\.0\.1 .*loopback/);
    assert.match(of(findings, 'server cp-a'), /^ok: /);
  });

  it('takes a router that is described by flags, and flags over its configuration file', async (context) => {
    const { apiServer, path, doctor, examine } = await installation(context);
    const { code, output, errors } = await doctor([
      '--server-id=cp-a',
      `--local-server=${apiServer.url}`,
      `--tls-cert-file=${path('serving.crt')}`,
      `--tls-private-key-file=${path('serving.key')}`,
      `--client-ca-file=${path('ca.crt')}`,
      `--peer-ca-file=${path('ca.crt')}`,
      `--proxy-client-cert-file=${path('front-proxy.crt')}`,
      `--proxy-client-key-file=${path('front-proxy.key')}`,
      `--snapshot-keys=${path('keys.json')}`,
      `--snapshot-file=${path('snapshot')}`,
    ]);
    assert.equal(code, 0, errors + output);
    assert.match(output, /^\[ok\] {6}configuration: what the flags say can be used$/m);
    assert.match(output, /^\[ok\] {6}server cp-a: .* is ready$/m);
    assert.match(output, /\n0 failed, 0 warnings, \d+ ok\n$/);
    const { findings } = await examine(['--server-id=cp-z']);
    assert.match(of(findings, 'snapshot'), /failed: the snapshot has no server cp-z/);
  });

  it('says what nothing is known of, as serve does, and knows no --dry-run', async () => {
    const { code, errors } = await runCommand(new Map(), ['doctor', '--servr-id=x', '--dry-run']);
    assert.equal(code, 2);
    assert.match(errors, /unknown flag --servr-id: did you mean --server-id\?/);
    assert.match(errors, /unknown flag --dry-run/);
    assert.match((await runCommand(new Map(), ['doctor', 'now'])).errors, /doctor takes flags only/);
  });

  it('marks what it finds in colours on a terminal', async (context) => {
    const { path, doctor } = await installation(context);
    const args = ['--config', path('router.yaml')];
    const { output: colored } = await doctor(args, { outputTakesColor: true });
    assert.ok(colored.startsWith('\u001b[32m[ok]\u001b[39m      configuration: '), colored);
    assert.ok(!(await doctor(args)).output.includes('\u001b'));
  });

  it('stops at a configuration that cannot be used, with every error of it', async () => {
    const files = new Map([['router.yaml', 'kind: RouterConfiguration\nservign: {}\n']]);
    const { code, output, errors } = await runCommand(files, ['doctor', '--config', 'router.yaml']);
    assert.equal(code, 2);
    assert.equal(output, '');
    assert.match(errors, /apiVersion is required/);
    assert.match(errors, /servign is no key.*did you mean serving\?/);
  });
});
