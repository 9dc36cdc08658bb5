import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routerSettings } from '../../node/configuration/router-settings.ts';
import { parseConfigurationFile } from './configuration-file.ts';

const header = 'apiVersion: mixed-version-proxy/v1alpha1\nkind: RouterConfiguration\n';

const kind = { kind: 'RouterConfiguration', settings: routerSettings };

/** `line:column: what`, one for each error. */
function issuesOf(text: string): string[] {
  const { issues } = parseConfigurationFile('f', text, kind);
  assert.ok(issues.length > 0, 'there are errors');
  return issues.map((issue) => issue.replace(/^f:/, ''));
}

function valuesOf(text: string): Record<string, unknown> {
  const { issues, values } = parseConfigurationFile('f', text, kind);
  assert.deepEqual(issues, []);
  return Object.fromEntries([...values].map(([flag, { input }]) => [flag, input]));
}

describe('a configuration file', () => {
  it('is YAML with nested keys, each of which is a flag', () => {
    const text = `${header}
# comments are welcome
featureGates: { UnknownVersionInteroperabilityProxy: true }
localServer:
  id: cp-a
serving:
  port: 7443
health:
authentication:
  requestHeader:
    allowedNames: [front-proxy-client, "a, b"]
limits:
  goawayChance: 0.001
admin:
  bindAddress: 127.0.0.1:9443
timeouts:
  request: 1m30s
`;
    assert.deepEqual(valuesOf(text), {
      'feature-gates': { UnknownVersionInteroperabilityProxy: true },
      'server-id': 'cp-a',
      'secure-port': 7443,
      'requestheader-allowed-names': ['front-proxy-client', 'a, b'],
      'goaway-chance': 0.001,
      'admin-bind-address': '127.0.0.1:9443',
      'request-timeout': '1m30s',
    });
  });

  it('may be JSON', () => {
    const document = {
      apiVersion: 'mixed-version-proxy/v1alpha1',
      kind: 'RouterConfiguration',
      serving: { port: 1 },
    };
    assert.deepEqual(valuesOf(JSON.stringify(document, null, 2)), { 'secure-port': 1 });
  });

  it('reports every error at once, in the order of the file, each with line, column and path', () => {
    const text = `apiVersion: mixed-version-proxy/v2
kind: RouterConfiguration
serving:
  prot: 7443
  port: "7443"
  colour: red
timeouts:
  request: soon
peers: none
authentication:
  requestHeader:
    allowedNames:
      - alice
      - 7
featureGates:
  UnknownVersionInteroperabilityProxy: "true"
logging: { format: xml }
`;
    assert.deepEqual(issuesOf(text), [
      '1:13: apiVersion must be mixed-version-proxy/v1alpha1',
      '4:3: serving.prot is no key of this configuration; did you mean port?',
      '5:9: serving.port must be a whole number from 0 to 65535, not "7443"',
      '6:3: serving.colour is no key of this configuration',
      '8:12: timeouts.request must be a duration from 1s to 24h, such as 10s, not "soon"',
      '9:8: peers must be an object',
      '14:9: authentication.requestHeader.allowedNames[1] must be text, not 7',
      '16:40: featureGates.UnknownVersionInteroperabilityProxy must be true or false, not "true"',
      '17:20: logging.format must be one of text, json, not "xml"',
    ]);
  });

  it('says of a key that stands in another section where it belongs', () => {
    const text = `${header}serving:\n  clientCAFile: a\n  manifestFile: b\nadmin:\n  port: 1\n  client-ca-file: c\ntls:\n  bogus: d\nrequestHeader: {}\nca: {}\n`;
    assert.deepEqual(issuesOf(text), [
      '4:3: serving.clientCAFile is no key of this configuration; did you mean authentication.clientCAFile or authentication.requestHeader.clientCAFile?',
      '5:3: serving.manifestFile is no key of this configuration; did you mean localServer.manifestFile?',
      '7:3: admin.port is no key of this configuration; did you mean serving.port?',
      '8:3: admin["client-ca-file"] is no key of this configuration; did you mean authentication.clientCAFile?',
      '9:1: tls is no key of this configuration',
      '11:1: requestHeader is no key of this configuration; did you mean authentication.requestHeader?',
      '12:1: ca is no key of this configuration',
    ]);
  });

  it('is refused where a key is given twice, at either level', () => {
    assert.deepEqual(issuesOf(`${header}gateway: true\ngateway: false\nserving:\n  port: 1\n  port: 2\n`), [
      '4:1: is a key that was given before',
      '7:3: is a key that was given before',
    ]);
  });

  it('is refused without kind, with another one, and when it is empty', () => {
    assert.deepEqual(issuesOf('apiVersion: mixed-version-proxy/v1alpha1\n'), [
      '1:1: kind is required: RouterConfiguration',
    ]);
    assert.match(issuesOf(header.replace('Router', 'Edge')).join(), /2:7: kind must be RouterConfiguration/);
    for (const text of ['', '# nothing\n', '---\n']) assert.equal(issuesOf(text).length, 1, text);
    assert.match(issuesOf('- a\n').join(), /must be an object with apiVersion and kind/);
  });

  it('is refused with a second document, an alias or a tag', () => {
    assert.match(issuesOf(`${header}---\n${header}`).join(), /^3:.*second document/);
    assert.match(issuesOf(`${header}localServer: { id: &a x, serverName: *a }\n`).join(), /is an alias/);
    assert.match(issuesOf(`${header}localServer: { id: !secret x }\n`).join(), /TAG_RESOLVE_FAILED/);
  });

  it('is refused with few lines where it is a file of another kind', () => {
    const issues = issuesOf(`${'name value\n'.repeat(3)}${'\t%wrong: {\n'.repeat(100)}`);
    assert.ok(issues.length <= 6, issues.join('\n'));
    assert.match(issues.at(-1) ?? '', /more errors of this kind follow$/);
  });

  it('is not quoted where it is no YAML: it may be a key given by mistake', () => {
    const issues = issuesOf('-----BEGIN PRIVATE KEY-----\nhunter2: {\n').join('\n');
    assert.ok(!issues.includes('hunter2'), issues);
    assert.match(issues, /neither YAML nor JSON \(\w+\): see the indentation/);
  });

  it('takes YAML 1.2 at its word: yes and on are no booleans', () => {
    assert.deepEqual(issuesOf(`${header}gateway: yes\n`), ['3:10: gateway must be true or false, not "yes"']);
  });

  it('has no members of a prototype as keys', () => {
    assert.match(
      issuesOf(`${header}__proto__: {}\nconstructor: 1\n`).join('\n'),
      /__proto__.*\n.*constructor/,
    );
  });
});
