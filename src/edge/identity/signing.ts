// What only a Worker that signs for its callers needs, to be loaded together.
export { createAssertionSigner } from '../../identity/assertion/sign-assertion.ts';
export { createOidcIssuer } from '../../identity/oidc-token/oidc-issuer.ts';
export { createOidcTokenSigner } from '../../identity/oidc-token/sign-oidc-token.ts';
