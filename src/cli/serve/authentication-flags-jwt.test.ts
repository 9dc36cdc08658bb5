import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { runCommand } from '../../../test/support/command-context.ts';
import { type FlagChanges, ServeOptionsCheck, serveFiles } from '../../../test/support/serve-options.ts';
import { tokenSigner } from '../../../test/support/token-signer.ts';
import { parseAuthenticationConfiguration } from '../../identity/jwt/parse-jwt-configuration.ts';

const issuer = 'https://kubernetes.default.svc';

function configurationText(issuerFields: string, apiVersion = 'apiserver.config.k8s.io/v1'): string {
  return `apiVersion: ${apiVersion}
kind: AuthenticationConfiguration
jwt:
  - issuer: { audiences: [kubernetes], ${issuerFields} }
    claimMappings: { username: { claim: sub, prefix: "" } }
`;
}

const own = 'mixed-version-proxy/v1alpha1';
const url = 'url: https://issuer.example';

let check: ServeOptionsCheck;
before(async () => {
  const files = await serveFiles();
  const { publicJwk } = await tokenSigner();
  const certificate = JSON.stringify(files.get('ca.crt'));
  const broken = JSON.stringify(files.get('broken.crt'));
  check = new ServeOptionsCheck(
    new Map([
      ...files,
      ['good.yaml', configurationText(`${url}, certificateAuthority: ${certificate}`)],
      ['good.json', JSON.stringify(parse(configurationText(url)))],
      [
        'two-issues.yaml',
        configurationText('url: http://issuer.example, audience: a, egressSelectorType: cluster'),
      ],
      [
        'rules.yaml',
        configurationText(`${url}, egressSelectorType: cluster`).replace('prefix: ""', 'expression: b'),
      ],
      ['broken-ca.yaml', configurationText(`${url}, certificateAuthority: ${broken}`)],
      ['anonymous.yaml', `${configurationText(url)}anonymous: { enabled: false }\n`],
      ['not.yaml', 'a: [hunter2\nb: {'],
      ['service-accounts.yaml', configurationText(`url: ${issuer}`)],
      ['keys.yaml', configurationText(`${url}, jwksFile: keys.json`, own)],
      ['private-keys.yaml', configurationText(`${url}, jwksFile: private-keys.json`, own)],
      ['missing-keys.yaml', configurationText(`${url}, jwksFile: none.json`, own)],
      ['keys.json', JSON.stringify({ keys: [publicJwk] })],
    ]),
  );
});

const serviceAccounts: FlagChanges = {
  'service-account-issuer': [issuer],
  'service-account-key-file': ['keys.json'],
};

describe('--authentication-config', () => {
  it('is read as YAML or JSON', async () => {
    const fromYaml = await check.config({ 'authentication-config': ['good.yaml'] });
    assert.deepEqual(
      fromYaml.jwt.issuers.map((each) => [each.issuer, each.keys.kind]),
      [['https://issuer.example', 'discovery']],
    );
    const fromJson = await check.config({ 'authentication-config': ['good.json'] });
    assert.equal(fromJson.jwt.issuers.length, 1);
    assert.deepEqual((await check.config()).jwt, { issuers: [], serviceAccounts: undefined });
  });

  it('has every error of the file told, with the flag, the file and the path', async () => {
    const messages = (await check.messages({ 'authentication-config': ['rules.yaml'] })).split('\n');
    assert.deepEqual(messages, [
      '--authentication-config: rules.yaml: jwt[0].issuer.egressSelectorType is not supported: this router has no egress selector',
      '--authentication-config: rules.yaml: jwt[0].claimMappings.username must have a claim or an expression, not both',
    ]);
    assert.match(
      await check.messages({ 'authentication-config': ['two-issues.yaml'] }),
      /two-issues\.yaml: jwt\[0\]\.issuer\.audience is not a field of this object/,
    );
  });

  it('has a file told that cannot be read, or is no YAML, without quoting it', async () => {
    assert.match(
      await check.messages({ 'authentication-config': ['none.yaml'] }),
      /cannot read none\.yaml: ENOENT/,
    );
    const messages = await check.messages({ 'authentication-config': ['not.yaml'] });
    assert.match(messages, /^--authentication-config: not\.yaml is neither YAML nor JSON: see line \d$/);
    assert.doesNotMatch(messages, /hunter2/);
    for (const file of ['secret.key', 'serving.key']) {
      assert.equal(
        await check.messages({ 'authentication-config': [file] }),
        `--authentication-config: ${file} must be an object`,
      );
    }
  });

  it('has an authority told that cannot be read', async () => {
    assert.match(
      await check.messages({ 'authentication-config': ['broken-ca.yaml'] }),
      /--authentication-config: certificate 1 of 1 in broken-ca\.yaml: jwt\[0\]\.issuer\.certificateAuthority is not readable/,
    );
  });

  it('has the keys in files read, and refused when they are private', async () => {
    assert.deepEqual(await check.issues({ 'authentication-config': ['keys.yaml'] }), []);
    assert.match(
      await check.messages({ 'authentication-config': ['private-keys.yaml'] }),
      /jwt\[0\]\.issuer\.jwksFile: private-keys\.json: keys\[0\]\.d must not be here/,
    );
    assert.match(
      await check.messages({ 'authentication-config': ['missing-keys.yaml'] }),
      /cannot read none\.json/,
    );
  });

  it('warns that anonymous callers are the API server’s business', async () => {
    assert.match(
      (await check.warnings({ 'authentication-config': ['anonymous.yaml'] })).join(),
      /anonymous\.yaml: anonymous has no effect here/,
    );
  });

  it('cannot name an issuer of service accounts', async () => {
    const changes = { ...serviceAccounts, 'authentication-config': ['service-accounts.yaml'] };
    assert.match(
      await check.messages(changes),
      /jwt\[0\]\.issuer\.url must not be an issuer of service accounts/,
    );
  });
});

describe('service account flags', () => {
  it('are off unless given; audiences default to the issuers', async () => {
    const { jwt } = await check.config(serviceAccounts);
    assert.deepEqual(jwt.serviceAccounts, {
      issuers: [issuer],
      keyFiles: ['keys.json'],
      apiAudiences: [issuer],
    });
    const changes = {
      ...serviceAccounts,
      'service-account-issuer': [issuer, 'https://former.example'],
      'api-audiences': ['a,b'],
    };
    assert.deepEqual((await check.config(changes)).jwt.serviceAccounts, {
      issuers: [issuer, 'https://former.example'],
      keyFiles: ['keys.json'],
      apiAudiences: ['a', 'b'],
    });
  });

  it('mean nothing without each other', async () => {
    assert.deepEqual(await check.issues({ 'service-account-issuer': [issuer] }), [
      '--service-account-key-file',
    ]);
    assert.deepEqual(
      await check.issues({ 'service-account-key-file': ['keys.json'], 'api-audiences': ['a'] }),
      ['--service-account-key-file', '--api-audiences'],
    );
  });

  it('refuse issuers that are no URL, blank or given twice', async () => {
    for (const given of [['https://a b'], [''], [issuer, issuer]]) {
      assert.deepEqual(await check.issues({ ...serviceAccounts, 'service-account-issuer': given }), [
        '--service-account-issuer',
      ]);
    }
  });

  it('refuse key files without a public key, and private keys', async () => {
    for (const [file, message] of [
      ['none.pub', /cannot read none\.pub/],
      ['empty.crt', /empty\.crt holds no PEM public key/],
      ['serving.key', /serving\.key: PEM block 1 must not be here: this is a private key/],
    ] as const) {
      assert.match(await check.messages({ ...serviceAccounts, 'service-account-key-file': [file] }), message);
    }
  });

  it('say in the help what they cost', async () => {
    const { output } = await runCommand(new Map(), ['serve', '--help']);
    const text = output.replace(/\s+/g, ' ');
    assert.match(text, /cannot see whether the service account, .* was deleted/);
  });
});

it('every configuration in docs/guides/authentication.md is one that is accepted', () => {
  const page = readFileSync(new URL('../../../docs/guides/authentication.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text = '']) => parse(text) as unknown,
  );
  assert.equal(examples.length, 2);
  for (const example of examples) {
    const result = parseAuthenticationConfiguration(example);
    assert.deepEqual(result.ok ? result.warnings : result.issues, []);
  }
});
