import assert from 'node:assert/strict';
import { test } from 'node:test';
import { speaker } from '../../../test/support/assertions.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { readConfiguration } from '../configuration/read-configuration.ts';
import { createCallerIdentification } from './callers.ts';

const sync = await speaker('sync');

const tokens = {
  TOKEN_ISSUER: 'https://issuer.example',
  TOKEN_AUDIENCE: 'kubernetes',
  TOKEN_JWKS_URL: 'https://issuer.example/keys',
};
/** In the order in which they are asked. */
const methods: readonly (readonly [variables: object, authenticator: string])[] = [
  [{ CLIENT_CERTIFICATES: 'cf' }, 'x509'],
  [tokens, 'jwt'],
];

async function authenticatorsWith(variables: object): Promise<readonly string[]> {
  const { callers } = await readConfiguration({
    SERVER_ID: 'cp-a',
    LOCAL_SERVER: 'https://cp-a.example:6443',
    PEER_MTLS: { fetch },
    SNAPSHOT_KEYS: { keys: [sync.publicJwk] },
    ...variables,
  });
  return createCallerIdentification(callers, silentLogger).authenticators.map(({ name }) => name);
}

for (const [variables, authenticator] of methods) {
  test(`callers are established by ${authenticator} where nothing else is configured`, async () => {
    assert.deepEqual(await authenticatorsWith(variables), [authenticator]);
  });
}

test('of all ways to establish callers the certificate is asked first, and none is asked without any', async () => {
  const everything = Object.assign({}, ...methods.map(([variables]) => variables));
  assert.deepEqual(
    await authenticatorsWith(everything),
    methods.map(([, authenticator]) => authenticator),
  );
  assert.deepEqual(await authenticatorsWith({}), []);
});
