import { createHash, createPublicKey } from 'node:crypto';
import { type ParsedKeySet, parseKeySet } from '../../identity/jwt/key-set.ts';
import type { SnapshotIssue } from '../../snapshot/format/issues.ts';
import { parseJsonText } from '../../snapshot/format/json-text.ts';

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/**
 * Reads the public keys of a file: PEM (public keys and certificates), or a JSON Web Key Set. A PEM key gets the
 * key ID that kube-apiserver gives it (pkg/serviceaccount/jwt.go): the SHA-256 of its SubjectPublicKeyInfo.
 */
export async function parsePublicKeyFile(text: string): Promise<ParsedKeySet> {
  if (text.trimStart().startsWith('{')) return parseKeySetText(text);
  const issues: SnapshotIssue[] = [];
  const jwks: unknown[] = [];
  for (const [index, [block, label = '']] of [...text.matchAll(pemBlock)].entries()) {
    const jwk = publicJwk(block, label);
    if (typeof jwk === 'string') issues.push({ path: `PEM block ${index + 1}`, message: jwk });
    else jwks.push(jwk);
  }
  if (jwks.length === 0) {
    return {
      keys: [],
      issues: [...issues, { path: '', message: 'holds no PEM public key and no JSON Web Key Set' }],
    };
  }
  const parsed = await parseKeySet({ keys: jwks });
  return { keys: parsed.keys, issues: [...issues, ...parsed.issues] };
}

/** Reads a JSON Web Key Set as text. */
export async function parseKeySetText(text: string): Promise<ParsedKeySet> {
  const parsed = parseJsonText(text, 8);
  if (parsed.ok) return parseKeySet(parsed.value);
  // Without the parser's message: it quotes the text, which may be a private key that was given by mistake.
  return { keys: [], issues: [{ path: '', message: 'is not JSON' }] };
}

/** The key as a JWK, or why the block is invalid. */
function publicJwk(block: string, label: string): object | string {
  if (label.endsWith('PRIVATE KEY'))
    return 'must not be here: this is a private key; put its public half here';
  try {
    const key = createPublicKey(block);
    const kid = createHash('sha256')
      .update(key.export({ type: 'spki', format: 'der' }))
      .digest('base64url');
    return { ...key.export({ format: 'jwk' }), kid };
  } catch {
    return `must be a public key or a certificate: this ${label} cannot be read`;
  }
}
