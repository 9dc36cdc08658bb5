interface KubeconfigParts {
  /** `https://host:port`. */
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  /** Default: it has no credentials. */
  readonly user?: { readonly chain: string; readonly privateKey: string } | { readonly token: string };
}

/** A kubeconfig of one context, with everything in it. */
export function kubeconfigText({ server, authority, user }: KubeconfigParts): string {
  const inline = (pem: string) => Buffer.from(pem).toString('base64');
  const credentials =
    user === undefined || 'token' in user
      ? user
      : { 'client-certificate-data': inline(user.chain), 'client-key-data': inline(user.privateKey) };
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': inline(authority) } }],
    users: [{ name: 'u', user: credentials ?? {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}
