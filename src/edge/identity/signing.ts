// What only a Worker that signs for its callers needs, to be loaded together.
export { identityTokenSigners } from '../../identity/assertion/identity-token-signers.ts';
export { createOidcIssuer } from '../../identity/outgoing/oidc-issuer.ts';
