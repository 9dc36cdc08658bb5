import * as v from 'valibot';
import { expected, listOf, strict } from '../../snapshot/format/schema-parts.ts';

/** Kubernetes' own versions of the file; it can be the very file that the kube-apiservers read. */
const kubernetesVersions = [
  'apiserver.config.k8s.io/v1',
  'apiserver.config.k8s.io/v1beta1',
  'apiserver.config.k8s.io/v1alpha1',
] as const;

/** The same, with two more places that keys may come from: `issuer.jwksURL` and `issuer.jwksFile`. */
export const ownVersion = 'mixed-version-proxy/v1alpha1';

const apiVersions = [...kubernetesVersions, ownVersion] as const;

/** As upstream (k8s.io/apiserver pkg/apis/apiserver/validation). */
const maximumIssuers = 64;

const text = v.string(expected('text'));
const given = v.exactOptional;

const issuer = strict({
  url: text,
  discoveryURL: given(text),
  certificateAuthority: given(text),
  audiences: v.array(text, expected('an array')),
  audienceMatchPolicy: given(text),
  egressSelectorType: given(text),
  jwksURL: given(text),
  jwksFile: given(text),
});

const claimValidationRule = strict({
  claim: given(text),
  requiredValue: given(text),
  expression: given(text),
  message: given(text),
});

const prefixedClaimOrExpression = strict({
  claim: given(text),
  prefix: given(text),
  expression: given(text),
});

const claimOrExpression = strict({ claim: given(text), expression: given(text) });

const jwtAuthenticator = strict({
  issuer,
  claimValidationRules: given(v.array(claimValidationRule, expected('an array'))),
  claimMappings: strict({
    username: prefixedClaimOrExpression,
    groups: given(prefixedClaimOrExpression),
    uid: given(claimOrExpression),
    extra: given(v.array(strict({ key: text, valueExpression: text }), expected('an array'))),
  }),
  userValidationRules: given(
    v.array(strict({ expression: text, message: given(text) }), expected('an array')),
  ),
});

const anonymous = strict({
  enabled: v.boolean(expected('true or false')),
  conditions: given(v.array(strict({ path: text }), expected('an array'))),
});

/**
 * The shape of Kubernetes' AuthenticationConfiguration (k8s.io/apiserver pkg/apis/apiserver/v1/types.go). What its
 * fields may hold is checked in `parseAuthenticationConfiguration`.
 */
export const authenticationConfigurationSchema = strict({
  apiVersion: v.picklist(apiVersions, expected(`one of ${apiVersions.join(', ')}`)),
  kind: v.literal('AuthenticationConfiguration', expected('AuthenticationConfiguration')),
  jwt: given(listOf(jwtAuthenticator, maximumIssuers)),
  anonymous: given(anonymous),
});

export type AuthenticationConfiguration = v.InferOutput<typeof authenticationConfigurationSchema>;
export type JwtAuthenticatorConfiguration = v.InferOutput<typeof jwtAuthenticator>;
export type IssuerConfiguration = v.InferOutput<typeof issuer>;
export type ClaimMappingsConfiguration = JwtAuthenticatorConfiguration['claimMappings'];
export type PrefixedClaimOrExpression = v.InferOutput<typeof prefixedClaimOrExpression>;
export type ClaimOrExpression = v.InferOutput<typeof claimOrExpression>;
