import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judge, noCounts } from '../../demo/upgrade/counts.ts';
import { actionsOf } from '../../demo/upgrade/keys.ts';
import { serversOfOneVersion } from '../../demo/upgrade/upgradable-server.ts';
import { repainted } from '../../demo/upgrade/upgrade-terminal.ts';
import { countsExplained, type UpgradeMoment, upgradeScreen } from '../../demo/upgrade/upgrade-view.ts';
import { newPolicies, oldWorkloads, serves, type UpgradeVersion } from '../../demo/upgrade/versions.ts';
import { renderLines } from '../../src/cli/terminal/styled-text.ts';

describe('what the clients of an upgrade count', () => {
  it('a 404 is wrong only while a server serves the resource', () => {
    assert.equal(judge(404, true), 'wrongNotFound');
    assert.equal(judge(404, false), 'withoutServer');
  });

  it('a refusal is one only while a server could have responded, and so is no response', () => {
    for (const status of [429, 500, 503, undefined]) {
      assert.equal(judge(status, true), 'refused', String(status));
      assert.equal(judge(status, false), 'withoutServer', String(status));
    }
  });

  it('what a client asked for wrongly is nobody else’s fault', () => {
    for (const status of [200, 201, 409, 422]) assert.equal(judge(status, true), 'right');
  });

  it('each of the two versions serves one resource that the other lacks', () => {
    assert.deepEqual([serves('1.35', oldWorkloads), serves('1.36', oldWorkloads)], [true, false]);
    assert.deepEqual([serves('1.35', newPolicies), serves('1.36', newPolicies)], [false, true]);
  });
});

describe('a balancer that leads to servers of one version', () => {
  it('is switched once, when most servers are upgraded', () => {
    const names = (...versions: readonly UpgradeVersion[]) =>
      serversOfOneVersion(versions.map((version, index) => ({ version, index }))).map(({ index }) => index);
    assert.deepEqual(names('1.35', '1.35', '1.35'), [0, 1, 2]);
    assert.deepEqual(names('1.36', '1.35', '1.35'), [1, 2]);
    assert.deepEqual(names('1.36', '1.36', '1.35'), [0, 1]);
    assert.deepEqual(names('1.36', '1.36', '1.36'), [0, 1, 2]);
  });
});

describe('the keys of an upgrade', () => {
  it('stop and start servers, upgrade the next one, and leave', () => {
    assert.deepEqual(actionsOf('1', 3), [{ kind: 'toggle', server: 0 }]);
    assert.deepEqual(actionsOf('3u', 3), [{ kind: 'toggle', server: 2 }, { kind: 'upgrade' }]);
    for (const key of ['q', '\u0003', '\u0004']) assert.deepEqual(actionsOf(key, 3), [{ kind: 'leave' }]);
  });

  it('that stand for nothing do nothing: servers that are not there, arrows', () => {
    for (const typed of ['0', '4', 'x', '\u001b[A', '\r']) assert.deepEqual(actionsOf(typed, 3), [], typed);
  });
});

describe('the screen of an upgrade', () => {
  const server = { version: '1.35', isRunning: true, router: 'https://127.0.0.1:40000' };
  const moment: UpgradeMoment = {
    from: '1.35',
    to: '1.36',
    elapsed: 75_900,
    servers: [1, 2, 3].map((index) => ({
      ...server,
      name: `control-plane-${index}`,
      isRunning: index !== 2,
    })),
    throughRouters: { ...noCounts(), requests: 1_234_567, fieldsStored: 20 },
    oneVersion: { ...noCounts(), requests: 1_250, wrongNotFound: 41, fieldsStored: 19 },
    anyServer: { ...noCounts(), requests: 1_234, wrongNotFound: 87, fieldsStored: 18, fieldsLost: 7 },
    isExplained: false,
    events: Array.from({ length: 40 }, (_, index) => ({ at: index * 1000, text: `event ${index}` })),
    next: 'control-plane-1 is upgraded in 600 s, unless you press a key.',
    kubeconfig: '/home/me/.demo/kubeconfig',
    height: 24,
  };
  const lines = renderLines(upgradeScreen(moment), false).split('\n');

  it('fits a terminal of 80 columns and 24 lines, however long it has run', () => {
    assert.ok(lines.length <= 24, `${lines.length} lines`);
    for (const line of lines) assert.ok(line.length <= 80, line);
  });

  it('gives up events before servers and counts in a low terminal', () => {
    for (const height of [30, 17, 12, 5]) {
      const shown = renderLines(upgradeScreen({ ...moment, height }), false)
        .trimEnd()
        .split('\n');
      assert.ok(shown.length < height, `${shown.length} lines of ${height}`);
      assert.match(shown.join('\n'), /control-plane-1/);
      if (height >= 12) assert.match(shown.join('\n'), /wrong 404s/);
    }
  });

  it('says what the rows mean in place of what has happened', () => {
    assert.deepEqual(actionsOf('?', 3), [{ kind: 'explain' }]);
    const text = renderLines(upgradeScreen({ ...moment, isExplained: true }), false);
    assert.match(text, /\n {2}wrong 404 +a server that runs has the object\n {2}field lost /);
    assert.doesNotMatch(text, /event 39/);
    for (const line of countsExplained.split('\n')) assert.ok(line.length <= 60, line);
  });

  it('names a kubeconfig whose contexts are the servers', () => {
    assert.match(lines.join('\n'), /KUBECONFIG=\/home\/me\/\.demo\/kubeconfig kubectl get ns/);
  });

  it('shows servers, both columns of counts, the time, and the latest events', () => {
    const text = lines.join('\n');
    assert.match(text, /1:15/);
    assert.match(text, /2 {2}control-plane-2 {2}1\.35 {2}stopped/);
    assert.match(text, /wrong 404s +0 +41 +87\n/);
    assert.match(text, /fields lost +0 of 20 +0 of 19 +7 of 18\n/);
    assert.match(text, /0:39 {2}event 39/);
    assert.doesNotMatch(text, /event 0\b/);
  });

  it('is drawn over the one before without a rest of it', () => {
    assert.equal(repainted('a\nb\n'), '\u001b[Ha\u001b[K\nb\u001b[K\n\u001b[J');
  });
});
