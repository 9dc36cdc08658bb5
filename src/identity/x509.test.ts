import assert from 'node:assert/strict';
import { it } from 'node:test';
import { inboundRequest, withCertificate } from '../../test/support/routers/inbound-request.ts';
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

it('takes the UID of the subject, and names the credential as servers from 1.32 on do', () => {
  const clientCertificate = {
    commonName: 'jane',
    organizations: [],
    authority: 'client-ca',
    uid: 'u-1',
    sha256: 'ab12',
  } as const;
  const caller = authenticator.authenticate(inboundRequest([], { clientCertificate }));
  assert.deepEqual(caller?.kind === 'authenticated' && caller.user, {
    name: 'jane',
    uid: 'u-1',
    groups: [],
    extra: new Map([['authentication.kubernetes.io/credential-id', ['X509SHA256=ab12']]]),
  });
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
