import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inboundRequest, withCertificate } from '../../test/support/inbound-request.ts';
import { X509Authenticator } from './x509.ts';

const authenticator = new X509Authenticator();

it('takes the common name for the user and every organization for a group, in order', () => {
  const groups = ['system:masters', 'a, b', 'équipe'];
  assert.deepEqual(
    authenticator.authenticate(inboundRequest([], withCertificate('client-ca', 'jane', groups))),
    {
      kind: 'authenticated',
      user: { name: 'jane', uid: '', groups, extra: new Map() },
      authenticator: 'x509',
      viaVerifiedPeer: false,
    },
  );
});

it('has no opinion on a certificate without a common name, or without a certificate', () => {
  assert.equal(
    authenticator.authenticate(inboundRequest([], withCertificate('client-ca', '', ['g']))),
    undefined,
  );
  assert.equal(authenticator.authenticate(inboundRequest()), undefined);
});

it('S10: takes no certificate of the request-header authority for a user', () => {
  const inbound = inboundRequest([], withCertificate('requestheader-client-ca', 'admin', ['system:masters']));
  assert.equal(authenticator.authenticate(inbound), undefined);
});
