import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { faultsOfCalls } from '../docs/support/command-flags.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Settings by section and name, in their order; a name may stand several times. */
type UnitFile = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Reads a systemd unit (systemd.syntax(7)) without line continuations, which ours do not have. @throws Error with the line */
function parseUnitFile(text: string): UnitFile {
  const sections = new Map<string, Map<string, string[]>>();
  let current: Map<string, string[]> | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const [, section] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (section !== undefined) {
      if (sections.has(section)) throw new Error(`line ${index + 1}: a second section ${section}`);
      current = new Map();
      sections.set(section, current);
      continue;
    }
    const [, name, value] = /^(\w+)=(.*[^\\]|)$/.exec(line) ?? [];
    if (current === undefined || name === undefined || value === undefined) {
      throw new Error(`line ${index + 1}: not a setting: ${line}`);
    }
    current.set(name, [...(current.get(name) ?? []), value]);
  }
  return sections;
}

const root = resolve(import.meta.dirname, '../..');
const installed = '/usr/local/bin/mixed-version-proxy';
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).error === undefined;
const skip = hasAnalyze ? false : 'systemd-analyze is not on PATH (Debian: apt install systemd)';

for (const name of ['mixed-version-proxy.service', 'mixed-version-proxy-sync.service']) {
  describe(`deploy/systemd/${name}`, () => {
    const text = readFileSync(join(root, 'deploy/systemd', name), 'utf8');
    const service = parseUnitFile(text).get('Service') ?? assert.fail('no section Service');
    const setting = (key: string) => service.get(key)?.at(-1) ?? assert.fail(`no ${key}`);

    test('starts a command with flags that it has', () => {
      assert.ok(setting('ExecStart').startsWith(`${installed} `));
      assert.deepEqual(faultsOfCalls(setting('ExecStart')), []);
    });

    test('is not root, gains nothing, and writes only to its state directory', () => {
      assert.match(setting('User'), /^mixed-version-proxy/);
      assert.equal(setting('CapabilityBoundingSet'), '');
      assert.equal(setting('NoNewPrivileges'), 'yes');
      assert.equal(setting('ProtectSystem'), 'strict');
      assert.equal(setting('StateDirectory'), setting('User'));
      assert.ok(!service.has('ReadWritePaths'));
      for (const [, path = ''] of setting('ExecStart').matchAll(/--out=(\S+)/g)) {
        assert.ok(path.startsWith(`/var/lib/${setting('StateDirectory')}/`), path);
      }
    });

    test('is started again, unless its configuration is wrong', () => {
      assert.equal(setting('Restart'), 'always');
      assert.equal(setting('RestartPreventExitStatus'), '2');
    });

    test('a process that stands still is started again, without a dump of its keys', () => {
      assert.ok(Number(setting('WatchdogSec')) > 0);
      assert.equal(setting('WatchdogSignal'), 'SIGKILL');
      // systemd-notify, which tells systemd that the process lives, is a child of it.
      assert.equal(setting('NotifyAccess'), 'all');
    });

    test('systemd finds no fault in it, and little exposure', { skip }, async (context) => {
      const folder = await temporaryDirectory(context);
      const unit = join(folder, name);
      // verify wants the program to be there.
      await writeFile(unit, text.replaceAll(installed, join(root, 'bin/mixed-version-proxy')));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], {
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
      assert.ok(!stderr.includes(name), stderr);
      // The threshold is in tenths: 2.0.
      execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], {
        stdio: 'pipe',
      });
    });
  });
}

test('the router may take as long to end as its time-outs allow', () => {
  const unit = parseUnitFile(
    readFileSync(join(root, 'deploy/systemd/mixed-version-proxy.service'), 'utf8'),
  ).get('Service');
  const [seconds = ''] = unit?.get('TimeoutStopSec') ?? [];
  // --request-timeout is 60 s by default, and --shutdown-delay-duration 15 s in docs/guides/shutdown.md.
  assert.ok(Number(seconds) >= 75, seconds);
});
