import type { FlagGroup } from './serve-flags.ts';

/** Where snapshots go. */
export const syncTargetFlagGroup = {
  heading: 'Target flags:',
  flags: [
    {
      name: 'target',
      kind: 'list',
      placeholder: 'https://host:port',
      description: 'A router to push to. Repeatable.',
    },
    {
      name: 'target-ca-file',
      kind: 'value',
      placeholder: 'file',
      description: "CA bundle that routers' certificates are checked against. Default: --peer-ca-file.",
    },
    {
      name: 'target-server-name',
      kind: 'value',
      placeholder: 'name',
      description: "Name that routers' certificates must carry. Default: the host of --target.",
    },
    {
      name: 'target-token-file',
      kind: 'value',
      placeholder: 'file',
      description:
        'Bearer token for routers and Workers, read anew for each push. With it routers need no client certificate.',
    },
    {
      name: 'worker-target',
      kind: 'list',
      placeholder: 'https://host',
      description:
        'A router on a Workers-compatible runtime, whose certificate is of a public authority. Repeatable.',
    },
    {
      name: 'kv-account-id',
      kind: 'value',
      placeholder: 'id',
      description: 'Cloudflare account of a Workers KV namespace to write to.',
    },
    {
      name: 'kv-namespace-id',
      kind: 'value',
      placeholder: 'id',
      description: 'The namespace.',
    },
    {
      name: 'kv-key',
      kind: 'value',
      placeholder: 'key',
      description: 'The key in it. (default snapshot)',
    },
    {
      name: 'kv-token-file',
      kind: 'value',
      placeholder: 'file',
      description: 'API token that may write to it, read anew for each write.',
    },
    {
      name: 'kv-api-url',
      kind: 'value',
      placeholder: 'url',
      description: "Where Cloudflare's API is, if not at its public address.",
    },
  ],
} as const satisfies FlagGroup;
