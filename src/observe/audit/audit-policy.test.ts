import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { judgeAudit } from './audit-policy.ts';
import { parseAuditPolicy } from './parse-audit-policy.ts';

const head = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy' };

function policyOf(rules: readonly object[], more: object = {}) {
  const parsed = parseAuditPolicy({ ...head, rules, ...more });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.value;
}

function user(name: string, groups: readonly string[] = []): UserInfo {
  return { name, uid: '', groups, extra: new Map() };
}

/** Whether a rule with these limits matches. */
function matches(rule: object, method: string, target: string, caller?: UserInfo): boolean {
  const policy = policyOf([{ level: 'Metadata', ...rule }]);
  return judgeAudit(policy, parseRequestInfo(method, target), caller).level === 'Metadata';
}

const pod = '/api/v1/namespaces/shop/pods/web';

describe('an audit policy', () => {
  it('tells as much as its first rule that matches says, and nothing without one', () => {
    const policy = policyOf([
      { level: 'None', users: ['quiet'] },
      { level: 'RequestResponse', verbs: ['get'] },
    ]);
    const read = parseRequestInfo('GET', pod);
    assert.equal(judgeAudit(policy, read, user('quiet')).level, 'None');
    assert.equal(judgeAudit(policy, read, user('alice')).level, 'RequestResponse');
    assert.equal(judgeAudit(policy, parseRequestInfo('DELETE', pod), user('alice')).level, 'None');
  });

  it('matches callers by name and by group, and unknown ones by neither', () => {
    assert.equal(matches({ users: ['alice'] }, 'GET', pod, user('alice')), true);
    assert.equal(matches({ users: ['alice'] }, 'GET', pod, user('bob')), false);
    assert.equal(matches({ users: ['alice'] }, 'GET', pod), false);
    assert.equal(matches({ userGroups: ['dev'] }, 'GET', pod, user('bob', ['ops', 'dev'])), true);
    assert.equal(matches({ userGroups: ['dev'] }, 'GET', pod, user('bob')), false);
    assert.equal(matches({ userGroups: ['dev'] }, 'GET', pod), false);
    assert.equal(matches({}, 'GET', pod), true);
  });

  it('matches resources as kube-apiserver does', () => {
    const log = `${pod}/log`;
    const scale = '/apis/apps/v1/namespaces/shop/deployments/web/scale';
    for (const [group, patterns, target, expected] of [
      ['', [], pod, true],
      ['', ['pods'], pod, true],
      ['', ['pods'], log, false],
      ['', ['pods/log'], log, true],
      ['', ['pods/*'], log, true],
      ['', ['pods/*'], pod, true],
      ['', ['*'], log, true],
      ['apps', ['*/scale'], scale, true],
      ['apps', ['*/status'], scale, false],
      ['apps', ['pods'], pod, false],
      ['', ['*'], scale, false],
      ['', ['*'], '/healthz/etcd', false],
    ] as const) {
      const rule = { resources: [{ group, resources: patterns }] };
      assert.equal(matches(rule, 'GET', target), expected, `${group} ${patterns} ${target}`);
    }
    const named = { resources: [{ group: '', resources: ['pods'], resourceNames: ['web'] }] };
    assert.equal(matches(named, 'GET', pod), true);
    assert.equal(matches(named, 'GET', '/api/v1/namespaces/shop/pods/other'), false);
  });

  it('matches namespaces, the empty one for what has none', () => {
    assert.equal(matches({ namespaces: ['shop'] }, 'GET', pod), true);
    assert.equal(matches({ namespaces: [''] }, 'GET', pod), false);
    assert.equal(matches({ namespaces: [''] }, 'GET', '/api/v1/nodes'), true);
    assert.equal(matches({ namespaces: [''] }, 'GET', '/version'), false);
  });

  it('matches paths that name no resource, whole or up to a star', () => {
    assert.equal(matches({ nonResourceURLs: ['/version'] }, 'GET', '/version'), true);
    assert.equal(matches({ nonResourceURLs: ['/livez*'] }, 'GET', '/livez/ping'), true);
    assert.equal(matches({ nonResourceURLs: ['*'] }, 'GET', '/openapi/v2'), true);
    assert.equal(matches({ nonResourceURLs: ['/version'] }, 'GET', '/version/x'), false);
    assert.equal(matches({ nonResourceURLs: ['*'] }, 'GET', pod), false);
  });

  it('leaves out the stages of the rule and those of the policy', () => {
    const policy = policyOf([{ level: 'Metadata', omitStages: ['RequestReceived'] }], {
      omitStages: ['Panic'],
    });
    const { omits } = judgeAudit(policy, parseRequestInfo('GET', pod), undefined);
    assert.deepEqual(
      (['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const).filter(omits),
      ['RequestReceived', 'Panic'],
    );
  });

  it('is refused in words where a field is missing or is none', () => {
    const parsed = parseAuditPolicy({ ...head, rules: [{ lvl: 'None' }], colour: 'red' });
    assert.deepEqual(parsed.ok ? [] : parsed.issues.map(({ path, message }) => `${path} ${message}`).sort(), [
      'colour is not a field of this object',
      'rules[0].level is required',
      'rules[0].lvl is not a field of this object',
    ]);
  });

  it('is refused with every error and its path', () => {
    const pathsOf = (document: unknown) => {
      const parsed = parseAuditPolicy(document);
      return parsed.ok ? [] : parsed.issues.map(({ path }) => path).sort();
    };
    const rule = (more: object) => pathsOf({ ...head, rules: [{ level: 'Metadata', ...more }] });
    assert.deepEqual(pathsOf([]), ['']);
    assert.deepEqual(pathsOf({}), ['apiVersion', 'kind', 'rules']);
    assert.deepEqual(
      pathsOf({ ...head, apiVersion: 'audit.k8s.io/v1beta1', rules: [{ level: 'Metadata' }] }),
      ['apiVersion'],
    );
    assert.deepEqual(pathsOf({ ...head, rules: [] }), ['rules']);
    assert.deepEqual(pathsOf({ ...head, rules: [{}] }), ['rules[0].level']);
    assert.deepEqual(rule({ user: ['a'], verbs: 'get', omitStages: ['Later'] }), [
      'rules[0].omitStages[0]',
      'rules[0].user',
      'rules[0].verbs',
    ]);
    assert.deepEqual(rule({ nonResourceURLs: ['/a*b', 'x', '/ok', '*'] }), [
      'rules[0].nonResourceURLs[0]',
      'rules[0].nonResourceURLs[1]',
    ]);
    assert.deepEqual(rule({ nonResourceURLs: ['/a'], namespaces: ['b'] }), ['rules[0].nonResourceURLs']);
    assert.deepEqual(rule({ resources: [{ group: 'apps/v1' }, { group: '', resourceNames: ['a'] }] }), [
      'rules[0].resources[0].group',
      'rules[0].resources[1].resourceNames',
    ]);
  });

  it('says that bodies are not kept', () => {
    const parsed = parseAuditPolicy({ ...head, rules: [{ level: 'Metadata' }, { level: 'Request' }] });
    assert.ok(parsed.ok);
    assert.deepEqual(
      parsed.warnings.map(({ path }) => path),
      ['rules[1].level'],
    );
  });

  it('takes what Kubernetes writes: null for nothing, metadata, managed fields', () => {
    const parsed = parseAuditPolicy({
      ...head,
      metadata: { name: 'default', creationTimestamp: null },
      omitStages: null,
      omitManagedFields: true,
      rules: [{ level: 'Metadata', users: null, resources: [{ group: null }], omitManagedFields: false }],
    });
    assert.ok(parsed.ok);
  });
});
