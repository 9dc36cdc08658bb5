import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inboundRequest } from '../../../test/support/inbound-request.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import {
  goodClaims,
  handmadeToken,
  issuerUrl,
  keySetOf,
  testNow,
  tokenPolicy,
  tokenSigner,
} from '../../../test/support/token-signer.ts';
import { JwtAuthenticator } from './jwt-authenticator.ts';
import { fixedKeys } from './key-source.ts';
import { externalIssuer } from './token-issuer.ts';

describe('log lines and errors about tokens', () => {
  it('never hold a token, nor what stands in one', async () => {
    const { logger, lines } = recordingLogger();
    const signer = await tokenSigner();
    const keys = fixedKeys(await keySetOf(signer));
    const authenticator = new JwtAuthenticator({
      issuers: [externalIssuer(issuerUrl, keys, tokenPolicy)],
      clock: () => testNow,
      logger,
    });
    const other = await tokenSigner('kid-hunter2');
    const secret = { sub: 'hunter2', aud: 'hunter2', jti: 'hunter2', groups: { hunter2: true } };
    const tokens = [
      await signer.sign(goodClaims(secret)),
      await signer.sign(goodClaims({ ...secret, aud: 'kubernetes' })),
      await signer.sign(goodClaims({ ...secret, exp: 1 })),
      await other.sign(goodClaims(secret)),
      handmadeToken({ alg: 'hunter2', kid: 'hunter2' }, goodClaims(secret), 'aHVudGVyMg'),
      handmadeToken({ alg: 'ES256', kid: 'key-1', crit: ['hunter2'] }, goodClaims(secret), 'aHVudGVyMg'),
    ];
    const said: string[] = [];
    for (const token of tokens) {
      await authenticator
        .authenticate(inboundRequest(['Authorization', `Bearer ${token}`]))
        .catch((error: unknown) => said.push(wholeText(error)));
    }
    assert.equal(said.length, 4);
    assert.equal(lines.length, 2);
    const everything = said.join('\n') + JSON.stringify(lines);
    assert.doesNotMatch(everything, /hunter2|eyJ|aHVudGVyMg/);
    assert.match(everything, /the token is expired/);
  });
});

/** The message of an error and of everything behind it. */
function wholeText(error: unknown): string {
  return error instanceof Error ? `${error.message} ${wholeText(error.cause)}` : '';
}
